"""One cell of benchmarks/tables.py: one model on one split of one set, in a separate process.

    python -P benchmarks/tables_cell.py '{"set": "iris", "split": 0, "model": "xRFM", "threads": 1}'

Prints the record as the last line of its output. It runs in the interpreter of either version of
quadfeat and imports only names that all versions have.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import pairwise_distances

Record = dict[str, Any]
SHIPPED: dict[str, Callable[..., Any]] = {
    "diabetes": datasets.load_diabetes,
    "digits": datasets.load_digits,
    "breast_cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
}
# bike15 is bike without its last two columns, which add up to the target.
REGRESSION = (
    "powerplant",
    "protein_casp",
    "cpu_compactiv",
    "kin8nm",
    "california_housing",
    "pumadyn32nm",
    "bike",
    "bike15",
    "diabetes",
)
CLASSES = (
    "letter",
    "magic",
    "satimage",
    "adult",
    "mnist",
    "digits",
    "breast_cancer",
    "wine",
    "iris",
)
# Model -> the modules that it needs in addition to scikit-learn.
MODELS = {
    "quadfeat": ("quadfeat",),
    "before": (),
    "ridge": (),
    "exact kernel ridge": (),
    "HistGradientBoosting": (),
    "LightGBM": ("lightgbm",),
    "XGBoost": ("xgboost",),
    "xRFM": ("xrfm", "torch"),
    "SVGP": ("gpytorch", "torch"),
}
REGRESSION_ONLY = ("exact kernel ridge", "SVGP")
WIDTH = 1024
# Exact kernel ridge: rows of a fit (a 0.5 GB matrix), and rows on which gamma and alpha are chosen.
EXACT_ROWS, GRID_ROWS = 8000, 5000
INDUCING, BATCH, EPOCHS, LEAST_STEPS = 500, 1024, 100, 2000


# --- data -----------------------------------------------------------------------------------------
def load(name: str) -> tuple[Any, Any]:
    """All rows of a set: X (n, d) in float64 and y; classes as 0, 1, ..."""
    if name in SHIPPED:
        X, y = SHIPPED[name](return_X_y=True)
    else:
        file = np.load(Path(os.environ["QUADFEAT_DATA"]) / f"{name.removesuffix('15')}.npz")
        if name == "adult":
            X = np.concatenate([_one_hot(file, part) for part in ("train", "test")])
        elif "X" in file.files:
            X = file["X"]
        else:
            X = np.concatenate([file["X_train"], file["X_test"]])
        y = file["y"] if "y" in file.files else np.concatenate([file["y_train"], file["y_test"]])
        if name == "bike15":
            X = X[:, :-2]
        X = X.reshape(len(X), -1).astype(np.float64)
    return X, np.unique(y, return_inverse=True)[1] if name in CLASSES else y


def _one_hot(file: Any, part: str) -> Any:
    """The numeric columns of adult, then one column for each category."""
    codes = file[f"Xcat_{part}"].T
    one_hot = [np.eye(size)[code] for code, size in zip(codes, file["cat_sizes"], strict=True)]
    return np.column_stack([file[f"Xnum_{part}"], *one_hot])


def split(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """X, y of training rows, X, y of test rows: a fifth of all rows, drawn with this seed.

    Columns (and y of regression) have mean 0 and deviation 1 over the training rows; constant
    columns are divided by 1, those of mnist only by 255.
    """
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = order[: len(X) // 5], order[len(X) // 5 :]
    if name == "mnist":
        mean, deviation = 0, 255.0
    else:
        mean, deviation = X[train].mean(0), X[train].std(0)
        deviation[deviation == 0] = 1
    y_train, y_test = y[train], y[test]
    if name in REGRESSION:
        middle, scale = y_train.mean(), y_train.std()
        y_train, y_test = (y_train - middle) / scale, (y_test - middle) / scale
    return (X[train] - mean) / deviation, y_train, (X[test] - mean) / deviation, y_test


# --- models ---------------------------------------------------------------------------------------
def make(model: str, *, classes: bool, threads: int) -> Any:
    """An estimator with `fit`, `predict` and, for classes, `predict_proba`.

    If it has standard deviations, also `deviation(X)`, that of a new observation.
    """
    if model in ("quadfeat", "before"):
        return quadfeat_default(classes)
    if model == "ridge":
        return LogisticRegression(max_iter=1000) if classes else RidgeCV(np.logspace(-3, 4, 15))
    if model == "exact kernel ridge":
        return ExactKernelRidge()
    if model == "HistGradientBoosting":
        boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return boosting(random_state=0)
    if model == "LightGBM":
        import lightgbm

        boosting = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return boosting(n_jobs=threads, random_state=0, verbose=-1)
    if model == "XGBoost":
        import xgboost

        boosting = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
        return boosting(n_jobs=threads, random_state=0)
    return XRFM(threads) if model == "xRFM" else SVGP(threads)


def quadfeat_default(classes: bool) -> Any:
    import quadfeat as qf

    features = qf.KernelFeatures(n_components=WIDTH)
    return qf.KernelClassifier(features) if classes else qf.KernelRegressor(features)


class ExactKernelRidge:
    """Gaussian kernel ridge; gamma and alpha are chosen on a fifth of up to 5,000 training rows."""

    def fit(self, X: Any, y: Any) -> None:
        some = np.random.default_rng(0).permutation(len(X))[:GRID_ROWS]
        held_out, rest = some[: len(some) // 5], some[len(some) // 5 :]
        median = np.median(pairwise_distances(X[held_out]))
        grid = {
            (gamma, alpha): KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha)
            for gamma in 2.0 ** np.arange(-6, 2) / median**2
            for alpha in 10.0 ** np.arange(-4, 1)
        }
        errors = {
            pair: np.mean((model.fit(X[rest], y[rest]).predict(X[held_out]) - y[held_out]) ** 2)
            for pair, model in grid.items()
        }
        self._model = grid[min(errors, key=errors.__getitem__)].fit(X, y)
        self.predict = self._model.predict


class XRFM:
    """xRFM at its defaults, on the CPU; a fifth of the training rows is its validation set."""

    def __init__(self, threads: int) -> None:
        import torch
        import xrfm

        torch.set_num_threads(threads)
        self._model = xrfm.xRFM(device="cpu", verbose=False, random_state=0)

    def fit(self, X: Any, y: Any) -> None:
        held_out = np.zeros(len(X), dtype=bool)
        held_out[np.random.default_rng(0).permutation(len(X))[: len(X) // 5]] = True
        self._model.fit(X[~held_out], y[~held_out], X[held_out], y[held_out])

    def predict(self, X: Any) -> Any:
        return np.asarray(self._model.predict(X)).reshape(len(X))

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(self._model.predict_proba(X))


class SVGP:
    """GPyTorch's variational process: Matern 3/2 with a scale per axis, 500 inducing points.

    Adam at rate 0.01, batches of 1,024 rows, 100 epochs (at least 2,000 steps). Scales start at
    sqrt(d), about the distance between two rows: with GPyTorch's 0.69 it learns nothing from 32
    columns.
    """

    def __init__(self, threads: int) -> None:
        import gpytorch
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self._torch, self._gpytorch = torch, gpytorch

    def fit(self, X: Any, y: Any) -> None:
        torch, gp = self._torch, self._gpytorch
        rows, targets = torch.tensor(X), torch.tensor(np.asarray(y, np.float64))
        inducing = rows[torch.randperm(len(rows))[:INDUCING]]

        class Process(gp.models.ApproximateGP):
            def __init__(self) -> None:
                super().__init__(
                    gp.variational.VariationalStrategy(
                        self,
                        inducing,
                        gp.variational.CholeskyVariationalDistribution(len(inducing)),
                    )
                )
                self.mean_module = gp.means.ConstantMean()
                matern = gp.kernels.MaternKernel(nu=1.5, ard_num_dims=rows.shape[1])
                matern.lengthscale = rows.shape[1] ** 0.5
                self.covar_module = gp.kernels.ScaleKernel(matern)

            def forward(self, x: Any) -> Any:
                return gp.distributions.MultivariateNormal(
                    self.mean_module(x), self.covar_module(x)
                )

        process, noise = Process().double(), gp.likelihoods.GaussianLikelihood().double()
        objective = gp.mlls.VariationalELBO(noise, process, num_data=len(rows))
        optimizer = torch.optim.Adam([*process.parameters(), *noise.parameters()], lr=0.01)
        steps = -(-len(rows) // BATCH)
        for _ in range(max(EPOCHS, -(-LEAST_STEPS // steps))):
            for batch in torch.randperm(len(rows)).chunk(steps):
                optimizer.zero_grad()
                (-objective(process(rows[batch]), targets[batch])).backward()
                optimizer.step()
        self._process, self._noise = process.eval(), noise.eval()

    def predict(self, X: Any) -> Any:
        return self._distribution(X)[0]

    def deviation(self, X: Any) -> Any:
        return self._distribution(X)[1]

    def _distribution(self, X: Any) -> tuple[Any, Any]:
        """Mean and deviation of a new observation, 1,000 rows at a time."""
        both, torch = [], self._torch
        with torch.no_grad():
            for rows in torch.tensor(X).split(1000):
                observed = self._noise(self._process(rows))
                both.append((observed.mean.numpy(), observed.stddev.numpy()))
        return tuple(np.concatenate(part) for part in zip(*both, strict=True))


# --- measuring ------------------------------------------------------------------------------------
def run(cell: Record) -> Record:
    """Times of a model's fit and predictions, and their errors."""
    classes = cell["set"] in CLASSES
    X, y, X_test, y_test = split(cell["set"], cell["split"])
    estimator = make(cell["model"], classes=classes, threads=cell["threads"])
    record: Record = {}
    clocks = [(time.perf_counter(), time.process_time())]
    estimator.fit(X, y)
    clocks.append((time.perf_counter(), time.process_time()))
    predicted = estimator.predict(X_test)
    clocks.append((time.perf_counter(), time.process_time()))
    for i, step in enumerate(("fit", "predict")):
        record[step] = clocks[i + 1][0] - clocks[i][0]
        record[f"{step}_cpu"] = clocks[i + 1][1] - clocks[i][1]
    record |= {"rows": len(X), "columns": X.shape[1]}
    if classes:
        chances = estimator.predict_proba(X_test)[np.arange(len(y_test)), y_test]
        record["error"] = float(np.mean(predicted != y_test))
        record["log_loss"] = float(-np.mean(np.log(np.clip(chances, 1e-15, 1))))
    else:
        gap = predicted - y_test
        record["rmse"] = float(np.sqrt(np.mean(gap**2)))
        deviation = deviations(estimator, X_test)
        if deviation is not None:
            record["nlpd"] = float(
                np.mean(0.5 * np.log(2 * np.pi * deviation**2) + 0.5 * (gap / deviation) ** 2)
            )
            record["coverage"] = float(np.mean(np.abs(gap) <= 1.6448536269514722 * deviation))
    return record | chosen(estimator)


