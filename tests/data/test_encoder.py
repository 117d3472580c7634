"""`TableEncoder`: laws of what comes out, and a sentence for everything that cannot go in."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadfeat as qf
from quadfeat._errors import UnseenValues
from quadfeat.data.column_encoders import compressed

CITIES = [f"city {i}" for i in range(12)]


@pytest.fixture(scope="module")
def table():
    """Every kind of column, and a target that depends on some of them."""
    rng = np.random.default_rng(0)
    n = 400
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    frame = pd.DataFrame(
        {
            "size": rng.standard_t(2, n),
            "rooms": rng.integers(1, 6, n),
            "city": rng.choice(CITIES, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "garden": rng.random(n) < 0.5,
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "note": [" ".join(rng.choice(words, 4)) + f" no. {i}" for i in range(n)],
        }
    )
    frame.loc[rng.random(n) < 0.2, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    gaps = frame["size"].isna().to_numpy()
    city = frame["city"].map({name: i for i, name in enumerate(CITIES)}).to_numpy()
    y = 2.0 * gaps + 0.3 * city + frame["rooms"].to_numpy() + rng.normal(size=n)
    return frame, y


@parametrize_with_checks([qf.TableEncoder()])
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


# --- what comes out -------------------------------------------------------------------------------
def test_tables_of_every_make_give_the_same_numbers(table):
    frame, y = table
    expected = qf.TableEncoder().fit_transform(frame, y)
    assert np.isfinite(expected).all()
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(qf.TableEncoder().fit_transform(other, y), expected)


def test_columns_are_found_by_name_and_others_are_ignored(table):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame, y)
    turned = frame[list(frame)[::-1]].assign(more="x")
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(frame))


def test_an_array_after_a_table_is_taken_by_position():
    X = np.random.default_rng(0).normal(size=(50, 2))
    encoder = qf.TableEncoder().fit(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        Z = encoder.transform(X)
    np.testing.assert_array_equal(Z, encoder.transform(pd.DataFrame(X, columns=["a", "b"])))


def test_a_row_is_encoded_the_same_in_any_table(table):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame, y)
    whole, training = encoder.transform(frame), encoder.encode_training(frame)
    for rows in (slice(0, 7), slice(100, 101), slice(399, None)):
        np.testing.assert_array_equal(encoder.transform(frame[rows]), whole[rows])
        np.testing.assert_array_equal(encoder.encode_training(frame[rows]), training[rows])


def test_every_output_column_has_a_name_and_an_origin(table):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame, y)
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == encoder.transform(frame).shape[1]
    assert list(encoder.inverse_) == encoder.inverse() == encoder.inverse(list(names))
    assert set(encoder.inverse_) == set(frame)
    assert encoder.inverse(["mean target of city"]) == ["city"]
    pooled = encoder.pooled(np.ones(len(names)))
    assert pooled.shape == (7,) and pooled.sum() == pytest.approx(1)
    assert sum(each.outputs for each in encoder.report_) == len(names)
    out = qf.TableEncoder().set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(out) == list(names)


def test_weights_are_copies(table):
    frame, y = table
    frame, y = frame[:150], y[:150]
    counts = np.random.default_rng(1).integers(0, 4, len(frame))
    rows = np.repeat(np.arange(len(frame)), counts)
    weighted = qf.TableEncoder().fit(frame, y, counts)
    copied = qf.TableEncoder().fit(frame.iloc[rows], y[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValues)
        for a, b in ((weighted, copied),):
            keep = [i for i, name in enumerate(a.inverse_) if name != "note"]
            np.testing.assert_allclose(
                a.transform(frame)[:, keep], b.transform(frame)[:, keep], rtol=1e-9, atol=1e-9
            )


def test_tails_are_compressed_smoothly_and_in_order():
    z = np.linspace(-50, 50, 100_001)
    out = compressed(z)
    assert (np.diff(out) > 0).all()
    slope = np.diff(out) / np.diff(z)
    assert np.abs(np.diff(slope)).max() < 2 * 1e-3 / 3  # |f''| <= 1 / 3, at steps of 1e-3
    np.testing.assert_array_equal(compressed(-z), -out)
    near = np.abs(z) <= 3
    np.testing.assert_array_equal(out[near], z[near])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_numbers_of_any_scale_come_out_alike(scale):
    x = np.random.default_rng(0).standard_cauchy(500)[:, None]
    Z = qf.TableEncoder().fit_transform(x * scale)
    np.testing.assert_allclose(Z, qf.TableEncoder().fit_transform(x), rtol=1e-9, atol=1e-12)
    assert np.abs(Z).max() < 40 and 0.5 < np.std(Z) < 5


def test_a_mostly_constant_number_keeps_its_values_apart():
    x = np.zeros((1000, 1))
    x[:30, 0] = np.arange(1, 31)
    Z = qf.TableEncoder().fit_transform(x)
    assert len(np.unique(Z)) == 31 and np.abs(Z).max() < 40


# --- target means ---------------------------------------------------------------------------------
def test_target_means_of_training_rows_do_not_leak_their_targets():
    rng = np.random.default_rng(0)
    n = 2000
    frame = pd.DataFrame({"c": rng.choice([f"k{i}" for i in range(400)], n), "x": np.arange(n) / 7})
    y = rng.normal(size=n)  # nothing to learn
    encoder = qf.TableEncoder(columns={"x": "drop"})
    y[frame["c"] == "k0"] += 3  # so that categories are not left out
    Z = encoder.fit_transform(frame, y)[:, 0]
    other = frame["c"].to_numpy() != "k0"
    honest = np.corrcoef(Z[other], y[other])[0, 1]
    leaky = np.corrcoef(encoder.transform(frame)[other, 0], y[other])[0, 1]
    assert honest < 3 / np.sqrt(n) < leaky


def test_copies_of_a_row_are_in_one_fold():
    frame = pd.DataFrame({"c": [f"k{i % 40}" for i in range(400)], "x": np.arange(400.0) % 7})
    y = np.arange(400) % 40 + np.random.default_rng(0).normal(size=400)
    twice = pd.concat([frame, frame], ignore_index=True)
    encoder = qf.TableEncoder().fit(twice, np.concatenate([y, y]))
    Z = encoder.encode_training(twice)
    np.testing.assert_array_equal(Z[:400], Z[400:])


def test_means_shrink_towards_the_mean_and_few_rows_shrink_more():
    rng = np.random.default_rng(0)
    names = np.array(["many"] * 500 + ["few"] * 3 + [f"k{i}" for i in range(10) for _ in range(50)])
    effect = {name: rng.normal() for name in names} | {"many": 2.0, "few": 2.0}
    y = np.array([effect[name] for name in names]) + rng.normal(size=len(names)) * 3
    y[names == "few"] = y[names == "many"].mean()
    encoder = qf.TableEncoder().fit(pd.DataFrame({"c": names}), y)
    new = encoder.transform(pd.DataFrame({"c": ["many", "few"]}))[:, 0]
    with pytest.warns(UnseenValues, match="1 in 'c'"):
        (unknown,) = encoder.transform(pd.DataFrame({"c": ["never"]}))[:, 0]
    assert new[0] > new[1] > unknown


def test_more_than_two_classes_have_a_mean_each():
    rng = np.random.default_rng(0)
    c = rng.integers(0, 30, 900)
    y = np.array(["a", "b", "d"])[(c + (rng.random(900) < 0.3)) % 3]
    encoder = qf.TableEncoder().fit(pd.DataFrame({"c": [f"k{i}" for i in c]}), y)
    assert sorted(encoder.get_feature_names_out()) == [
        f"mean target of c ({label})" for label in "abd"
    ]


def test_categories_without_targets_are_one_hot_columns():
    frame = pd.DataFrame({"c": [f"k{i % 20}" for i in range(100)]})
    Z = qf.TableEncoder().fit_transform(frame)
    assert Z.shape == (100, 20) and (Z.sum(axis=1) == 1).all()


# --- gaps and new values --------------------------------------------------------------------------
def test_an_indicator_is_added_where_gaps_tell_something(table):
    frame, y = table
    telling = qf.TableEncoder().fit(frame, y).get_feature_names_out()
    assert "size is missing" in telling
    random = np.random.default_rng(5).normal(size=len(y))
    assert "size is missing" not in qf.TableEncoder().fit(frame, random).get_feature_names_out()


def test_gaps_of_every_spelling_are_one():
    spelled = ["a", "b", "a", "b", "?", "", " NA ", "null", None, np.nan, "nan", "N/A"]
    encoder = qf.TableEncoder().fit(pd.DataFrame({"c": spelled}))
    Z = encoder.transform(pd.DataFrame({"c": spelled}))
    assert encoder.report_[0].gaps == 8
    np.testing.assert_array_equal(Z[4:], np.tile([0.0, 0.0, 1.0], (8, 1)))


def test_new_values_are_average_counted_and_told(table):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame, y)
    new = frame[:10].copy()
    new["city"] = ["nowhere"] * 4 + [CITIES[0]] * 6
    new.loc[new.index[:3], "rooms"] = np.nan
    with pytest.warns(UnseenValues, match="4 in 'city', 3 in 'rooms', of 10 rows"):
        Z = encoder.transform(new)
    assert np.isfinite(Z).all()
    assert encoder.encode(new)[1] == {"city": 4, "rooms": 3}
    text = new.assign(rooms=["two"] * 10)  # a number that is none any more
    assert encoder.encode(text)[1]["rooms"] == 10


# --- kinds ----------------------------------------------------------------------------------------
def test_dates_become_time_and_cycles(table):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame[["sold"]], y)
    names = list(encoder.get_feature_names_out())
    assert names[0] == "sold" and "sold cosine of year" in names and "sold sine of week" in names
    assert not any("day" in name.split()[-1] for name in names)  # all at midnight
    days = pd.DataFrame({"sold": pd.to_datetime(["2020-12-31", "2021-01-01", "2021-07-01"])})
    year = encoder.transform(days)[:, 1:3]
    np.testing.assert_allclose((year**2).sum(axis=1), 2.0)
    assert np.linalg.norm(year[0] - year[1]) < 0.05 < 2 < np.linalg.norm(year[0] - year[2])


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_written_as_text_are_dates(table, form):
    frame, y = table
    text = frame[["sold"]].assign(sold=frame["sold"].dt.strftime(form))
    np.testing.assert_array_equal(
        qf.TableEncoder().fit_transform(text, y),
        qf.TableEncoder().fit_transform(frame[["sold"]], y),
    )


def test_numbers_written_as_text_are_numbers_and_codes_are_not():
    numbers = pd.DataFrame({"x": ["1,5", "2,25", "-3", "1e2"] * 10})
    assert qf.TableEncoder().fit(numbers).report_[0].kind == "number"
    codes = pd.DataFrame({"zip": ["01234", "10115", "00501", "20095"] * 10})
    assert qf.TableEncoder().fit(codes).report_[0].kind == "category"


def test_like_texts_are_near(table):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame[["note"]], y)
    assert encoder.report_[0].kind == "text"
    texts = ["alpha beta gamma delta", "Alpha beta gamma delta!", "epsilon epsilon epsilon"]
    Z = encoder.transform(pd.DataFrame({"note": texts}))
    assert np.linalg.norm(Z[0] - Z[1]) < 0.3 * np.linalg.norm(Z[0] - Z[2])


def test_many_texts_are_encoded_as_few_are():
    texts = [f"house no. {i} in street {i % 7}" for i in range(9000)]
    frame = pd.DataFrame({"text": texts})
    encoder = qf.TableEncoder(columns={"text": "text"}).fit(frame[:500])
    parts = [encoder.transform(frame[first : first + 1000]) for first in range(0, 9000, 1000)]
    np.testing.assert_array_equal(encoder.transform(frame), np.vstack(parts))


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(np.arange(1000, 1200), id="row numbers"),
        pytest.param(np.random.default_rng(0).permutation(200), id="shuffled row numbers"),
        pytest.param([f"user-{i:05d}" for i in range(200)], id="codes that never repeat"),
    ],
)
def test_ids_are_left_out_with_a_warning(ids):
    frame = pd.DataFrame({"who": ids, "x": np.sin(np.arange(200))})
    with pytest.warns(
        UserWarning, match=r"'who' only identifies rows.*columns=\{'who': 'number'\}"
    ):
        encoder = qf.TableEncoder().fit(frame)
    assert list(encoder.dropped_) == ["who"]
    kept = qf.TableEncoder(columns={"who": "category"}).fit(frame)
    assert "who" in kept.inverse_


def test_text_among_numbers_is_told_with_the_way_out():
    numbers = [f"{i}.5" for i in range(200)]
    frame = pd.DataFrame({"size": [*numbers[:190], *["sold out"] * 10]})
    words = r"'size' has numbers, but text such as 'sold out' in 10 rows.*--kind size=number"
    with pytest.warns(UserWarning, match=words):
        qf.TableEncoder().fit(frame)
    encoder = qf.TableEncoder(columns={"size": "number"}).fit(frame)
    assert encoder.report_[0].kind == "number" and encoder.report_[0].gaps == 0


def test_codes_that_look_like_numbers_at_times_are_categories():
    frame = pd.DataFrame({"zip": [f"{i % 9}A" if i % 3 else f"{i % 9}1" for i in range(200)]})
    assert qf.TableEncoder().fit(frame).report_[0].why == ""


def test_constant_and_empty_columns_are_left_out_and_the_report_says_so():
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [5, 5, 5], "c": [None] * 3, "d": ["x"] * 3})
    encoder = qf.TableEncoder().fit(frame)
    assert encoder.dropped_ == {
        "b": "constant: every row has 5",
        "c": "all values are missing",
        "d": "constant: every row has 'x'",
    }
    assert encoder.transform(frame).shape == (3, 1)
    assert str(encoder.report_[1]) == "b: left out (constant: every row has 5)"


def test_kinds_can_be_given(table):
    frame, y = table
    kinds = {"rooms": "category", "city": "text", "size": "drop"}
    encoder = qf.TableEncoder(columns=kinds).fit(frame, y)
    assert {each.name: each.kind for each in encoder.report_ if each.name in kinds} == kinds


def test_an_encoder_is_saved_to_the_bit(table, tmp_path):
    frame, y = table
    encoder = qf.TableEncoder().fit(frame, y)
    qf.save(encoder, tmp_path / "e.qf")
    again = qf.load(tmp_path / "e.qf")
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    np.testing.assert_array_equal(again.encode_training(frame), encoder.encode_training(frame))
    assert again.report_ == encoder.report_ and again.dropped_ == encoder.dropped_


# --- wrong uses -----------------------------------------------------------------------------------
A = pd.DataFrame({"a": [1.0, 2.0, 4.0, 8.0], "b": ["x", "y", "x", "y"]})
Y = np.array([0.0, 1.0, 2.0, 4.0])
TWICE = pd.DataFrame([[1, 2]] * 3, columns=["a", "a"])
LEVELS = pd.DataFrame([[1, 2]] * 3, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
TEXTS = pd.DataFrame({"t": [f"some words of row {i}" for i in range(30)]})


def fitted():
    return qf.TableEncoder().fit(A, Y)


def fit(X=A, y=None, weight=None, **parameters):
    return lambda: qf.TableEncoder(**parameters).fit(X, y, weight)


WRONG = {
    "no one-hot column": (fit(max_one_hot=0), "max_one_hot must"),
    "a fraction of columns": (fit(max_one_hot=2.5), "max_one_hot must"),
    "columns as text": (fit(max_one_hot="many"), "max_one_hot must"),
    "no text column": (fit(text_columns=0), "text_columns must"),
    "one fold": (fit(n_folds=1), "n_folds must be at least 2"),
    "no fold": (fit(n_folds=0), "n_folds must"),
    "a huge number": (
        lambda: qf.TableEncoder().fit(pd.DataFrame({"a": [10**400, 1, 2]})),
        "'a' has whole numbers beyond 1e308.*divide",
    ),
    "text treatment": (fit(text="embed"), "text must be one of 'hash', 'refuse'"),
    "task": (fit(task="ranking"), "task must be one of"),
    "kinds as a list": (fit(columns=["a"]), "columns must be a dict such as"),
    "kind of no column": (fit(columns={"z": "number"}), "X has no such column; it has 'a', 'b'"),
    "unknown kind": (fit(columns={"a": "ordinal"}), "must be one of 'number', 'category'"),
    "text called a number": (
        fit(columns={"b": "number"}),
        "are not, such as 'x'; make it a category",
    ),
    "text called a date": (fit(columns={"b": "date"}), "'b' is to be a date"),
    "a path": (fit("rows.csv"), r"pandas.read_csv\('rows.csv'\)"),
    "a dict": (fit({"a": [1]}), r"pandas.DataFrame\(X\)"),
    "nothing": (fit(None), "two dimensions"),
    "a number": (fit(3.0), "two dimensions"),
    "one dimension": (fit(np.arange(4.0)), "Reshape your data"),
    "three dimensions": (fit(np.zeros((2, 2, 2))), "dim 3"),
    "a sparse matrix": (fit(sparse.eye_array(4).tocsr()), "sparse input is not supported"),
    "a lazy table": (fit(pl.LazyFrame({"a": [1]})), r"X.collect\(\)"),
    "no rows": (fit(A[:0]), "X has no rows"),
    "no columns": (fit(A[[]]), "X has no columns"),
    "a name twice": (fit(TWICE), "two columns 'a'; give them different names"),
    "levels of names": (fit(LEVELS), "several levels of column names|two columns"),
    "infinity": (fit(A.assign(a=[1, 2, np.inf, 3])), "'a' has an infinite value in row 2"),
    "complex numbers": (fit(np.ones((3, 2)) * 1j), "Complex data not supported"),
    "masked entries": (fit(np.ma.masked_equal([[1, 2], [3, 4]], 2)), "1 masked entries"),
    "lists in cells": (fit(A.assign(a=[[1], [2], [3], [4]])), r"holds \[1\], a list.*split it"),
    "only constants": (fit(A.assign(a=1.0, b="x")), "'a' is constant: every row has 1; 'b' is"),
    "only gaps": (fit(pd.DataFrame({"a": [np.nan] * 4})), "'a' is all values are missing"),
    "everything dropped": (fit(columns={"a": "drop", "b": "drop"}), "as requested"),
    "one row": (fit(A[:1]), "1 sample"),
    "free text refused": (
        fit(TEXTS, text="refuse"),
        r"write text='hash', or columns=\{'t': 'drop'",
    ),
    "targets of other rows": (fit(y=Y[:3]), r"y has shape \(3,\) and X has 4 rows"),
    "the name of a target": (fit(y="price"), "names a column, which only a file has"),
    "a missing target": (fit(y=[0, 1, np.nan, 2]), "in row 2; leave it out"),
    "an infinite target": (fit(y=[0, np.inf, 1, 2]), "in row 1; leave it out"),
    "text for a regression": (fit(y=list("abcd"), task="regression"), "task='classification'"),
    "targets of three dimensions": (fit(y=np.zeros((4, 1, 1))), "y has shape"),
    "complex targets": (fit(y=Y * 1j), "Complex data not supported"),
    "weights of other rows": (fit(weight=[1, 2]), r"sample_weight has shape \(2,\)"),
    "a negative weight": (fit(weight=[1, 1, 1, -1]), "not negative"),
    "a missing weight": (fit(weight=[1, 1, 1, np.nan]), "must be finite"),
    "weights of zero": (fit(weight=[0, 0, 0, 0]), "not every weight zero"),
    "weights as text": (fit(weight=list("abcd")), "must be numbers"),
    "not fitted": (lambda: qf.TableEncoder().transform(A), "not fitted yet"),
    "a column is missing": (lambda: fitted().transform(A[["a"]]), "X has no column 'b'"),
    "an array of another width": (
        lambda: qf.TableEncoder().fit(np.eye(4)).transform(np.eye(3)),
        "X has 3 features, but TableEncoder is expecting 4",
    ),
    "an unknown output": (lambda: fitted().inverse(["c"]), "no output column is called 'c'"),
    "importances of others": (lambda: fitted().pooled([1.0]), "2 columns come out"),
    "other input names": (lambda: fitted().get_feature_names_out(["c"]), "feature_names_in_"),
}


def test_the_table_of_wrong_uses_is_long():
    assert len(WRONG) >= 40


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_is_answered_by_a_sentence_with_the_fix(name):
    use, words = WRONG[name]
    with pytest.raises((ValueError, TypeError, NotFittedError), match=words) as raised:
        use()
    assert "\n\n" not in str(raised.value)
