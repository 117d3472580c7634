"""The Typer app that commands add themselves to, and the options that several of them share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

from ..data.column_kinds import KINDS

try:  # checked here first: all files of the command import both
    import typer as typer
    from rich.console import Console as Console
    from rich.markup import escape as escape
    from rich.table import Table as Table
except ImportError as missing:
    sys.exit(f"the quadfeat command needs {missing.name}: pip install 'quadfeat[cli]'")

app = typer.Typer(
    help="Kernel machines at linear cost: deterministic quadrature features.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


class Task(Enum):
    """What to learn."""

    auto = "auto"
    regression = "regression"
    classification = "classification"


class Loss(Enum):
    """What to minimise for classes."""

    auto = "auto"
    ridge = "ridge"
    squared_hinge = "squared_hinge"
    logistic = "logistic"


# Options of commands that read a file with a target.
DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="CSV, Parquet (also a folder), NPY, NPZ, svmlight, or - to pipe."
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The column to predict; for .npz its array, by default y.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(help="COLUMN=number, category, date, text or drop; may be repeated."),
]
Group = Annotated[str | None, typer.Option(help="Column of groups that are held out as a whole.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]
Weight = Annotated[str | None, typer.Option(help="The column of row weights.")]
TaskName = Annotated[
    Task, typer.Option(help="auto: classes for text, or for at most 20 different whole numbers.")
]
Width = Annotated[
    int | None,
    typer.Option(
        help="Columns of features; by default 1024 for numbers and 512 for classes, or twice as "
        "many if they predict validation rows better.",
        min=1,
        show_default=False,
    ),
]
# Options of commands that read a model.
FittedTarget = Annotated[
    str | None, typer.Option("--target", help="The column to predict; by default that of the fit.")
]
Data = Annotated[
    Path, typer.Argument(help="CSV, Parquet (also a folder), NPY, NPZ, svmlight, or - to pipe.")
]
# Options of all commands.
Out = Annotated[Path, typer.Option(help="A file that ends in .csv, .parquet or .npy.")]
Json = Annotated[bool, typer.Option("--json", help="Print records as JSON lines instead.")]


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["quadfeat", *sys.argv[1:]])


def column_kinds(given: Sequence[str] | None) -> dict[str, str] | None:
    """COLUMN=KIND, ... as a dict; None if there are none."""
    if not given:
        return None
    kinds = {}
    for each in given:
        name, equals, kind = each.rpartition("=")
        if not equals or kind not in KINDS:
            raise ValueError(f"--kind {each} must be COLUMN=KIND with a kind of {', '.join(KINDS)}")
        kinds[name] = kind
    return kinds
