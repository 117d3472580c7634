"""Predictions and features of files: values, refusals and warnings."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import quadfeat as qf
from quadfeat.app.files import fit_map, predict_file, transform_file


def rows(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1]


def features(**options):
    return qf.RandomFourier(qf.Gaussian(0.3), n_components=16, random_state=0, **options)


@pytest.fixture
def file(tmp_path):
    X, _ = rows()
    np.save(tmp_path / "new.npy", X)
    return tmp_path / "new.npy"


X, y = rows()
WITHOUT = {  # what is asked of a model that cannot say it
    "a map": (features().fit(X), {}, "a RandomFourier makes no predictions"),
    "a kernel": (qf.Gaussian(0.3), {}, "a Gaussian makes no predictions"),
    "both": (None, {"probabilities": True, "std": True}, "use either --proba or --std"),
    "numbers": (
        qf.KernelRegressor(features(), alpha=1.0).fit(X, y),
        {"probabilities": True},
        "no probabilities; logistic and ridge classifiers have",
    ),
    "classes": (
        qf.KernelClassifier(features(), loss="ridge", alpha=1.0).fit(X, y > 0),
        {"std": True},
        "deviations are those of a regression",
    ),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_what_a_model_cannot_say_is_refused_and_no_file_is_written(case, file, tmp_path):
    model, asked, words = WITHOUT[case]
    with pytest.raises(ValueError, match=words):
        predict_file(
            model, file, tmp_path / "out.csv", **({"probabilities": False, "std": False} | asked)
        )
    assert not (tmp_path / "out.csv").exists()


def test_a_kernel_has_no_features_to_write(file, tmp_path):
    with pytest.raises(ValueError, match="a kernel has no features; give a map"):
        transform_file(qf.Gaussian(0.3), file, tmp_path / "out.csv")


def test_deviations_of_a_file_are_those_of_the_model(file, tmp_path):
    X, y = rows()
    model = qf.KernelRegressor(features(), alpha=1.0).fit(X, y)
    assert predict_file(model, file, tmp_path / "p.csv", probabilities=False, std=True) == len(X)
    written = pd.read_csv(tmp_path / "p.csv")
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_array_equal(written["prediction"], mean)
    np.testing.assert_array_equal(written["deviation"], deviation)


def test_a_map_of_a_sparse_file_remembers_where_its_indices_begin(tmp_path):
    X, y = rows()
    for name, zero_based in (("zero", True), ("one", False)):
        dump_svmlight_file(X, y, str(tmp_path / f"{name}.svmlight"), zero_based=zero_based)
        fitted = fit_map(tmp_path / f"{name}.svmlight", width=8)
        assert fitted.first_index == (0 if zero_based else 1)
        # No row uses index 0 here: only the map can say from where the file counts.
        part = X.copy()
        part[:, 0] = 0.0
        dump_svmlight_file(part, y, str(tmp_path / "new.svmlight"), zero_based=zero_based)
        transform_file(fitted, tmp_path / "new.svmlight", tmp_path / "z.npy")
        np.testing.assert_allclose(
            np.load(tmp_path / "z.npy"), fitted.transform(part), rtol=0, atol=1e-12
        )


def test_rows_of_an_array_are_encoded_as_the_table_of_the_fit_was(tmp_path):
    X, y = rows()
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=["f0", "f1", "f2"])
    model = qf.KernelRegressor(features(), alpha=1.0).fit(table, y)
    np.save(tmp_path / "gaps.npy", X)
    predict_file(model, tmp_path / "gaps.npy", tmp_path / "p.npy", probabilities=False, std=False)
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy").ravel(), model.predict(table))


def test_a_warning_of_a_block_is_given_again(file, tmp_path):
    X, y = rows()
    model = qf.KernelRegressor(features(), alpha=1.0).fit(X, y)

    class Cautious(qf.KernelRegressor):
        def predict(self, X, **options):
            warnings.warn("far from the training rows", UserWarning, stacklevel=2)
            return super().predict(X, **options)

    model.__class__ = Cautious
    with pytest.warns(UserWarning, match="far from the training rows"):
        predict_file(model, file, tmp_path / "p.npy", probabilities=False, std=False)
    assert np.load(tmp_path / "p.npy").size == len(X)