def deviations(estimator: Any, X: Any) -> Any:
    """The standard deviation of a new observation, or None."""
    if hasattr(estimator, "deviation"):
        return estimator.deviation(X)
    if not hasattr(estimator, "noise_"):
        return None
    try:
        return np.sqrt(estimator.predict(X, return_std=True)[1] ** 2 + estimator.noise_)
    except ValueError:  # maps with negative weights have none
        return None


def chosen(estimator: Any) -> Record:
    """The choices of a quadfeat model, and the path of its code."""
    features = getattr(estimator, "features_", None)
    if features is None:
        return {}
    import quadfeat

    report = getattr(features, "report_", None)
    return {
        "kernel": repr(features.kernel_)[:300],
        "map": getattr(report, "chosen", type(features).__name__),
        "loss": getattr(estimator, "loss_", getattr(estimator, "loss", None)),
        "source": str(Path(quadfeat.__file__).parent),
    }


def main() -> None:
    cell = json.loads(sys.argv[1])
    if cell.get("memory"):
        resource.setrlimit(resource.RLIMIT_AS, (int(cell["memory"] * 2**30),) * 2)
    if cell.get("limit"):
        seconds = int(np.ceil(cell["limit"] * cell["threads"]))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    # Peers may print while fitting; the output must be only the record.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            record = run(cell)
        except Exception as error:
            record = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    print(json.dumps(record))


if __name__ == "__main__":
    main()
