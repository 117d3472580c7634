"""The page in a real browser: nothing fails to load, and it fits a phone."""

import json
import re
import subprocess
from html import unescape

import numpy as np
import pytest

from quadfeat.experiments import page
from quadfeat.experiments.cell import Table, Verdict
from quadfeat.experiments.journal import Finished, machine
from quadfeat.experiments.page import Section
from quadfeat.plotting import style
from tests.browser import BROWSER, FLAGS

# Tells the frame around it what a reader's browser would know.
PROBE = """<script>addEventListener("load", () => parent.postMessage(JSON.stringify({
  width: innerWidth, needed: document.documentElement.scrollWidth,
  images: [...document.images].map(i => [i.complete, i.naturalWidth, i.alt.length,
                                         i.getBoundingClientRect().right]),
  letters: parseFloat(getComputedStyle(document.body).fontSize)}), "*"))</script>"""
FRAME = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><pre></pre><script>
addEventListener("message", e => document.querySelector("pre").textContent = e.data)</script>
<iframe src="probe.html" style="width:{width}px;height:800px;border:0"></iframe>"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    if BROWSER is None:
        pytest.skip("no chromium on this machine")

    def run(*arguments):
        profile = tmp_path_factory.mktemp("profile")
        command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        complaints = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
        return result.stdout, complaints

    return run


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A page of two experiments with long words, and one that was left out."""
    folder = tmp_path_factory.mktemp("site")
    made = style.figure()
    ax = made.subplots()
    style.curve(ax, "random", [1, 2, 4], [[3, 2, 1], [3.5, 2.5, 1.5]])
    pictures = [style.svg(made), style.svg(style.figure(8.6, 4.6))]
    line = {"key": {"seed": 0}, "seconds": 90.0, "machine": machine(), "records": [], "cells": 1}
    verdicts = [
        Verdict("A claim that holds", "2-3 times", "2.5 times", True),
        Verdict("A claim that does not", "x" * 200, "y" * 200, False, "with a note & more"),
        Verdict("A claim that cannot be decided", "", "", None),
    ]
    wide = Table("Numbers", ["x", *"abcdefgh"], [["1", *["1,234 ± 567"] * 8]] * 3)
    sections = [
        Section(name, f"Fig. {name}", "About it.", f"quadfeat reproduce {name} --scale small",
                     Finished([line]), verdicts, picture, [wide])
        for name, picture in zip(("one", "two"), pictures, strict=True)
    ]  # fmt: skip
    sections.append(
        Section("three", "Fig. three", "", "", Finished([]), [], b"", [], "no data was " + "z" * 90)
    )
    text = page.html(sections, "small")
    (folder / "index.html").write_text(text)
    opened = text.replace("<details>", "<details open>")
    (folder / "probe.html").write_text(opened.replace("</body>", PROBE + "</body>"))
    return folder


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_loads_whole_and_does_not_overflow(site, browse, width):
    (site / "frame.html").write_text(FRAME.replace("{width}", str(width)))
    url = (site / "frame.html").as_uri()
    text, complaints = browse("--virtual-time-budget=5000", "--dump-dom", url)
    seen = json.loads(unescape(re.search("<pre>(.*?)</pre>", text, re.DOTALL)[1]))
    assert not complaints
    assert seen["width"] == width >= seen["needed"]
    assert len(seen["images"]) == 2
    for complete, natural_width, alt, _ in seen["images"]:
        assert complete and natural_width > 0 and alt > 20
    narrow, wide = (right for *_, right in seen["images"])
    assert narrow <= width and (wide <= width or width < 480)  # moved sideways, not the page
    assert seen["letters"] >= 16


def test_what_a_page_complains_of_is_heard(browse, tmp_path):
    (tmp_path / "bad.html").write_text("<img src='absent.png'><script>nothing()</script>")
    _, complaints = browse("--dump-dom", (tmp_path / "bad.html").as_uri())
    assert any("nothing is not defined" in line for line in complaints)


@pytest.mark.parametrize("width", [500, 1280])
def test_a_screenshot_shows_the_text_and_a_picture(site, browse, tmp_path, width):
    from matplotlib.image import imread

    shot = tmp_path / "shot.png"
    browse(f"--screenshot={shot}", f"--window-size={width},2400", (site / "index.html").as_uri())
    pixels = imread(shot)[:, :, :3]
    assert pixels.shape[1] == width
    rows_with_ink = np.ptp(pixels.mean(axis=2), axis=1) > 0.3
    assert rows_with_ink.mean() > 0.3  # blank lines between lines of text are the rest
    saturation = pixels.max(axis=2) - pixels.min(axis=2)
    assert (saturation > 0.2).sum() > 200  # links and badges are coloured


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(119.4, "119 s"), (180.0, "3 min"), (7199.0, "120 min"), (9000.0, "2.5 h")],
)
def test_durations_are_told_in_the_unit_that_fits(seconds, text):
    assert page._duration(seconds) == text
