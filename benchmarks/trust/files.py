"""Damaged model and data files, and models of every release.

The law: a file is refused with a ValueError, or gives what can be used. Nothing in it is run,
memory and time are bounded, and the process lives on. `tests/storage/fuzz.py` has it for models.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import quadfeat as qf
from quadfeat import data
from tests.conftest import KERNELS, MAPS
from tests.storage import fuzz
from tests.storage.make_fixtures import answers

from .table import ROOT, Effort, Row

FIXTURES = ROOT / "tests" / "storage" / "fixtures"
GUIDED = Path(__file__).with_name("guided.py")
_BATCH = 200  # files per process, so that a crash is seen
_SECONDS = 5.0  # of CPU time, for one file
_MEMORY = 2 << 30  # bytes beyond what the process has
FINE = ("refused", "loaded")
Damage = Callable[[bytes, np.random.Generator], bytes]


def run(effort: Effort) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    yield releases()
    models = model_files(effort.folder)
    gc.freeze()  # to walk all objects in a child copies their pages, 100 ms
    row = Row("damaged models: refused with a ValueError, or usable")
    yield damaged(row, effort, models, fuzz.mutate, effort.of(400, 40_000))
    for suffix, whole in data_files(effort.folder).items():
        row = Row(f"damaged {suffix} files: refused with a ValueError, or read")
        yield damaged(row, effort, [whole], text_or_bytes, effort.of(100, 25_000), suffix)
    if not effort.quick and importlib.util.find_spec("atheris"):
        yield guided(effort, models)


def releases() -> Row:
    """Files of every release answer as they did."""
    row = Row("models of every release: largest change of an answer", bound=1e-13)
    for path in sorted(FIXTURES.glob("*/*.qf")):
        told = np.load(path.with_name("answers.npz"))
        row.add(
            float(np.abs(answers(qf.load(path), told["X"]) - told[path.stem]).max()),
            case=f"{path.parent.name}/{path.name}",
        )
    return row


# --- whole files ----------------------------------------------------------------------------------
def model_files(folder: Path) -> list[bytes]:
    """One file for every map, kernel and kind of model, small, so that damage hits what matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    estimators = [make().fit(X) for make in MAPS.values()]
    kernels = [make(3) for name, make in KERNELS.items() if name != "spectral"]
    estimators += kernels
    estimators += [qf.RandomFourier(kernel, n_components=12).fit(X) for kernel in kernels]
    estimators += [qf.Landmarks(kernel, n_components=6).fit(X) for kernel in kernels]
    small = qf.RandomFourier(qf.Gaussian(0.3), n_components=6, random_state=0)
    estimators += [qf.KernelRegressor(small).fit(X, target) for target in (X[:, 0], X)]
    estimators.append(qf.KernelRegressor(small).partial_fit(X, X[:, 0]))
    labels = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    for loss in ("ridge", "squared_hinge", "logistic"):
        model = qf.KernelClassifier(small, loss=loss, alpha=1.0, class_weight="balanced")
        estimators += [model.fit(X, labels), clone(model).fit(X, labels == "a")]
    table = pd.DataFrame({"size": X[:, 0], "town": labels})
    estimators.append(qf.TableEncoder().fit(table, X[:, 1]))
    estimators.append(qf.KernelRegressor(small, encoder=qf.TableEncoder()).fit(table, X[:, 1]))
    files = []
    for estimator in estimators:
        qf.save(estimator, folder / "original")
        files.append((folder / "original").read_bytes())
    return files


def data_files(folder: Path) -> dict[str, bytes]:
    """A file of each kind that a reader reads: ending -> bytes."""
    X = np.random.default_rng(0).normal(size=(40, 3)).round(3)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.arange(40))
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "t.tsv", index=False, sep="\t")
    table.to_parquet(folder / "t.parquet", row_group_size=16)
    np.save(folder / "t.npy", X)
    np.savez(folder / "t.npz", X=X, y=np.arange(40))
    dump_svmlight_file(X, np.arange(40), str(folder / "t.svmlight"))
    suffixes = (".csv", ".tsv", ".parquet", ".npy", ".npz", ".svmlight")
    return {suffix: (folder / f"t{suffix}").read_bytes() for suffix in suffixes}


