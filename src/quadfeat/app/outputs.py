"""Where the command writes: names by default, and refusals before any work."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ..data.atomic import try_out
from ..data.table_files import is_table_file

_NO_MODELS = (".npy", ".npz", ".svmlight", ".libsvm", ".svm")


def default_out(data: Path) -> Path:
    """DATA.qf in this folder; a file of this name that is no model of ours is not replaced."""
    stem = "model" if str(data) == "-" else data.resolve().name.split(".")[0] or "model"
    out = Path(f"{stem}.qf")
    if out.exists() and not zipfile.is_zipfile(out):
        raise ValueError(f"{out} exists and is no model; name another file by --out")
    return out


def check_out(out: Path, *inputs: Path, option: str = "--out") -> None:
    """Refuse an output that cannot be written, or that is also an input, before any work."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise ValueError(f"{option} {out} is a folder, or in one that does not exist; name a file")
    try_out(out)
    for each in inputs:
        if out.exists() and each.exists() and out.samefile(each):
            raise ValueError(f"{option} {out} is read from as well; name another file")


def check_model_out(out: Path) -> None:
    """Refuse a name for a model that tells of something else."""
    if is_table_file(out) or out.suffix.lower() in _NO_MODELS:
        raise ValueError(f"--out {out} is a file for the model, not for rows: end it in .qf")


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"--out names {out}, which is a file or in one; name a folder") from None
