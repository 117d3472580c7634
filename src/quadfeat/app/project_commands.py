"""Commands about quadfeat itself: bench and reproduce, and the machine facts of `info`."""

from __future__ import annotations

import json
import platform
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
from . import bench as benchmark
from .cli import Console, Json, app, escape, typer
from .outputs import make_folder
from .progress import bar, run_cells
from .tables import number_table, verdict_table


@app.command(rich_help_panel="About quadfeat")
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


@app.command(rich_help_panel="About quadfeat")
def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help=f"{', '.join(EXPERIMENTS)}, or all.")
    ],
    scale: Annotated[str, typer.Option(help="small (minutes) or paper (hours).")] = "small",
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets; by default QUADFEAT_DATA.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download MNIST if the folder does not have it.")
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

    Finished cells are kept: after an interruption the same command resumes.
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


def machine_facts() -> dict[str, Any]:
    """Versions, and which engine computes features on this machine."""
    return {
        "quadfeat": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        **{f"engine {name}" if name != "engine" else name: v for name, v in engine_info().items()},
    }


def _experiments(names: list[str]) -> list[str]:
    """The experiments of these names; wrong use if one is unknown."""
    unknown = [name for name in names if name not in (*EXPERIMENTS, "all")]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is not one of {', '.join(EXPERIMENTS)}, all")
    return [name for name in EXPERIMENTS if "all" in names or name in names]
