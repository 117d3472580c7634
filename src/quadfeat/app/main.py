"""The `quadfeat` command. Needs the extra: pip install 'quadfeat[cli]'."""

from __future__ import annotations

import json
import platform
import sys
import time
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy
import sklearn

from .. import __version__
from .._engine import engine_info
from ..data.atomic import replace, try_out
from ..experiments import NAMES as EXPERIMENTS
from ..experiments import datasets
from ..experiments import runner as reproduction
from ..experiments.cell import SCALES
from ..experiments.runner import Plan
from ..plotting.displays import CompareDisplay
from ..plotting.style import png
from ..storage import load, save
from . import bench as benchmark
from . import demo as demonstration
from . import files
from .tables import demo_table, demo_verdict, number_table, verdict_table

try:
    import typer
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Table
except ImportError as missing:
    sys.exit(f"the quadfeat command needs {missing.name}: pip install 'quadfeat[cli]'")


app = typer.Typer(
    help="Kernel machines at linear cost: deterministic quadrature features.",
    no_args_is_help=True,
    add_completion=False,
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


Data = Annotated[Path, typer.Argument(help="CSV, Parquet, NPY, NPZ or svmlight.")]
Out = Annotated[Path, typer.Option(help="A file that ends in .csv, .parquet or .npy.")]
Json = Annotated[bool, typer.Option("--json", help="Print records as JSON lines instead.")]


def main() -> None:
    """Run the command; an error that the user can fix is one sentence, and the exit code is 1."""
    try:
        app()
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        text = f"[bold red]error[/]: {escape(_sentence(error))}"
        Console(stderr=True, soft_wrap=True).print(text, highlight=False)
        raise SystemExit(1) from None


def _sentence(error: Exception) -> str:
    """The message of an error, without the number of the system."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _print_version(asked: bool) -> None:
    if asked:
        print(f"quadfeat {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Kernel machines at linear cost: deterministic quadrature features."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path(
        "quadfeat-demo"
    ),
    as_json: Json = False,
) -> None:
    """Fit every map on scikit-learn's digits, beside RBFSampler, Nystroem and the exact kernel."""
    _make_folder(out)
    console = Console(stderr=as_json)
    records = []
    with _progress(console) as progress:
        task = progress.add_task("fitting", total=demonstration.steps())
        for record in demonstration.run():
            records.append(record)
            progress.update(task, advance=1, description=f"{record['map']}, {record['columns']}")
    replace(out / "records.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    picture = out / "error.png"
    display = CompareDisplay.from_records(records)
    display.ax_.set_title("Kernel error on scikit-learn's digits (64 pixels)", loc="left")
    replace(picture, png(display.figure_))
    if as_json:
        for record in records:
            print(json.dumps(record))
        return
    console.print(demo_table(records))
    console.print(demo_verdict(records))
    console.print(f"\nPicture: [bold]{picture}[/]   records: {out / 'records.jsonl'}")


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option(help="Fewer rows and rounds: a minute, rough numbers.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path(
        "quadfeat-bench"
    ),
    as_json: Json = False,
) -> None:
    """Time the engine beside scikit-learn, NumPy and the limits of the machine."""
    _make_folder(out)
    console = Console(stderr=as_json)
    with _progress(console) as progress:
        task = progress.add_task("timing", total=benchmark.steps())
        records = benchmark.run(
            quick, lambda text: progress.update(task, advance=1, description=text)
        )
    replace(out / "speed.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    benchmark.draw(records, out / "speed.png")
    if as_json:
        for record in records:
            print(json.dumps(record))
        return
    print(benchmark.table(records))
    console.print(f"\nPicture: [bold]{out / 'speed.png'}[/]   records: {out / 'speed.jsonl'}")


@app.command()
def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help=f"{', '.join(EXPERIMENTS)}, or all.")
    ],
    scale: Annotated[str, typer.Option(help="small (minutes) or paper (hours).")] = "small",
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets; else QUADFEAT_DATA.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download MNIST where the folder lacks it.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the page, figures and records.")] = Path(
        "quadfeat-reproduce"
    ),
    redraw: Annotated[
        bool, typer.Option(help="Draw figures and page from records; run nothing.")
    ] = (False),
    as_json: Json = False,
) -> None:
    """Measure the paper's figures and claims: records, figures, verdicts and a page.

    Finished cells are kept: if stopped, the same command resumes.
    """
    names = _experiments(names)
    if scale not in SCALES:
        raise typer.BadParameter(f"{scale!r} is not one of {', '.join(SCALES)}")
    console = Console(stderr=as_json)
    left_out: dict[str, str] = {}
    if redraw and not reproduction.has_records(scale, out):
        raise ValueError(
            f"{out} holds no records of --scale {scale} to draw; name the other scale, or run the "
            f"command without --redraw first"
        )
    if not redraw:
        folder = datasets.Data.find(data, fetch=fetch)
        plans, left_out = reproduction.plan(names, scale, folder, out)
        _make_folder(out)
        if "fig2a" in names and folder.substitute():
            console.print(f"[bold]note[/]: {escape(folder.substitute())}", highlight=False)
        _run_cells(plans, console)
    outcomes = [one for one in reproduction.conclude(scale, out, left_out) if one.name in names]
    if as_json:
        for one in outcomes:
            for verdict in one.verdicts:
                print(json.dumps({"experiment": one.name, **vars(verdict)}))
        return
    console.print(verdict_table(outcomes))
    for one in outcomes:
        for table in one.tables if len(names) == 1 else ():
            console.print(table.caption, markup=False)  # as a title it would wrap to the table
            console.print(number_table(table))
        if one.why:
            console.print(f"[bold]{one.name}[/] left out: {one.why}", highlight=False)
    console.print(f"\nPage: [bold]{out / 'index.html'}[/]")


