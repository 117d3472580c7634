"""The output of the demo: two sentences, a small table and a picture, from its records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ..data.atomic import replace
from ..numerics.blas import one_thread
from ..plotting.front import lines_in_front
from ..plotting.style import REFERENCE, figure, plain_ticks, png, tidy
from . import demo
from .demo import EXACT, NYSTROEM, OURS, PEERS, RBF_SAMPLER, WIDTHS, Record
from .outputs import make_folder
from .progress import bar

_NAMES = {
    OURS: "quadfeat",
    RBF_SAMPLER: "RBFSampler",
    NYSTROEM: "Nystroem",
    "OrthogonalFourier": "orthogonal random",
}


def show(out: Path, *, every: bool, as_json: bool) -> None:
    """Run the demo, write picture and records to the folder `out`, and print the results."""
    make_folder(out)
    console = Console(stderr=as_json)
    records = []
    with bar(console) as progress, one_thread():  # four times as fast on a busy machine
        task = progress.add_task("fitting", total=demo.steps(every=every))
        for record in demo.run(every=every):
            records.append(record)
            progress.update(task, advance=1, description=f"{record['map']}, {record['columns']}")
    replace(out / "records.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    if not every:
        replace(out / "demo.png", png(draw(records)))
    if as_json:
        for record in records:
            print(json.dumps(record))
        return
    if every:
        console.print(full_table(records))
        console.print(f"\nRecords: {out / 'records.jsonl'}")
        return
    console.print(short_table(records))
    for sentence in sentences(records):
        console.print(f"[bold]{sentence}[/]", highlight=False)
    console.print(f"\nPicture: [bold]{out / 'demo.png'}[/]   records: {out / 'records.jsonl'}")


def sentences(records: list[Record]) -> tuple[str, str]:
    """Two sentences: kernel error and misread digits, relative to RBFSampler."""
    at, width = _by_map(records), WIDTHS[-1]
    less = at[RBF_SAMPLER][width]["rms"] / at[OURS][width]["rms"]
    fewer = _misread(at[RBF_SAMPLER][width]) / _misread(at[OURS][width])
    return (
        f"{width} columns: {less:.0f}x less error than RBFSampler",
        f"{width} columns: {fewer:.1f}x fewer misread digits",
    )


def draw(records: list[Record]) -> Any:
    """The picture: kernel error and misread digits against columns, ours in front."""
    at = _by_map(records)
    picture = figure(10.6, 4.5)
    panels = picture.subplots(1, 2)
    picture.get_layout_engine().set(w_pad=0.12, wspace=0.03)
    for ax, title in zip(panels, sentences(records), strict=True):
        ax.set(xscale="log", yscale="log", xlim=(WIDTHS[0] / 1.2, WIDTHS[-1] * 1.1))
        ax.set_title(title, loc="left", fontsize=13.5, fontweight="bold", pad=12, x=-0.16)
        ax.set_xlabel("columns of features", fontsize=12)
        plain_ticks(ax.xaxis, WIDTHS)
        ax.tick_params(labelsize=11.5)
        tidy(ax)
    errors, misread = panels
    errors.set_ylim(5e-4, 0.3)
    errors.set_ylabel("error of the kernel (RMS)", fontsize=12)
    plain_ticks(errors.yaxis, [0.001, 0.01, 0.1])
    misread.set_ylim(0.8, 35)
    misread.set_ylabel("misread digits, %", fontsize=12)
    plain_ticks(misread.yaxis, [1, 3, 10, 30])
    order = (*PEERS, OURS)
    picture.draw_without_rendering()  # so that labels know where the lines end
    lines_in_front(
        errors,
        {_NAMES[m]: (WIDTHS, [at[m][w]["rms"] for w in WIDTHS]) for m in order},
        _NAMES[OURS],
    )
    curves = {_NAMES[m]: (WIDTHS, [100 * _misread(at[m][w]) for w in WIDTHS]) for m in order}
    exact = 100 * next(_misread(record) for record in records if record["map"] == EXACT)
    misread.axhline(exact, color=REFERENCE, lw=1.0, ls=(0, (2, 2)), zorder=1)
    misread.annotate(
        "exact kernel",
        (WIDTHS[0], exact),
        xytext=(0, 5),
        textcoords="offset points",
        color=REFERENCE,
        fontsize=11,
    )
    lines_in_front(misread, curves, _NAMES[OURS])
    return picture


def short_table(records: list[Record]) -> Table:
    """Kernel error and misread digits of four maps at three widths."""
    at, widths = _by_map(records), WIDTHS[::2]
    table = Table(
        title="1,797 digits of 64 pixels, 719 of them to test on",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("columns:", no_wrap=True)
    for kind in ("error", "misread"):
        for width in widths:
            table.add_column(f"{kind}\n{width}", justify="right", no_wrap=True)
    for name in (OURS, *reversed(PEERS)):
        errors = [f"{at[name][w]['rms']:.2g}" for w in widths]
        shares = [f"{_misread(at[name][w]):.1%}" for w in widths]
        style = "bold" if name == OURS else None
        table.add_row(_NAMES[name], *errors, *shares, style=style)
    exact = next(record for record in records if record["map"] == EXACT)
    nothing = [""] * (2 * len(widths) - 1)
    table.add_row("exact kernel", *nothing, f"{_misread(exact):.1%}")
    return table


def full_table(records: list[Record]) -> Table:
    """All numbers of every map."""
    table = Table(
        title="Digits (1797 images, 64 pixels), Gaussian kernel at the median distance",
        title_justify="left",
        caption="RMS and max: kernel error over all pairs of 719 test images; accuracy: ridge on "
        "the features; bold: the least RMS at this width",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("map", no_wrap=True)
    for heading in ("columns", "RMS", "max", "accuracy", "fit", "transform"):
        table.add_column(heading, justify="right", no_wrap=True)
    width: int | None = None
    for record in records:
        if width is not None and record.get("width", 0) != width:
            table.add_section()
        width = record.get("width", 0)
        rivals = [r["rms"] for r in records if width and r.get("width") == width]
        table.add_row(
            record["map"],
            str(record["columns"]),
            _number(record.get("rms"), "{:.1e}"),
            _number(record.get("max"), "{:.1e}"),
            _number(record.get("accuracy"), "{:.1%}"),
            _number(record.get("fit"), "{:.2f} s"),
            _number(record.get("transform"), "{:.1f} ms", 1e3),
            style="bold" if rivals and record["rms"] == min(rivals) else None,
        )
    return table


def _by_map(records: list[Record]) -> dict[str, dict[int, Record]]:
    """Records of maps by name and width."""
    at: dict[str, dict[int, Record]] = {}
    for record in records:
        if "width" in record:
            at.setdefault(record["map"], {})[record["width"]] = record
    return at


def _misread(record: Record) -> float:
    return 1.0 - float(record["accuracy"])


def _number(value: float | None, form: str, unit: float = 1.0) -> str:
    return "" if value is None else form.format(unit * value)
