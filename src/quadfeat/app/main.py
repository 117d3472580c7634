"""The `quadfeat` command. Needs the extra: pip install 'quadfeat[cli]'."""

from __future__ import annotations

import json
import platform
import shlex
import sys
import time
from dataclasses import replace as replace_fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy
import sklearn

from .. import __version__
from .._engine import engine_info
from ..data.atomic import replace
from ..experiments import NAMES as EXPERIMENTS
from ..experiments import datasets
from ..experiments import runner as reproduction
from ..experiments.cell import SCALES
from ..storage import load, save
from . import bench as benchmark
from . import demo_story, files
from .outputs import check_out, default_out, make_folder
from .progress import bar, run_cells
from .report import report_of_data, report_of_fit
from .rows import local_file
from .tables import number_table, show_record, verdict_table
from .training import TrainOptions, column_kinds, train

try:
    import typer
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
except ImportError as missing:
    sys.exit(f"the quadfeat command needs {missing.name}: pip install 'quadfeat[cli]'")


app = typer.Typer(
    help="Kernel machines at linear cost: deterministic quadrature features.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


WIDTH = 512  # adult: AUROC .921 in 36 s of CPU; 1024 columns take twice as long


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
    every: Annotated[
        bool, typer.Option("--all", help="Every map, up to 1024 columns: a table, a minute.")
    ] = False,
    as_json: Json = False,
) -> None:
    """See on scikit-learn's digits what a column is worth, here and in RBFSampler and Nystroem."""
    demo_story.show(out, every=every, as_json=as_json)


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
    make_folder(out)
    console = Console(stderr=as_json)
    with bar(console) as progress:
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
        make_folder(out)
        if "fig2a" in names and folder.substitute():
            console.print(f"[bold]note[/]: {escape(folder.substitute())}", highlight=False)
        run_cells(plans, console)
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
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="CSV, Parquet (also a folder), NPY, NPZ, svmlight, or - to pipe."
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column to predict; for .npz its array, by default y.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the model; by default DATA.qf.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="File to score on; else a fifth of DATA.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of groups that are held out as a whole.")
    ] = None,
    by_time: Annotated[
        str | None, typer.Option("--time", help="Column of time; the last rows are held out.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=number, category, date, text or drop; may be repeated."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column of row weights.")] = None,
    task: Annotated[
        Task,
        typer.Option(help="auto: classes for text, or for at most 20 different whole numbers."),
    ] = Task.auto,
    width: Annotated[int, typer.Option(help="Columns of features.", min=1)] = WIDTH,
    loss: Annotated[Loss, typer.Option(help="For classes; auto: ridge or logistic.")] = Loss.auto,
    alpha: Annotated[
        float | None, typer.Option(help="The penalty; by default chosen on held-out rows.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit resumes.")
    ] = None,
    map_only: Annotated[bool, typer.Option(help="Fit a feature map, without a target.")] = False,
    report: Annotated[
        bool, typer.Option(help="Write a page beside the model; --no-report saves some seconds.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Fit a kernel machine to a table, also one larger than memory, and say how good it is.

    Text, dates and gaps are welcome. Beside the model, a .json file holds the summary, and an .html
    file is a page to send to a colleague. Example:

    quadfeat fit houses.csv --target price
    """
    began = time.perf_counter()
    if map_only and out is None:
        out = default_out(data)
    with local_file(data) as path:
        if map_only:
            assert out is not None
            check_out(out, path)
            model = files.fit_map(path, target, weight, width=width)
            save(model, out)
            record: dict[str, Any] = {
                "model": "KernelFeatures",
                "features": type(model.map_).__name__,
            }
            record |= {"columns": model.n_columns_, "out": str(out)}
            record["seconds"] = round(time.perf_counter() - began, 3)
            show_record(record, as_json)
            return
        out = default_out(data) if out is None else out
        check_out(out, path, *([] if test is None else [test]))
        for ending in (".json", *([".html"] if report else [])):
            check_out(out.with_suffix(ending), path, *([] if test is None else [test]))
            if out.suffix == ending:
                raise ValueError(f"--out {out} is the name of the {ending} file; use another one")
        if checkpoint is not None and checkpoint.resolve() == out.resolve():
            raise ValueError(f"--checkpoint and --out are both {out}; name two files")
        options = TrainOptions(
            target,
            weight=weight,
            task=task.value,
            width=width,
            loss=loss.value,
            alpha="auto" if alpha is None else alpha,
            checkpoint=checkpoint,
            test=test,
            group=group,
            time=by_time,
            kinds=column_kinds(kind),
            verbose=not quiet,
        )
        try:
            trained = train(path, options, command=shlex.join(["quadfeat", *sys.argv[1:]]))
        except KeyboardInterrupt:
            kept = "" if checkpoint is None else "; the same command resumes"
            print(f"stopped, no model is written{kept}", file=sys.stderr)
            raise typer.Exit(130) from None
    summary = replace_fields(trained.summary, data=str(data), file=str(out))
    save(trained.model, out)
    trained.checkpoint.remove()  # only now that the model is on the disk
    if report:
        summary, page = report_of_fit(
            trained, replace_fields(summary, page=str(out.with_suffix(".html")))
        )
        replace(out.with_suffix(".html"), page)
    replace(out.with_suffix(".json"), json.dumps(summary.record(), indent=1))
    if as_json:
        print(json.dumps({**summary.record(), **_short(trained.model, out)}))
    elif not quiet:
        for line in summary.lines():
            print(line)


def _short(model: Any, out: Path) -> dict[str, Any]:
    """What `fit --json` has told since its first version."""
    return {
        "model": type(model).__name__,
        "features": type(model.features_.map_).__name__,
        "columns": model.features_.n_columns_,
        "out": str(out),
    }


@app.command()
def report(
    model: Annotated[Path, typer.Argument(help="A model written by quadfeat fit.")],
    data: Data,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; by default that of the fit.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; by default MODEL.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a page on a model: its score, calibration, errors, what matters, and how to use it.

    Of the file that the model was fitted to, only the rows that were held out are used. Example:

    quadfeat report houses.qf new.csv --target price -o new.html
    """
    out = model.with_suffix(".html") if out is None else out
    check_out(out, model, data, model.with_suffix(".json"))
    command = shlex.join(["quadfeat", *sys.argv[1:]])
    replace(out, report_of_data(load(model), model, data, target, command))
    show_record({"page": str(out)}, as_json)


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
    check_out(out, model, data)
    rows = files.predict_file(load(model), data, out, probabilities=proba, std=std)
    show_record({"rows": rows, "out": str(out)}, as_json)


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
    check_out(out, model, data)
    rows = files.transform_file(load(model), data, out)
    show_record({"rows": rows, "out": str(out)}, as_json)


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


def _experiments(names: list[str]) -> list[str]:
    """The experiments of these names; wrong use if one is unknown."""
    unknown = [name for name in names if name not in (*EXPERIMENTS, "all")]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is not one of {', '.join(EXPERIMENTS)}, all")
    return [name for name in EXPERIMENTS if "all" in names or name in names]
