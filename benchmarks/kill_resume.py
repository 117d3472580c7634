"""kill -9 at random moments of a checkpointed fit: every resume must end in the same model.

OMP_NUM_THREADS=1 python benchmarks/kill_resume.py [--kills 50] [--seed 0]

Exit code 1 if a model differs by a bit, or a checkpoint cannot be read after a kill.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import quadfeat as qf
from tests.models.killing import duration, killed_until_done, same_model


def fits(folder: Path, n: int = 200_000) -> dict[str, tuple]:
    """A name, a function from a checkpoint's path to a model, and its data on disk: n rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10)).astype(np.float32)
    np.savez(folder / "rows.npz", X=X, y=np.sin(X[:, 0]) + X[:, 1])
    some = X[: n // 5]
    np.savez(folder / "labels.npz", X=some, y=np.digitize(some[:, 0], [-0.5, 0.5]))
    settings = {"checkpoint_interval": 0, "verbose": False}
    features = qf.QuasiRandomFourier(qf.Gaussian(0.1), n_components=256, random_state=0)
    return {
        "ridge": (
            lambda path: qf.KernelRegressor(features, checkpoint=path, **settings),
            (folder / "rows.npz",),
        ),
        "logistic": (
            lambda path: qf.KernelClassifier(
                features, loss="logistic", alpha=1.0, checkpoint=path, **settings
            ),
            (folder / "labels.npz",),
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, (make, data) in fits(folder).items():
            whole = folder / f"{name}-whole"
            whole.mkdir()
            seconds = duration(make, data, whole)
            kills = runs = 0
            while kills < options.kills // 2:
                own = folder / f"{name}-{runs}"
                own.mkdir()
                left = options.kills // 2 - kills
                kills += killed_until_done(make, data, own, seconds, rng, left)
                runs += 1
                failures += not same_model(own / "model.qf", whole / "model.qf")
            print(
                f"{name}: {seconds:.1f} s undisturbed; {kills} kills in {runs} fits, "
                f"{failures} other models",
                flush=True,
            )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
