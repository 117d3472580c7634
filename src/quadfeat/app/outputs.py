"""Output files of the command: default names, and checks before any work."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ..data.atomic import try_out
from ..data.table_files import is_table_file

_NO_MODELS = (".npy", ".npz", ".svmlight", ".libsvm", ".svm")


def default_out(data: Path) -> Path:
    """DATA.qf in this folder; a file of this name that is not a quadfeat model is not replaced."""
    stem = "model" if str(data) == "-" else data.resolve().name.split(".")[0] or "model"
    out = Path(f"{stem}.qf")
    if out.exists() and not zipfile.is_zipfile(out):
        raise ValueError(f"{out} exists and is not a model; name another file with --out")
    return out


def check_out(out: Path, *inputs: Path, option: str = "--out") -> None:
    """Before any work, raise an error if an output cannot be written or is also an input."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise ValueError(f"{option} {out} is a folder, or in one that does not exist; name a file")
    try_out(out)
    for each in inputs:
        if out.exists() and each.exists() and out.samefile(each):
            raise ValueError(f"{option} {out} is also an input; name another file")


def check_model_out(out: Path) -> None:
    """Raise an error if the name of a model has the ending of a data file."""
    if is_table_file(out) or out.suffix.lower() in _NO_MODELS:
        raise ValueError(f"--out {out} is a file for the model, not for rows: end it in .qf")


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"--out names {out}, which is a file or in one; name a folder") from None
