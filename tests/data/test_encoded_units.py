"""The meaning of the output columns of an encoder."""

import numpy as np
import pandas as pd
import pytest

from quadfeat.data.column_encoders import compressed, expanded
from quadfeat.data.encoded_units import encoded_units
from quadfeat.data.encoder import TableEncoder


@pytest.fixture
def table(rng):
    n = 400
    return pd.DataFrame(
        {
            "size": rng.lognormal(0.0, 2.0, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "town": rng.choice(list("abcdefgh"), n),
            "new": rng.choice(["no", "yes"], n),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.uniform(0, 900, n), "D"),
        }
    )


def test_every_column_belongs_to_one_unit_in_order(table):
    y = table["town"].map(ord) + (table["colour"] == "red")
    units = encoded_units(encoder := TableEncoder().fit(table, y))
    columns = [column for unit in units for column in unit.columns]
    assert columns == list(range(len(encoder.get_feature_names_out())))
    assert [unit.name for unit in units][:5] == ["size", "colour", "town", "new", "sold"]


def test_values_of_categories_are_their_codes(table):
    y = table["town"].map(ord) + (table["colour"] == "red")
    encoder = TableEncoder().fit(table, y)
    encoded = encoder.transform(table)
    for unit in encoded_units(encoder)[1:4]:
        assert unit.labels == tuple(sorted(set(table[unit.name])))
        for label, values in zip(unit.labels, unit.values, strict=True):
            some = encoded[(table[unit.name] == label).to_numpy()][:, list(unit.columns)]
            np.testing.assert_array_equal(some, np.tile(values, (len(some), 1)))


def test_numbers_and_dates_have_the_units_of_the_table(table):
    encoder = TableEncoder().fit(table)
    encoded = encoder.transform(table)
    by_name = {unit.name: unit for unit in encoded_units(encoder)}
    size, sold = by_name["size"], by_name["sold"]
    found = size.in_units(encoded[:, size.columns[0]])
    np.testing.assert_allclose(found, table["size"], rtol=1e-9)
    year = sold.in_units(encoded[:, sold.columns[0]])
    days = (table["sold"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    np.testing.assert_allclose(year, 1970 + days / 365.2425, rtol=1e-9)


def test_gaps_are_a_category_or_a_unit_of_their_own(table):
    table.loc[:99, ["size", "colour"]] = None
    y = table["size"].isna() * 1.0 + table["colour"].isna()
    by_name = {unit.name: unit for unit in encoded_units(TableEncoder().fit(table, y))}
    assert by_name["colour"].labels == ("blue", "green", "red", "missing")
    assert by_name["size is missing"].labels == ("no", "yes")
    assert by_name["size"].labels == ()


def test_expanded_is_the_inverse_of_compressed(rng):
    z = rng.standard_cauchy(1000) * 10
    np.testing.assert_allclose(expanded(compressed(z)), z, rtol=1e-12)
