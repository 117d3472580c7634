"""Fuzz `quadfeat.load` with atheris, which keeps inputs that reach new code.

    python benchmarks/trust/guided.py [-runs=N] [-max_total_time=S] CORPUS

Anything but a ValueError ends it, and it writes the input to a file.
"""

import contextlib
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["quadfeat.data", "quadfeat.storage", "zipfile"]):
    import quadfeat as qf
    import quadfeat.storage

warnings.simplefilter("ignore")
PATH = Path(tempfile.mkdtemp()) / "damaged.qf"


def once(content: bytes) -> None:
    PATH.write_bytes(content)
    with contextlib.suppress(ValueError):
        qf.load(PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, once)
    atheris.Fuzz()
