"""The command's progress bars, and runs of experiments with a bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .._display.showing import showing
from ..experiments.runner import Plan


@contextmanager
def bar(console: Console) -> Iterator[Progress]:
    """A bar that counts steps and disappears at the end; fits inside show no bar."""
    counted = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    )
    with showing("steps", verbose=False), counted:
        yield counted


def run_cells(plans: list[Plan], console: Console) -> None:
    """Run the remaining cells; the progress bar counts their expected seconds."""
    todo = [(plan, cell) for plan in plans for cell in plan.todo]
    kept = sum(len(plan.cells) for plan in plans) - len(todo)
    if kept:
        console.print(f"{kept} finished cells kept, {len(todo)} to run", highlight=False)
    columns = (BarColumn(), TextColumn("{task.fields[rate]}"), TimeElapsedColumn())
    left = (TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.description}"))
    counted = Progress(*columns, *left, console=console, transient=True)
    with showing("cells", verbose=False), counted as progress:
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
                raise SystemExit(130) from None
            elapsed = max(progress.tasks[0].elapsed or 0.0, 1e-3)
            rate = f"{done + 1}/{len(todo)} cells, {60 * (done + 1) / elapsed:.0f}/min"
            progress.update(task, advance=cell.cost, rate=rate)
