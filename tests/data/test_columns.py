"""Columns at their edges: what they are read as, and how few different values are encoded."""

import datetime

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.data.column_encoders import centre_and_spread
from quadfeat.data.column_kinds import kind_of
from quadfeat.data.encoder_targets import is_labels
from quadfeat.data.frame import frame

GMT, CET = datetime.UTC, datetime.timezone(datetime.timedelta(hours=1))


def column(values):
    return frame(pd.DataFrame({"a": pd.Series(values, dtype=object)})).column("a")


# --- what values are ------------------------------------------------------------------------------
def test_objects_are_the_kind_that_all_of_them_are():
    day = datetime.date(2021, 3, 1)
    for values, kind, numbers in (
        ([True, None, np.False_], "boolean", [1, np.nan, 0]),
        ([True, 2, None], "number", [1, 2, np.nan]),
        ([day, None, np.datetime64("2021-03-02")], "date", [18687, np.nan, 18688]),
        (
            [
                datetime.datetime(2021, 3, 1, 0, tzinfo=GMT),
                datetime.datetime(2021, 3, 1, 1, tzinfo=CET),
            ],
            "date",
            [18687, 18687],
        ),
    ):
        found = column(values)
        assert found.kind == kind
        np.testing.assert_array_equal(found.as_number().values, numbers)


def test_mixed_objects_are_texts_and_whole_floats_are_written_as_whole():
    found = column(["b", 2.0, 2.5, True, None, 1e300])
    texts = [None if code < 0 else found.texts[code] for code in found.values]
    assert texts == ["b", "2", "2.5", "True", None, "1e+300"]


def test_durations_of_an_array_are_seconds():
    found = frame(np.array([[90, "NaT"]], dtype="timedelta64[s]").T)
    np.testing.assert_array_equal(found.column("x0").as_number().values, [90.0, np.nan])


@pytest.mark.parametrize("value", [1j, [1], object()])
def test_a_value_that_is_no_number_text_or_date_is_refused(value):
    with pytest.raises((TypeError, ValueError), match="'a'"):
        column(["b", value])


def test_columns_that_are_missing_are_named():
    table = frame(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match="X has no column 'c'; it has 'a', 'b'"):
        table.select(["a", "c"])
    some = frame(pd.DataFrame({"a": [1.0, 2.0, 3.0], "t": ["u", "v", "w"]})).select(["t", "a"])
    rows = some.at(np.array([2, 0]))
    assert rows.names == ("t", "a") and rows.n_rows == 2
    np.testing.assert_array_equal(rows.column("a").values, [3.0, 1.0])


def test_labels_are_whole_numbers_or_texts_of_one_column():
    assert is_labels(np.array(["a", "b"])) and is_labels(np.array([0.0, 1.0]))
    assert not is_labels(np.array([0.0, 1.5]))
    assert not is_labels(np.zeros((3, 2))) and not is_labels(np.array([1j]))


def test_texts_of_many_words_that_seldom_repeat_are_free_text(rng):
    words = np.array(["big", "old", "red", "house", "garden", "with", "roof"])
    texts = [" ".join(rng.choice(words, 4)) for _ in range(20)]
    repeated = column(texts + texts[:10])
    assert kind_of("a", repeated, 30) == ("text", "")
    assert kind_of("a", column(texts * 3), 60) == ("category", "")


# --- how they are encoded -------------------------------------------------------------------------
def test_the_spread_is_of_the_middle_or_of_as_many_rows_as_it_takes():
    x, one = np.zeros(1001), np.ones(1001)
    assert centre_and_spread(x, one) == (0.0, 1.0)
    x[0] = 5.0  # below a hundredth of the rows: no quantile sees it
    deviation = np.sqrt((25 - 25 / 1001) / 1001)
    assert centre_and_spread(x, one) == (0.0, pytest.approx(deviation, rel=1e-12))
    x[:30] = 5.0
    assert centre_and_spread(x, one) == (0.0, pytest.approx(5 / 4.653))


def test_dates_of_a_few_weeks_have_no_time_of_year():
    start = pd.Timestamp("2021-03-01")
    for days, yearly in ((40, False), (300, True)):
        X = pd.DataFrame({"t": start + pd.to_timedelta(np.arange(0, days, 2), "D")})
        names = qf.TableEncoder(columns={"t": "date"}).fit(X).get_feature_names_out()
        assert any("year" in name for name in names) == yearly
        assert any("week" in name for name in names)


@pytest.mark.parametrize("texts", [["one and the same", None], ["x", None], ["x", "y"]])
def test_free_text_may_be_one_text_and_gaps(texts):
    X = pd.DataFrame({"t": texts * 6, "a": np.arange(12.0)})
    encoder = qf.TableEncoder(columns={"t": "text"}).fit(X)
    Z = encoder.transform(X)[:, :-1]
    assert Z.shape[1] >= 1
    # As far apart as two categories: one-hot columns of two categories differ by sqrt(2).
    if texts[1] is None:
        assert np.abs(Z[0] - Z[1]) == pytest.approx(np.sqrt(2))
    else:
        assert not np.array_equal(Z[0], Z[1])
    np.testing.assert_array_equal(Z[::2], np.repeat(Z[:1], 6, axis=0))
