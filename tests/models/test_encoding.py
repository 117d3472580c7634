"""Models of tables: numbers as they are, everything else by an encoder that the model keeps."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import quadfeat as qf
from quadfeat._errors import UnseenValues

from .maps import drawn, fixed


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "c": rng.choice([f"k{i}" for i in range(9)], n),
            "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    y = frame["a"].fillna(2).to_numpy() + frame["c"].str[1:].astype(int).to_numpy() * 0.5
    return frame, y


def small(**options):
    return qf.KernelRegressor(fixed(), alpha=0.01, **options)


def test_a_table_of_numbers_gives_the_model_of_its_array(rng):
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = small().fit(X, y)
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        model = small().fit(table, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.predict(table), expected.predict(X))
        assert not hasattr(model, "encoder_")
        assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_tables_and_files_of_them_give_the_same_model(mixed, tmp_path):
    frame, y = mixed
    expected = small().fit(frame, y)
    assert expected.n_features_in_ == 3 and expected.feature_importances_.shape == (3,)
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "folder").mkdir()
    frame.assign(y=y).to_parquet(tmp_path / "folder" / "t.parquet")
    given = [(pa.Table.from_pandas(frame), y), (pl.from_pandas(frame), y)]
    given += [(tmp_path / "t.csv", "y"), (tmp_path / "folder", "y")]
    given += [(lambda: [(frame[:100], y[:100]), (frame[100:], y[100:])], None)]
    for X, target in given:
        model = small().fit(X, target)
        np.testing.assert_allclose(model.predict(frame), expected.predict(frame), rtol=1e-9)
    np.testing.assert_array_equal(expected.predict(tmp_path / "t.csv"), expected.predict(frame))


def test_a_model_keeps_its_encoder_in_its_file(mixed, tmp_path):
    frame, y = mixed
    model = small(encoder=qf.TableEncoder(columns={"a": "drop"})).fit(frame, y)
    qf.save(model, tmp_path / "m.qf")
    again = qf.load(tmp_path / "m.qf")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.encoder_.dropped_ == {"a": "as requested"}
    assert again.encoder.columns == {"a": "drop"}


def test_an_encoder_that_is_given_scales_numbers(rng):
    X = rng.normal(size=(60, 2)) * [1.0, 1e6]
    y = X[:, 0]
    model = small(encoder=qf.TableEncoder()).fit(X, y)
    np.testing.assert_allclose(
        model.predict(X), small(encoder=qf.TableEncoder()).fit(X * 8, y).predict(X * 8), rtol=1e-12
    )
    assert model.gradient(X).shape == (60, 2)


def test_values_that_are_new_are_told_and_predicted(mixed):
    frame, y = mixed
    model = small().fit(frame, y)
    with pytest.warns(UnseenValues, match="2 in 'c'"):
        assert np.isfinite(model.predict(frame[:2].assign(c="never"))).all()


def test_batches_of_tables_use_the_encoder_of_the_first(mixed):
    frame, y = mixed
    model = small().partial_fit(frame[:200], y[:200])
    encoder = model.encoder_
    model.partial_fit(frame[200:], y[200:])
    assert model.encoder_ is encoder
    model.fit(np.arange(20.0).reshape(10, 2), np.arange(10.0))
    assert not hasattr(model, "encoder_")


def test_classes_of_a_table_are_learned(mixed):
    frame, y = mixed
    labels = np.where(y > np.median(y), "high", "low")
    model = qf.KernelClassifier(fixed(), loss="ridge", alpha=0.01).fit(frame, labels)
    assert model.score(frame, labels) > 0.8
    assert model.predict_proba(frame).shape == (300, 2)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda f, y: small().fit(f, y).predict("none.csv"), "there is no file none.csv"),
        (lambda f, y: small().fit(f, y).predict(iter([f])), "fitted to a table with the columns"),
        (lambda f, y: small().fit(f, y).predict(f[["a"]]), "X has no column 'c'"),
        (lambda f, y: small(encoder="auto").fit(f, y), r"encoder must be TableEncoder\(...\)"),
        (lambda f, y: small().fit(f, y[:5]), "y has shape"),
        (lambda f, y: small().fit(iter([(f, y)])), "not a number|holds dates"),
    ],
)
def test_wrong_tables_are_refused(mixed, use, words):
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        use(*mixed)


def test_an_encoder_needs_rows_that_can_be_read_again(plane):
    X, y = plane
    model = qf.KernelRegressor(drawn(), alpha=1.0, encoder=qf.TableEncoder())
    with pytest.raises((TypeError, ValueError), match="an encoder takes a table, an array, a CSV"):
        model.fit(sparse.csr_array(X), y)
