"""An experiment that is quick, and a small corpus of speech in TIMIT's layout."""

import itertools
import sys
from types import ModuleType

import numpy as np
import pytest

from quadfeat.experiments import runner
from quadfeat.experiments.cell import Cell, Table, Verdict
from quadfeat.experiments.datasets import Data
from quadfeat.experiments.speech.utterances import PHONES61
from quadfeat.plotting.style import figure

NAME = "parabola"


@pytest.fixture
def parabola(monkeypatch):
    """An experiment of three cells that counts how often each is run."""
    module = ModuleType(f"quadfeat.experiments.figures.{NAME}")
    module.TITLE, module.ABOUT, module.VERSION = "A parabola", "Squares of seeds.", 1
    module.ran, module.broken = [], None

    def square(seed):
        module.ran.append(seed)
        if seed == module.broken:
            raise ValueError("this cell breaks")
        return [{"seed": seed, "square": seed**2}, {"seed": -seed, "square": seed**2}]

    def cells(scale, data):
        return [Cell({"seed": seed}, lambda seed=seed: square(seed)) for seed in range(3)]

    def draw(records):
        picture = figure()
        ax = picture.subplots()
        ax.plot([r["seed"] for r in records], [r["square"] for r in records], "o")
        return picture

    def verdicts(records):
        measured = str(sum(r["square"] for r in records))
        return [Verdict("<squares> sum to 10", "10", measured, measured == "10")]

    def tables(records):
        return [Table("Squares < 5", ["seed"], [[str(r["seed"])] for r in records])]

    module.cells, module.draw, module.verdicts, module.tables = cells, draw, verdicts, tables
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(runner, "NAMES", (NAME,))
    return module


# More than 13, so that their states span 40 discriminants.
PHONES = "aa ae ah aw b ch d dh eh er f g iy k l m n q s t tcl".split()  # noqa: SIM905


def sphere(samples, order="<i2"):
    """The bytes of a NIST sphere file."""
    fields = {
        "sample_count -i": len(samples),
        "sample_n_bytes -i": 2,
        "sample_rate -i": 16000,
        "sample_byte_format -s2": "01" if order == "<i2" else "10",
        "sample_coding -s3": "pcm",
    }
    lines = ["NIST_1A", "   1024", *(f"{k} {v}" for k, v in fields.items()), "end_head", ""]
    return "\n".join(lines).encode().ljust(1024) + samples.astype(order).tobytes()


def write_sentence(folder, name, rng, seconds=1.0):
    """A recording of tones, one per phone, and its phone file."""
    folder.mkdir(parents=True, exist_ok=True)
    n = int(16000 * seconds)
    cuts = np.r_[0, np.sort(rng.choice(np.arange(400, n, 320), 11, replace=False)), n]
    phones = ["h#", "q", *rng.choice(PHONES, 9), "h#"]
    samples = rng.normal(size=n) * 30
    for start, end, phone in zip(cuts[:-1], cuts[1:], phones, strict=True):
        pitch = 200 + 150 * PHONES61.index(phone)
        samples[start:end] += 2000 * np.sin(pitch * np.arange(end - start) / 2500)
    rows = zip(cuts[:-1], cuts[1:], phones, strict=True)
    (folder / f"{name}.PHN").write_text("".join(f"{a} {b} {p}\n" for a, b, p in rows))
    (folder / f"{name}.WAV").write_bytes(sphere(samples.astype(np.int16)))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small corpus in TIMIT's own layout: eight speakers to learn from, two and two others."""
    root, rng = tmp_path_factory.mktemp("corpus"), np.random.default_rng(0)
    speakers = {"TRAIN/DR1": [f"FAA{i}" for i in range(8)]}
    speakers["TEST/DR2"] = ["MDAB0", "FELC0", "MXYZ0", "FXYZ0"]
    for region, names in speakers.items():
        for speaker, sentence in itertools.product(names, ("SA1", "SI10", "SX20")):
            write_sentence(root / region / speaker, sentence, rng)
    return root


def go(out, scale="small"):
    out.mkdir(exist_ok=True)
    plans, _ = runner.plan([NAME], scale, Data(None), out)
    for plan in plans:
        for cell in plan.todo:
            plan.run(cell)
    return runner.conclude(scale, out)


def untimed(records):
    return [{k: v for k, v in record.items() if "seconds" not in k} for record in records]


PACKED = "timit_sample_frames.npz"
