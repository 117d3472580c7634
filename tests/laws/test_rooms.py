"""The picture of the rooms shows the imports that there are."""

import re
import runpy
import subprocess
import sys

from .test_architecture import FILES, ORDER, SOURCE, imports, room

SCRIPT = SOURCE.parents[1] / "docs" / "rooms.py"
rooms = runpy.run_path(str(SCRIPT))


def _drawn(picture):
    return set(re.findall(r"<title>(.+) imports (.+)</title>", picture.read_text()))


def test_the_picture_is_of_the_present_imports(tmp_path):
    _, edges = rooms["graph"]()
    subprocess.run([sys.executable, SCRIPT, tmp_path / "rooms.svg"], check=True)
    assert _drawn(tmp_path / "rooms.svg") == edges
    assert _drawn(SCRIPT.with_suffix(".svg")) == edges, "run python docs/rooms.py"


def test_the_script_and_the_architecture_test_read_the_same_imports():
    doors, first = rooms["DOORS"], rooms["FOUNDATIONS"]
    edges = set()
    for name in FILES:
        for _, other, _ in imports(name):
            ends = [room(end) for end in (name, other)]
            if ends[0] != ends[1] and not doors & set(ends):
                edges.add(tuple(end if end in rooms["ROOMS"] else first for end in ends))
    assert {edge for edge in edges if edge[0] != edge[1]} == rooms["graph"]()[1]


def test_rooms_are_drawn_in_the_order_of_their_imports():
    drawn = [name for name in rooms["ROOMS"] if name != rooms["FOUNDATIONS"]]
    assert drawn == [name for name in ORDER if name in drawn]
