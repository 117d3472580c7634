"""`quadfeat compare`: which model suits a table."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Annotated, Any

from ..data.atomic import replace
from ..plotting.comparison import comparison_figure
from ..plotting.style import png, svg
from .cli import (
    Console,
    DataFile,
    Group,
    Json,
    Kinds,
    Quiet,
    Target,
    Task,
    TaskName,
    Weight,
    Width,
    app,
    column_kinds,
    typer,
)
from .comparison import Comparison, Fold, Marks, compared
from .contenders import (
    DEFAULT,
    TrainingRows,
    candidates,
    default_width,
    default_widths,
    encoder_for,
)
from .folds import Masks, group_folds, random_folds, time_folds
from .outputs import check_out
from .progress import bar
from .rows import RowBlock, collected, dropped, local_file, open_rows
from .targets import is_classification

_ROWS = 10_000
_NAMES = [each.name for each in candidates(1)]
_PICTURES = {".png": png, ".svg": svg}


def _completed(incomplete: str) -> list[str]:
    return [name for name in _NAMES if name.startswith(incomplete)]


@app.command()
def compare(
    data: DataFile,
    target: Target = None,
    folds: Annotated[int, typer.Option(help="How often rows are split.", min=2)] = 5,
    rows: Annotated[
        int, typer.Option(help="The most rows of DATA to use, drawn at random.", min=20)
    ] = _ROWS,
    group: Group = None,
    by_time: Annotated[
        str | None, typer.Option("--time", help="Column of time; models learn from the past only.")
    ] = None,
    kind: Kinds = None,
    weight: Weight = None,
    task: TaskName = Task.auto,
    width: Width = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="A contender to compare with the default; may be repeated.",
            autocompletion=_completed,
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the scores to this .png or .svg file.")
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(help="Exit with 1 if the default scores less than this.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare models on a table: ours, scikit-learn's kernel maps, a linear model and boosting.

    All models use the same folds, and encoders are fitted inside them. Prints scores with paired
    intervals, time, memory, file size and a sentence of advice. Example:

    quadfeat compare houses.csv --target price --plot houses.png
    """
    began = time.perf_counter()
    for name in only or ():
        if name not in _NAMES:
            raise ValueError(f"--only {name!r} is no contender; there are {', '.join(_NAMES)}")
    names = [name for name in _NAMES if not only or name in (DEFAULT, *only)]
    if plot is not None:
        if plot.suffix.lower() not in _PICTURES:
            raise ValueError(f"--plot {plot} must end in .png or .svg")
        check_out(plot, data, option="--plot")
    options = CompareOptions(
        target,
        n_folds=folds,
        rows=rows,
        group=group,
        time=by_time,
        kinds=column_kinds(kind),
        weight=weight,
        task=task.value,
        width=width,
    )
    try:
        with local_file(data) as path, bar(Console(stderr=True, quiet=quiet)) as progress:
            steps = progress.add_task("", total=(1 + len(names)) * folds)
            done = -1

            def tick(text: str) -> None:
                nonlocal done
                done += 1
                progress.update(steps, completed=done, description=text)

            found = compare_file(path, options, names, tick)
    except KeyboardInterrupt:
        print("stopped, nothing is written", file=sys.stderr)
        raise typer.Exit(130) from None
    seconds = time.perf_counter() - began
    _tell(replace_fields(found, data=str(data), seconds=seconds), plot, quiet, as_json)
    score = found.results[0].score
    if fail_under is not None and not (score is not None and score.value >= fail_under):
        print(f"{score} is below --fail-under {fail_under:g}", file=sys.stderr)
        raise typer.Exit(1)


@dataclass(frozen=True)
class CompareOptions:
    """The options of `quadfeat compare`; names as in `TrainOptions`."""

    target: str | None
    n_folds: int = 5
    rows: int = _ROWS
    group: str | None = None
    time: str | None = None
    kinds: dict[str, str] | None = None
    weight: str | None = None
    task: str = "auto"
    width: int | None = None


def compare_file(
    path: Path,
    options: CompareOptions,
    names: Sequence[str],
    tick: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Compare the candidates of these names on the rows of a file, the default first.

    `tick` is called before each piece of work.
    """
    if options.group is not None and options.time is not None:
        raise ValueError("--group and --time both say how rows are split; give one")
    stream = open_rows(path, options.target, options.weight, options.group, options.time)
    block, kinds = _without_dropped(collected(stream.blocks(), options.rows), options.kinds)
    name = options.target or "y"
    classes = is_classification(block.y, options.task, name, path)
    widths = options.width or default_widths(len(block), classes=classes)
    every = candidates(options.width or default_width(classes=classes), widths)
    chosen = [each for each in every if each.name in names]
    masks, how = _masks(block, options, classes=classes)
    split = []
    for train, test in masks:
        tick("encoding")
        split.append(_fold(block, train, test, kinds, classes))
    marks = Marks(split, classes=classes, group=options.group is not None)
    return Comparison(
        data=str(path),
        target=name,
        task="classification" if classes else "regression",
        how=how,
        n_folds=len(split),
        n_rows=marks.n_rows,
        n_left_out=(stream.n_rows or len(block)) - len(block),
        results=tuple(compared(chosen, split, marks, tick)),
    )


def _tell(found: Comparison, plot: Path | None, quiet: bool, as_json: bool) -> None:
    record = found.record()
    if plot is not None:
        title = f"{found.target}, {found.n_rows:,} rows in {found.n_folds} folds"
        picture = comparison_figure(record["results"], title)
        replace(plot, _PICTURES[plot.suffix.lower()](picture))
    if as_json:
        print(json.dumps(record))
    elif not quiet:
        for line in found.lines():
            print(line)
        if plot is not None:
            print(f"plot: {plot}")


def _masks(block: RowBlock, options: CompareOptions, *, classes: bool) -> tuple[Masks, str]:
    n, group, when = options.n_folds, options.group, options.time
    if group is not None:
        return group_folds(block, n, group), f"of whole groups of {group!r}"
    if when is not None:
        return time_folds(block, n, when), f"by {when!r}, each learned from the past"
    return random_folds(block, n, classes=classes), "at random"


def _fold(block: RowBlock, train: Any, test: Any, kinds: Any, classes: bool) -> Fold:
    rows = block.at(train)
    began = time.perf_counter()
    encoder = encoder_for(rows, kinds, classes=classes)
    given = TrainingRows(rows, classes, encoder, time.perf_counter() - began)
    return Fold(given, block.at(test))


def _without_dropped(
    block: RowBlock, kinds: dict[str, str] | None
) -> tuple[RowBlock, dict[str, str] | None]:
    """Rows without columns of kind "drop", which no contender may see, and the other kinds."""
    if kinds is None:
        return block, None
    less = block.without(dropped(kinds))
    gone = set(getattr(block.X, "column_names", ())) - set(getattr(less.X, "column_names", ()))
    return less, {name: kind for name, kind in kinds.items() if name not in gone}
