"""Models of tables as ONNX files: the encoder is in them, or a column is refused by its name."""

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
N = 240


@pytest.fixture
def table(rng):
    """Numbers with gaps and far values, booleans, few and many categories, and gaps in both."""
    sizes = rng.normal(10, 2, N)
    sizes[::11], sizes[5] = np.nan, 1e7
    few = rng.choice(["red", "blue", "grün"], N).astype(object)
    many = rng.choice([f"town {i}" for i in range(9)], N).astype(object)
    few[::13] = None
    return pd.DataFrame(
        {
            "size": sizes,
            "used": rng.random(N) < 0.5,
            "sex": rng.choice(["f", "m"], N),
            "colour": few,
            "town": many,
            "code": rng.integers(1, 4, N),
        }
    )


@pytest.fixture
def targets(table, rng):
    effect = table["town"].str[-1].astype(float) + 3 * (table["sex"] == "f")
    return (effect + table["used"] + rng.normal(size=N)).to_numpy()


def feeds(model, table):
    """The columns that the file asks for, as its inputs take them."""
    given = {}
    for column in model.encoder_.report_:
        values = table[column.name]
        if column.kind == "number":
            given[column.name] = values.to_numpy(dtype=np.float64)
        elif column.kind == "category":
            texts = values.astype(object).where(values.notna(), "")
            given[column.name] = texts.to_numpy(dtype=object)
    return given


def computed(model, table, path, dtype):
    qf.to_onnx(model, path, dtype=dtype)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert {i.name for i in session.get_inputs()} == set(feeds(model, table))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds(model, table)), strict=True))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
def test_a_regressor_of_a_table_computes_the_same(table, targets, tmp_path, dtype, tolerance):
    features = qf.HermiteMercer(qf.Gaussian(0.1), n_components=64)
    model = qf.KernelRegressor(features, alpha=1.0).fit(table, targets)
    outputs = computed(model, table, tmp_path / "model.onnx", dtype)
    mean, std = model.predict(table, return_std=True)
    assert np.abs(outputs["predictions"] - mean).max() <= tolerance * targets.std()
    assert np.abs(outputs["deviations"] - std).max() <= tolerance * targets.std()


def test_a_classifier_of_a_table_computes_the_same(table, targets, tmp_path):
    labels = np.where(targets > np.median(targets), "high", "low")
    features = qf.RandomFourier(qf.Gaussian(0.1), n_components=64, random_state=0)
    model = qf.KernelClassifier(features, loss="ridge").fit(table, labels)
    outputs = computed(model, table, tmp_path / "model.onnx", "float64")
    assert (outputs["label"] == model.predict(table)).all()
    assert np.abs(outputs["probabilities"] - model.predict_proba(table)).max() <= 1e-10


@pytest.mark.filterwarnings("ignore::quadfeat._errors.UnseenValues")
def test_values_that_training_rows_did_not_have_are_encoded_alike(table, targets, tmp_path):
    model = qf.KernelRegressor(qf.HermiteMercer(qf.Gaussian(0.1), n_components=64), alpha=1.0)
    model.fit(table, targets)
    new = table.head(8).copy()
    new["town"] = ["Oz", None, "", "NA", "town 1", "town 99", "?", "town 2"]
    new["sex"] = ["x", "f", None, "m", "f", "x", "m", "f"]
    new["size"] = [np.nan, 1e300, -1e300, 1e308, -1e308, 0.0, 3.5, 1e9]
    outputs = computed(model, new, tmp_path / "model.onnx", "float64")
    assert np.abs(outputs["predictions"] - model.predict(new)).max() <= 1e-10 * targets.std()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.date_range("2024-01-01", periods=N), "a date"),
        ([f"a sentence of its own, number {i} of many" for i in range(N)], "free text"),
    ],
)
def test_a_column_that_cannot_be_exported_is_named(table, targets, tmp_path, column, words):
    kinds = {"extra": "date" if words == "a date" else "text"}
    model = qf.KernelRegressor(
        qf.HermiteMercer(qf.Gaussian(0.1), n_components=16), encoder=qf.TableEncoder(columns=kinds)
    ).fit(table.assign(extra=column), targets)
    with pytest.raises(ValueError, match=f"column 'extra' is {words}.*'drop'"):
        qf.to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_files_of_numbers_need_no_operators_for_texts(data, tmp_path):
    qf.to_onnx(qf.HermiteMercer(n_components=16).fit(data), tmp_path / "map.onnx")
    assert [each.domain for each in onnx.load(tmp_path / "map.onnx").opset_import] == [""]