@app.command()
def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="File for the model.")],
    target: Annotated[
        str | None, typer.Option(help="The target's column; for .npz its array, by default y.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column of row weights.")] = None,
    task: Annotated[
        Task,
        typer.Option(help="auto: classes for text, or for at most 20 different whole numbers."),
    ] = Task.auto,
    width: Annotated[int, typer.Option(help="Columns of features.", min=1)] = 1024,
    loss: Annotated[Loss, typer.Option(help="For classes; auto: ridge or logistic.")] = Loss.auto,
    alpha: Annotated[
        float | None, typer.Option(help="The penalty; by default chosen on held-out rows.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit resumes.")
    ] = None,
    map_only: Annotated[bool, typer.Option(help="Fit a feature map, without a target.")] = False,
    as_json: Json = False,
) -> None:
    """Fit a kernel machine to a file that may be larger than memory.

    Columns should have comparable scales. Example:

    quadfeat fit houses.parquet --target price --out houses.qf
    """
    began = time.perf_counter()
    _check_out(out, data)
    if checkpoint is not None and checkpoint.resolve() == out.resolve():
        raise ValueError(f"--checkpoint and --out are both {out}; name two files")
    model: Any
    if map_only:
        model = features = files.fit_map(data, target, weight, width=width)
        save(model, out)
    else:
        options = files.FitOptions(
            target,
            weight=weight,
            task=task.value,
            width=width,
            loss=loss.value,
            alpha="auto" if alpha is None else alpha,
            checkpoint=checkpoint,
        )
        model, resumable = files.fit_model(data, options)
        save(model, out)
        resumable.remove()  # only now that the model is on the disk
        features = model.features_
    record = {
        "model": type(model).__name__,
        "features": type(features.map_).__name__,
        "columns": len(features.signs_),
        **({} if map_only else {"alpha": model.alpha_}),
        **({"loss": model.loss_} if hasattr(model, "loss_") else {}),
        "seconds": round(time.perf_counter() - began, 3),
        "out": str(out),
    }
    _show(record, as_json)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model written by quadfeat fit.")],
    data: Data,
    out: Out,
    proba: Annotated[bool, typer.Option(help="The probability of each class.")] = False,
    std: Annotated[
        bool, typer.Option(help="Also the standard deviation of each prediction.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a model's predictions for every row of a file.

    Columns are matched by name if the model knows their names. Example:

    quadfeat predict houses.qf new.parquet --out prices.csv
    """
    _check_out(out, model, data)
    rows = files.predict_file(load(model), data, out, probabilities=proba, std=std)
    _show({"rows": rows, "out": str(out)}, as_json)


@app.command()
def transform(
    model: Annotated[Path, typer.Argument(help="A map or model written by quadfeat fit.")],
    data: Data,
    out: Out,
    as_json: Json = False,
) -> None:
    """Write the features of every row of a file.

    Example: quadfeat transform map.qf houses.parquet --out features.npy
    """
    _check_out(out, model, data)
    rows = files.transform_file(load(model), data, out)
    _show({"rows": rows, "out": str(out)}, as_json)


def _check_out(out: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or that is also an input, before any work."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise ValueError(f"--out {out} is a folder, or in one that does not exist; name a file")
    try_out(out)
    for each in inputs:
        if out.exists() and each.exists() and out.samefile(each):
            raise ValueError(f"--out {out} is read from as well; name another file")


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"--out names {out}, which is a file or in one; name a folder") from None


def _show(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(record))
        return
    table = Table(box=None, show_header=False)
    for name, value in record.items():
        table.add_row(name, f"{value:,.4g}" if isinstance(value, float) else escape(str(value)))
    Console().print(table)


@app.command()
def info(as_json: Json = False) -> None:
    """Show versions, and which engine computes features on this machine."""
    facts: dict[str, Any] = {
        "quadfeat": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        **{f"engine {name}" if name != "engine" else name: v for name, v in engine_info().items()},
    }
    if as_json:
        print(json.dumps(facts))
        return
    table = Table(box=None, show_header=False)
    for name, value in facts.items():
        table.add_row(name, "" if value is None else escape(str(value)))
    Console().print(table)


def _progress(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    )


def _experiments(names: list[str]) -> list[str]:
    unknown = [name for name in names if name not in (*EXPERIMENTS, "all")]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is not one of {', '.join(EXPERIMENTS)}, all")
    return [name for name in EXPERIMENTS if "all" in names or name in names]


def _run_cells(plans: list[Plan], console: Console) -> None:
    """Run the remaining cells; the progress bar counts their expected seconds."""
    todo = [(plan, cell) for plan in plans for cell in plan.todo]
    kept = sum(len(plan.cells) for plan in plans) - len(todo)
    if kept:
        console.print(f"{kept} finished cells kept, {len(todo)} to run", highlight=False)
    columns = (BarColumn(), TextColumn("{task.fields[rate]}"), TimeElapsedColumn())
    left = (TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, *left, console=console, transient=True) as progress:
        total = sum(cell.cost for _, cell in todo)
        task = progress.add_task("", total=total, rate=f"0/{len(todo)} cells")
        for done, (plan, cell) in enumerate(todo):
            what = ", ".join(str(value) for value in cell.key.values())
            progress.update(task, description=f"{plan.name}: {what}")
            try:
                plan.run(cell)
            except KeyboardInterrupt:
                progress.stop()
                console.print(f"stopped; {done} new cells are kept, the same command resumes")
                raise typer.Exit(130) from None
            elapsed = max(progress.tasks[0].elapsed or 0.0, 1e-3)
            rate = f"{done + 1}/{len(todo)} cells, {60 * (done + 1) / elapsed:.0f}/min"
            progress.update(task, advance=cell.cost, rate=rate)
