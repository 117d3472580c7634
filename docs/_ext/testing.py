"""The table of the page on testing, from the records that `make trust` keeps."""

import json
from itertools import groupby
from pathlib import Path

TITLES = {
    "bad_input": "Bad input",
    "numerics": "Numbers",
    "determinism": "The same bits",
    "concurrency": "Threads, processes and Ctrl-C",
    "faults": "Killed processes, full disks and memory",
    "files": "Files",
    "sanitizers": "Sanitizers and valgrind",
    "soak": "An hour of small work",
    "mutants": "Tests that bite",
    "branches": "Branches that the tests take",
}


def figure(value):
    return "" if value is None else f"{value:.3g}"


def row(record):
    cells = (
        record["what"] + (f" ({record['unit']})" if record["unit"] else ""),
        f"{record['tried']:,}",
        f"{record['failed']:,}",
        figure(record["worst"]),
        figure(record["bound"]),
    )
    return "| " + " | ".join(cells) + " |\n"


def section(check, records):
    text = f"\n## {TITLES[check]}\n\n| what | tried | failed | worst | bound |\n"
    text += "|:--|--:|--:|--:|--:|\n" + "".join(map(row, records))
    dates = sorted({record["date"] for record in records})
    machines = sorted({record["machine"] for record in records})
    text += f"\nRun on {', '.join(dates)}: {'; '.join(machines)}.\n"
    notes = [f"- {record['what']}: {note}\n" for record in records for note in record["notes"]]
    return text + ("\nWhat failed:\n\n" + "".join(notes) if notes else "")


def _write(app):
    lines = (Path(app.srcdir) / "testing.jsonl").read_text().splitlines()
    records = sorted(map(json.loads, lines), key=lambda r: list(TITLES).index(r["check"]))
    groups = groupby(records, key=lambda record: record["check"])
    sections = (section(check, list(some)) for check, some in groups)
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    (folder / "testing.inc").write_text("".join(sections))


def setup(app):
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
