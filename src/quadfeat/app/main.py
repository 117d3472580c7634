"""The `quadfeat` command. Needs the extra: pip install 'quadfeat[cli]'."""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Annotated, Any

from .. import __version__
from ..data.atomic import replace
from ..storage import load, save
from . import compare_command as compare_command
from . import demo_story, files
from . import project_commands as project_commands
from .cli import (
    Console,
    Data,
    DataFile,
    FittedTarget,
    Group,
    Json,
    Kinds,
    Loss,
    Out,
    Quiet,
    Table,
    Target,
    Task,
    TaskName,
    Weight,
    Width,
    app,
    column_kinds,
    command_line,
    escape,
    typer,
)
from .model_facts import model_facts
from .outputs import check_model_out, check_out, default_out
from .report import evaluated, report_of_data, report_of_fit
from .rows import local_file
from .tables import show_record
from .training import TrainOptions, train

_MAP_WIDTH = 512  # columns of `fit --map-only`


def main() -> None:
    """Run the command; an error that the user can fix is one sentence, and the exit code is 1."""
    warnings.showwarning = _show_warning
    try:
        app()
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        text = f"[bold red]error[/]: {escape(_sentence(error))}"
        Console(stderr=True, soft_wrap=True).print(text, highlight=False)
        raise SystemExit(1) from None


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """A warning as a sentence, without the line of code that it comes from."""
    Console(stderr=True, soft_wrap=True).print(f"[bold]note[/]: {escape(str(message))}")


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
    """Compare quadfeat with RBFSampler and Nystroem on scikit-learn's digits."""
    demo_story.show(out, every=every, as_json=as_json)


@app.command()
def fit(
    data: DataFile,
    target: Target = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the model; by default DATA.qf.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="File to score on; by default a fifth of DATA.")
    ] = None,
    group: Group = None,
    by_time: Annotated[
        str | None, typer.Option("--time", help="Column of time; the last rows are held out.")
    ] = None,
    kind: Kinds = None,
    weight: Weight = None,
    task: TaskName = Task.auto,
    width: Width = None,
    loss: Annotated[Loss, typer.Option(help="For classes; auto: ridge or logistic.")] = Loss.auto,
    alpha: Annotated[
        float | None, typer.Option(help="The penalty; by default chosen on held-out rows.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit resumes.")
    ] = None,
    map_only: Annotated[bool, typer.Option(help="Fit a feature map, without a target.")] = False,
    report: Annotated[
        bool, typer.Option(help="Write a report beside the model; --no-report saves some seconds.")
    ] = True,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a kernel machine to a table, also one larger than memory, and report its score.

    Columns may hold text, dates and gaps. A .json file beside the model has the summary, and an
    .html file is a report to send to a colleague. Example:

    quadfeat fit houses.csv --target price
    """
    began = time.perf_counter()
    if map_only and out is None:
        out = default_out(data)
    with local_file(data) as path:
        if map_only:
            assert out is not None
            check_out(out, path)
            check_model_out(out)
            model = files.fit_map(path, target, weight, width=width or _MAP_WIDTH)
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
        check_model_out(out)
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
            trained = train(path, options, command=command_line())
        except KeyboardInterrupt:
            kept = "" if checkpoint is None else "; the same command resumes"
            print(f"stopped, no model is written{kept}", file=sys.stderr)
            raise typer.Exit(130) from None
    summary = replace_fields(trained.summary, data=str(data), file=str(out))
    save(trained.model, out)
    trained.checkpoint.remove()  # only now: the model is on the disk
    if report:
        summary = replace_fields(summary, page=str(out.with_suffix(".html")))
        summary, page = report_of_fit(
            trained.model, summary, trained.sample, trained.test, trained.judge.score
        )
        replace(out.with_suffix(".html"), page)
    replace(out.with_suffix(".json"), json.dumps(summary.record(), indent=1))
    if as_json:
        print(json.dumps({**summary.record(), **_short(trained.model, out)}))
    elif not quiet:
        for line in summary.lines():
            print(line)


def _short(model: Any, out: Path) -> dict[str, Any]:
    """The keys that `fit --json` has printed since its first version."""
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
    target: FittedTarget = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; by default MODEL.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a report about a model: score, calibration, errors, what matters, and how to use it.

    If DATA is the file that the model was fitted to, only its held-out rows are used. Example:

    quadfeat report houses.qf new.csv --target price -o new.html
    """
    out = model.with_suffix(".html") if out is None else out
    check_out(out, model, data, model.with_suffix(".json"))
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {out} is for a page: end it in .html")
    with local_file(data) as path:
        found, page = report_of_data(load(model), model, path, target, command_line())
    replace(out, page)
    show_record({**(found.record() if as_json else found.facts()), "page": str(out)}, as_json)


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model written by quadfeat fit.")],
    data: Data,
    target: FittedTarget = None,
    as_json: Json = False,
) -> None:
    """Print the score of a model on the rows of a file, with its 95% interval.

    If DATA is the file that the model was fitted to, only its held-out rows are used. Example:

    quadfeat evaluate houses.qf new.csv
    """
    with local_file(data) as path:
        found = evaluated(load(model), model, path, target)
    show_record(found.record() if as_json else found.facts(), as_json)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model written by quadfeat fit.")],
    data: Data,
    out: Out,
    proba: Annotated[bool, typer.Option(help="The probability of each class.")] = False,
    std: Annotated[
        bool, typer.Option(help="Also the standard deviation of each prediction.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of the data to write as well; may be repeated. Default: ids that the "
            "model leaves out.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model's predictions for every row of a file.

    Columns are matched by name if the model knows their names. Example:

    quadfeat predict houses.qf new.parquet --out prices.csv
    """
    check_out(out, model, data)
    with local_file(data) as path:
        rows = files.predict_file(
            load(model), path, out, probabilities=proba, std=std, keep=keep or None
        )
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
    with local_file(data) as path:
        rows = files.transform_file(load(model), path, out)
    show_record({"rows": rows, "out": str(out)}, as_json)


@app.command(rich_help_panel="About quadfeat")
def info(
    model: Annotated[
        Path | None,
        typer.Argument(help="A file written by quadfeat fit; without it, print versions."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what is in a model's file, or versions and the engine of this machine."""
    if model is not None:
        show_record(model_facts(load(model), model), as_json)
        return
    facts = project_commands.machine_facts()
    if as_json:
        print(json.dumps(facts))
        return
    table = Table(box=None, show_header=False)
    for name, value in facts.items():
        table.add_row(name, "" if value is None else escape(str(value)))
    Console().print(table)
