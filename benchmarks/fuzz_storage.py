"""Model files damaged at random: each is refused within 100 ms, or loads to what can be used.

python benchmarks/fuzz_storage.py [--count 20000] [--seed 0]

Exit code 1 if a file breaks the law of `tests/storage/fuzz.py`; a crash of Python names its file.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[1]))

import quadfeat as qf
from tests.conftest import KERNELS, MAPS
from tests.storage.fuzz import mutate, outcome

_BATCH = 200  # files per process, so that a crash is seen and its file found


def originals(folder: Path) -> list[bytes]:
    """One file for every map and kernel, small, so that mutations hit what matters."""
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
    files = []
    for estimator in estimators:
        qf.save(estimator, folder / "original")
        files.append((folder / "original").read_bytes())
    return files


def batch(files: list[bytes], folder: Path, seed: int, count: int) -> Counter[str]:
    """The outcomes of some mutations, in a process of their own."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _child(files, folder, seed, count, write_end)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        found = Counter(line.strip() for line in pipe)
    status = os.waitpid(child, 0)[1]
    if status:
        (folder / f"crash-{seed}").write_bytes((folder / "damaged").read_bytes())
        found[f"crashed with status {status}"] += 1
    return found


def _child(files: list[bytes], folder: Path, seed: int, count: int, write_end: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    rng = np.random.default_rng(seed)
    with os.fdopen(write_end, "w") as pipe:
        for i in range(count):
            path = folder / "damaged"
            path.write_bytes(mutate(files[rng.integers(len(files))], rng))
            result = outcome(path)
            if result not in ("refused", "loaded"):
                (folder / f"fault-{seed}-{i}").write_bytes(path.read_bytes())
            pipe.write(result.replace("\n", " ")[:200] + "\n")
            pipe.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files that break the law")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    total: Counter[str] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        files = originals(folder)
        # What a child collects shall be its own: to walk all modules copies their pages, 100 ms.
        gc.freeze()
        for i in range(0, options.count, _BATCH):
            total += batch(files, folder, options.seed + i, min(_BATCH, options.count - i))
    print(f"{total.total()} files in {time.perf_counter() - began:.0f} s")
    for result, count in total.most_common():
        print(f"{count:6d} {result}")
    return int(set(total) != {"refused", "loaded"})


if __name__ == "__main__":
    sys.exit(main())