_WORDS = (
    *(b",", b";", b"\n", b"\r", b'"', b"\t", b":", b"#", b" ", b"nan", b"inf", b"-1", b"1e999"),
    *(b"0x10", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"9" * 400, b"(1099511627776,)", b"O", b"|"),
    *(b"True", b"__import__('os').abort()", b"1:1 1:2", b"99999999999:1", b"qid:3"),
)


def text_or_bytes(whole: bytes, rng: np.random.Generator) -> bytes:
    """Damage as a text has it, words where they do not belong; or that of any file."""
    if rng.random() < 0.4:
        return fuzz.mutate_bytes(whole, rng)
    for _ in range(int(rng.integers(1, 4))):
        i = int(rng.integers(len(whole) + 1))
        j = i + int(rng.choice([0, 0, 1, 5]))
        whole = whole[:i] + _WORDS[rng.integers(len(_WORDS))] + whole[j:]
    return whole


# --- damage ---------------------------------------------------------------------------------------
def damaged(
    row: Row, effort: Effort, files: list[bytes], damage: Damage, count: int, suffix: str = ""
) -> Row:
    """Try so many damaged files, some at a time in a process of their own."""
    for i in effort.times(-(-count // _BATCH), -(-count // _BATCH)):
        size = min(_BATCH, count - i * _BATCH)
        path = effort.folder / f"damaged{suffix}"
        for case, result in _batch(files, damage, path, (effort.seed + i, size)):
            row.add(fault="" if result in FINE else result, case=f"seed {case}")
    return row


def _batch(
    files: list[bytes], damage: Damage, path: Path, seeds: tuple[int, int]
) -> Iterator[tuple[str, str]]:
    """What became of each file; a crash ends the batch and is one of them."""
    seed, count = seeds
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _child(files, damage, path, seeds, write_end)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        results = pipe.read().splitlines()
    status = os.waitpid(child, 0)[1]
    yield from ((f"{seed}, file {i}", result) for i, result in enumerate(results))
    if status:
        yield f"{seed}, file {len(results)} of {count}", f"the process ended with {status}"


def _child(
    files: list[bytes], damage: Damage, path: Path, seeds: tuple[int, int], write_end: int
) -> None:
    """Write one line per file, and end this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    rng = np.random.default_rng(seeds[0])
    status = 1
    try:
        with os.fdopen(write_end, "w") as pipe:
            for _ in range(seeds[1]):
                path.write_bytes(damage(files[rng.integers(len(files))], rng))
                began = time.process_time()
                result = _read(path) if path.suffix else fuzz.outcome(path, np.inf)
                seconds = time.process_time() - began
                if result in FINE and seconds > _SECONDS:
                    result = f"takes {seconds:.1f} s"
                pipe.write(" ".join(result.split())[:200] + "\n")
                pipe.flush()
        status = 0
    finally:
        os._exit(status)


def _read(path: Path) -> str:
    """What reading a data file as blocks comes to."""
    target = None if path.suffix in (".npy", ".svmlight", ".npz") else "y"
    try:
        for block in data.source(path, target).blocks():
            if not np.isfinite(block.X.data if hasattr(block.X, "indptr") else block.X).all():
                return "gives numbers that are not finite"
    except ValueError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "loaded"


def guided(effort: Effort, models: list[bytes]) -> Row:
    """The same law where atheris looks for inputs that reach new code of the reader."""
    row = Row("files that coverage guides, by atheris: refused, or usable")
    corpus = effort.folder / "corpus"
    corpus.mkdir()
    for i, whole in enumerate(sorted(models, key=len)[:20]):
        (corpus / str(i)).write_bytes(whole)
    runs, seconds = 50_000, int(60 * min(effort.minutes, 60))
    command = [sys.executable, str(GUIDED), f"-runs={runs}", f"-max_total_time={seconds}"]
    done = subprocess.run([*command, str(corpus)], cwd=ROOT, capture_output=True, text=True)
    counted = [line for line in done.stderr.splitlines() if line.startswith("Done ")]
    row.tried = int(counted[-1].split()[1]) if counted else 0
    if done.returncode:
        row.add(fault=done.stderr[-300:], case="atheris")
    return row
