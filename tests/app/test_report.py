"""The report: one page that holds everything, whatever the columns are called, in a browser."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quadfeat as qf
from quadfeat.app import main, report
from quadfeat.app.learning_curve import gain, width_curve
from quadfeat.app.scores import r2
from quadfeat.app.summary import FitSummary
from tests.browser import BROWSER, FLAGS

PROBE = """<script>addEventListener("load", () => parent.postMessage(JSON.stringify({
  width: innerWidth, needed: document.documentElement.scrollWidth,
  paper: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  outside: [...document.querySelectorAll("section")].filter(s =>
    [...s.querySelectorAll("svg, p, h2, h3, pre, .table")].some(e => {
      const a = e.getBoundingClientRect(), b = s.getBoundingClientRect();
      return a.right > b.right + 1 || a.bottom > b.bottom + 1})).map(s => s.id),
  cut: [...document.querySelectorAll("svg text")].filter(t => {
      const a = t.getBoundingClientRect(), b = t.closest("svg").getBoundingClientRect();
      return a.left < b.left - 1 || a.right > b.right + 1}).map(t => t.textContent),
  letters: Math.min(...[...document.querySelectorAll("svg text")].map(t =>
    12 * t.closest("svg").getBoundingClientRect().width / 360))}), "*"))</script>"""
FRAME = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><pre></pre><script>
addEventListener("message", e => document.querySelector("pre").textContent = e.data)</script>
<iframe src="{page}" style="width:{width}px;height:900px;border:0"></iframe>"""
SECTIONS = [
    "score",
    "rows",
    "widths",
    "calibration",
    "errors",
    "matters",
    "curves",
    "unlike",
    "map",
]
SECTIONS += ["columns", "use"]
NASTY = {
    "area": "<script>alert(1)</script>",
    "city": "a & b \"quoted\" 'too' <b>" + "w" * 60,
    "sold": "</style><img src=x onerror=alert(2)>",
    "price": "<i>price</i>",
}


def houses(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "area": rng.lognormal(4, 1, n).round(2),
            "city": rng.choice(["Graz", "<b>Wien</b>", "Linz", None], n),
            "sold": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
        }
    )
    bonus = frame["city"].map({"Graz": 0.0, "<b>Wien</b>": 2.0, "Linz": 1.0}).fillna(0.5)
    frame["price"] = np.log(frame["area"]) + bonus + rng.normal(0, 0.2, n)
    return frame


def run(folder, *arguments):
    """Run the command in a folder; its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["quadfeat", *map(str, arguments)])
        try:
            main.main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models with their pages: a number of a table with hostile names, and three classes."""
    place = tmp_path_factory.mktemp("report")
    frame = houses()
    frame.rename(columns=NASTY).to_csv(place / "nasty.csv", index=False)
    code = run(place, "fit", "nasty.csv", "--target", NASTY["price"], "--width", 32, "-q")
    assert code == 0
    parts = pd.qcut(frame["price"], 3, labels=["low", "<u>mid</u>", "high"]).astype(str)
    frame.drop(columns="price").assign(level=parts).to_csv(place / "levels.csv", index=False)
    assert run(place, "fit", "levels.csv", "--target", "level", "--width", 32, "-q") == 0
    return place


PAGES = ["nasty", "levels"]


class Tags(HTMLParser):
    """Tags that a page opens, with their attributes, and those left open."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_every_section_and_fetches_nothing(folder, name):
    text = (folder / f"{name}.html").read_text()
    page = Tags(text)
    assert not page.open
    ids = [attrs["id"] for tag, attrs in page.seen if tag == "section"]
    assert [each for each in SECTIONS if each not in ids] == []
    assert ("coverage" in ids) == (name == "nasty")
    assert len(text.encode()) < 200_000  # far below 1 MB, whatever the number of rows
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in page.seen}
    for _, attrs in page.seen:
        assert not [key for key in attrs if key.startswith("on") or key == "src"]
        assert attrs.get("href", "data:,") == "data:,"
    assert "url(" not in text and "@import" not in text
    figures = [attrs for tag, attrs in page.seen if tag == "svg"]
    assert len(figures) >= 6 and all(len(each["aria-label"]) > 15 for each in figures)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_tells_what_the_fit_found(folder, name):
    summary = FitSummary.read(folder / f"{name}.json")
    shown = " ".join(" ".join(Tags((folder / f"{name}.html").read_text()).text).split())
    assert summary.verdict in shown and summary.page == f"{name}.html"
    assert " ".join(summary.command.split()) in shown
    for contender in summary.contenders:
        assert contender.name in shown and f"{contender.score.value:.3f}" in shown
    for column in summary.inputs:
        assert column.name in shown and column.why in shown
    assert f"qf.load('{name}.qf')" in shown
    assert len(summary.learning) >= 1 and "the last doubling of the rows" in shown
    assert [width for width, _ in summary.widths] == [8, 16, 32, 64]
    assert "64 instead of 32 changed" in shown and "gamma=" not in shown


def test_names_and_values_of_strangers_are_text(folder):
    for name in PAGES:
        text = (folder / f"{name}.html").read_text()
        for word in ("<script>alert", "<img src=x", "<b>", "<i>", "<u>"):
            assert word not in text
    shown = " ".join(Tags((folder / "nasty.html").read_text()).text)
    for word in NASTY.values():
        assert word in shown
    assert "<b>Wien</b>" in shown


def test_a_report_on_the_data_of_the_fit_uses_the_rows_held_out(folder, tmp_path):
    # Another name and place: rows are known by what they are.
    shutil.copy(folder / "nasty.csv", tmp_path / "copy.csv")
    code = run(folder, "report", "nasty.qf", tmp_path / "copy.csv", "-o", tmp_path / "same.html")
    assert code == 0
    first, second = (
        re.search(r'<dl class="facts">.*?</dl>', path.read_text(), re.DOTALL)[0]
        for path in (folder / "nasty.html", tmp_path / "same.html")
    )
    assert first == second and "60 rows held out (at random)" in first
    for name in ("calibration", "coverage", "errors", "curves", "unlike", "rows"):
        sections = [
            re.search(rf'<section id="{name}".*?</section>', path.read_text(), re.DOTALL)[0]
            for path in (folder / "nasty.html", tmp_path / "same.html")
        ]
        assert sections[0] == sections[1], name


def test_a_report_on_other_rows_scores_all_of_them(folder, tmp_path):
    other = houses(120).rename(columns=NASTY)
    other.to_csv(tmp_path / "other.csv", index=False)
    code = run(folder, "report", "nasty.qf", tmp_path / "other.csv", "-o", tmp_path / "o.html")
    assert code == 0
    shown = " ".join(" ".join(Tags((tmp_path / "o.html").read_text()).text).split())
    y, predicted = other[NASTY["price"]], qf.load(folder / "nasty.qf").predict(other)
    value = 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)
    assert f"The model has R2 {value:.3f}" in shown and "120 rows of other.csv" in shown


def test_evaluate_prints_the_score_of_the_rows_that_it_is_given(folder, tmp_path, capsys):
    frame = pd.read_csv(folder / "nasty.csv")
    summary = FitSummary.read(folder / "nasty.json")
    assert run(folder, "evaluate", "nasty.qf", "nasty.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"] == found["fitted"] and "held out" in found["rows"]
    assert found["score"]["value"] == summary.score.value
    # The same targets beside other columns are other rows.
    other = frame.assign(**{NASTY["area"]: frame[NASTY["area"]].sample(frac=1).to_numpy()})
    other.to_csv(tmp_path / "other.csv", index=False)
    assert run(folder, "evaluate", "nasty.qf", tmp_path / "other.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    y, predicted = other[NASTY["price"]], qf.load(folder / "nasty.qf").predict(other)
    value = 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)
    assert found["score"]["value"] == pytest.approx(value)
    assert found["rows"] == f"{len(other)} rows of other.csv" and found["fitted"]["name"] == "R2"
    assert run(folder, "evaluate", "nasty.qf", tmp_path / "other.csv") == 0
    assert "when fitted" in capsys.readouterr().out


def test_a_model_without_its_record_has_a_page_with_less(tmp_path):
    frame = houses(200).drop(columns="id")
    model = qf.KernelRegressor(qf.KernelFeatures(n_components=32, random_state=0), alpha=0.1)
    qf.save(model.fit(frame.drop(columns="price"), frame["price"]), tmp_path / "own.qf")
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert run(tmp_path, "report", "own.qf", "d.csv", "--target", "price") == 0
    shown = " ".join(Tags((tmp_path / "own.html").read_text()).text)
    for words in ("not beside the model", "did not store", "its score here is too good"):
        assert words in shown


def test_the_page_can_be_left_out(folder, tmp_path):
    data = folder / "levels.csv"
    arguments = ("--target", "level", "--width", 8, "-q", "--no-report", "-o", "m.qf")
    assert run(tmp_path, "fit", data, *arguments) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "m.qf"]
    assert FitSummary.read(tmp_path / "m.json").learning == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("report nasty.qf none.csv", "there is no file none.csv"),
        ("report none.qf nasty.csv", "none.qf"),
        ("report nasty.qf nasty.csv --target area", "no column 'area'"),
        ("report nasty.qf nasty.csv -o nasty.qf", "is also an input"),
        ("report nasty.qf nasty.csv -o nasty.json", "is also an input"),
        ("report nasty.qf nasty.csv -o no/x.html", "does not exist"),
        ("report nasty.qf nasty.csv -o x.pdf", "x.pdf is for a page: end it in .html"),
        ("evaluate nasty.qf none.csv", "there is no file none.csv"),
        ("evaluate nasty.qf nasty.csv --target area", "no column 'area'"),
        ("evaluate map.qf nasty.csv", "which makes no predictions"),
        ("report levels.qf levels.csv --target city -o x.html", "none of which the model knows"),
        ("report nasty.qf levels.csv --target level -o x.html", "the model predicts numbers"),
        ("report map.qf nasty.csv -o x.html", "which makes no predictions"),
        ("fit levels.csv --target level -o levels.html", "is the name of the .html file"),
    ],
)
def test_a_wrong_use_ends_in_a_sentence(folder, arguments, words, capsys):
    qf.save(qf.DenseGrid().fit(np.zeros((2, 1))), folder / "map.qf")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(folder, *arguments.split()) == 1
    err = " ".join(capsys.readouterr().err.split())
    assert words in err and "Traceback" not in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_gain_of_more_rows_is_that_of_a_doubling():
    assert gain(((50, 0.5), (100, 0.6)), 400, 0.8) == pytest.approx(0.1)
    assert gain((), 400, 0.8) is None


def test_partial_dependence_is_the_mean_of_predictions_with_the_column_replaced():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = qf.KernelRegressor(qf.DenseGrid(qf.Gaussian(0.5)), alpha=0.1).fit(X, X[:, 0] ** 2)
    block = report.RowBlock(X, X[:, 0] ** 2)
    found = report.study(model, block, "80 rows", ["column 0"], None)
    (curve,) = found.curves
    for x, value in zip(curve["x"], curve["value"], strict=True):
        moved = np.column_stack([np.full(80, x), X[:, 1]])
        assert value == pytest.approx(model.predict(moved).mean(), abs=1e-12)
    inside = (X[:, 0] >= curve["x"][0]) & (X[:, 0] <= curve["x"][-1])
    assert sum(curve["counts"]) == inside.sum()


def anova(frame, target, **options):
    kernel = qf.Anova(qf.Gaussian("learned"), subsets=[[i] for i in range(2)] + [[0, 1]])
    X = frame[["a", "b"]]
    model = qf.KernelRegressor if target == "y" else qf.KernelClassifier
    return model(qf.HermiteMercer(kernel, n_components=64), **options).fit(X, frame[target])


def test_a_model_with_effects_shows_them_with_their_deviation(rng, tmp_path):
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    frame["y"] = np.sin(2 * frame["a"]) + frame["b"] + rng.normal(0, 0.1, 150)
    model = anova(frame, "y", alpha=0.1)
    block = report.RowBlock(pa.Table.from_pandas(frame[["a", "b"]]), frame["y"].to_numpy())
    found = report.study(model, block, "150 rows", ["a", "b"], None)
    assert found.curve_label == "effect on the prediction"
    for curve in found.curves:
        i = model.effects_.subsets.index(({"a": 0, "b": 1}[curve["name"]],))
        rows = pd.DataFrame({"a": 0.0, "b": 0.0, curve["name"]: curve["x"]})[["a", "b"]]
        value, deviation = model.effects(rows, return_std=True)
        np.testing.assert_allclose(curve["value"], value[:, i], atol=1e-9)
        np.testing.assert_allclose(curve["deviation"], deviation[:, i], atol=1e-9)
    qf.save(model, tmp_path / "m.qf")
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert run(tmp_path, "report", "m.qf", "d.csv", "--target", "y") == 0
    text = (tmp_path / "m.html").read_text()
    assert text.count('class="band"') == 2 and "The effect of each column alone" in text
    assert "Sum of Gaussian kernels of 2 columns and 1 pair" in text


def test_effects_of_categories_are_bars_and_add_up(rng):
    n = 200
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v", "w"], n)})
    frame["y"] = frame["a"] + (frame["b"] == "v") + rng.normal(0, 0.1, n)
    d = 4  # one number, three categories
    kernel = qf.Anova(qf.Gaussian("learned"), subsets=[[i] for i in range(d)])
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=64), alpha=0.1)
    model.fit(frame[["a", "b"]], frame["y"])
    block = report.RowBlock(pa.Table.from_pandas(frame[["a", "b"]]), frame["y"].to_numpy())
    curve = report.study(model, block, "rows", ["b"], None).curves[0]
    assert curve["kind"] == "category" and curve["deviation"] is None
    effect = dict(zip(curve["x"], curve["value"], strict=True))
    rows = pd.DataFrame({"a": [0.3, 0.3], "b": ["v", "u"]})
    gap = np.diff(model.predict(rows))[0]
    assert effect["u"] - effect["v"] == pytest.approx(gap, abs=1e-9)


def test_effects_of_classes_are_on_the_score(rng):
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    block = report.RowBlock(pa.Table.from_pandas(frame[["a", "b"]]), None)
    total = frame["a"] + frame["b"]
    for labels in (["no", "yes"], ["low", "mid", "high"]):
        frame["c"] = np.array(labels)[pd.qcut(total, len(labels), labels=False)]
        model = anova(frame, "c", alpha=0.1, loss="ridge")
        given = report.RowBlock(block.X, frame["c"].to_numpy())
        found = report.study(model, given, "rows", ["a"], None)
        assert found.curve_label.startswith("effect on the score of ")
        curve = found.curves[0]
        assert curve["deviation"] is None and len(curve["x"]) == len(curve["value"])


def test_refits_at_the_width_of_the_model_on_its_rows_are_the_model(rng):
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + rng.normal(0, 0.3, 300)
    features = qf.KernelFeatures(qf.Gaussian(0.5), n_components=32, random_state=0)
    model = qf.KernelRegressor(features, alpha=0.1).fit(X, y)
    test = report.RowBlock(X[:50], y[:50])

    def score(predicted):
        return r2(test.y, predicted, 0.0)

    found = dict(width_curve(model, report.RowBlock(X, y), test, score))
    assert list(found) == [8, 16, 32, 64]
    assert found[32] == pytest.approx(score(model.predict(test.X)).value, abs=1e-9)
    grid = qf.KernelRegressor(qf.DenseGrid(qf.Gaussian(0.5)), alpha=0.1).fit(X, y)
    assert width_curve(grid, report.RowBlock(X, y), test, score) == ()


# --- in a browser ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    if BROWSER is None:
        pytest.skip("no chromium on this machine")

    def visit(url, *flags):
        profile = tmp_path_factory.mktemp("profile")
        command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *flags]
        command += ["--virtual-time-budget=5000", "--dump-dom", url]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        complaints = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
        return result.stdout, complaints

    return visit


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_a_phone_and_a_desk_in_light_and_dark(folder, browse, name, width, tmp_path):
    text = (folder / f"{name}.html").read_text().replace("<details>", "<details open>")
    (tmp_path / "page.html").write_text(text.replace("</body>", PROBE + "</body>"))
    (tmp_path / "frame.html").write_text(
        FRAME.replace("{width}", str(width)).replace("{page}", "page.html")
    )
    dark = name == "levels"
    flags = ["--blink-settings=preferredColorScheme=0"] if dark else []
    dom, complaints = browse((tmp_path / "frame.html").as_uri(), *flags)
    seen = json.loads(unescape(re.search("<pre>(.*?)</pre>", dom, re.DOTALL)[1]))
    assert not complaints
    assert seen["width"] == width >= seen["needed"]
    assert seen["outside"] == [] and seen["cut"] == []
    assert seen["letters"] >= 9
    paper, ink = (
        np.mean([int(each) for each in re.findall(r"\d+", seen[key])[:3]])
        for key in ("paper", "ink")
    )
    assert (paper < ink - 150) if dark else (paper > ink + 150)


def test_the_front_page_of_the_room_names_every_file():
    folder = Path(main.__file__).parent
    text = (folder / "__init__.py").read_text()
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []
