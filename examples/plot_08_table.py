"""
A table with text, dates and gaps
=================================

Models take tables directly. A ``TableEncoder`` detects what each column is and turns it into
numbers. The model keeps it, so new tables are encoded in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import quadfeat as qf

rng = np.random.default_rng(0)
n = 1500
table = pd.DataFrame(
    {
        "area": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(8, 12, n).round()),
        "city": rng.choice(["Graz", "Linz", "Wien", "Bregenz", "Villach", "Enns"], n),
        "garden": rng.random(n) < 0.4,
        "sold": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, n), unit="D"),
        "note": rng.choice(["quiet street", "needs repair", "near the river", "top floor"], n),
    }
)
city = table["city"].map(
    {"Graz": 60, "Linz": 40, "Wien": 180, "Bregenz": 120, "Villach": 10, "Enns": 0}
)
season = 15 * np.cos(2 * np.pi * (table["sold"].dt.day_of_year - 150) / 365)
price = 2.5 * table["area"].fillna(96) + city + 30 * table["garden"] + season
price += np.where(table["note"] == "needs repair", -60, 0) + rng.normal(scale=12, size=n)

# %%
# ``fit`` reports how each column was encoded: gaps became the median, the date a time and a season.

features = qf.HermiteMercer(qf.Gaussian("learned"), n_components=200)
model = qf.KernelRegressor(features).fit(table[:1000], price[:1000])
print(*model.encoder_.report_, sep="\n")
print(f"R² of 500 new rows: {model.score(table[1000:], price[1000:]):.3f}")

# %%
# Importances are given for the columns of the table, however they were encoded. The model also
# finds the season: here is one house, sold on every day of a year.

figure, (left, right) = plt.subplots(1, 2)
left.barh(table.columns, model.feature_importances_, color="#0b3c5d")
left.invert_yaxis()
left.set(xlabel="importance", title="What moves the price")
days = pd.DataFrame([table.loc[3]] * 365).assign(sold=pd.date_range("2023-01-01", periods=365))
days = days.astype({"garden": bool, "area": float})
right.plot(days["sold"], model.predict(days), color="#0b3c5d", label="model")
truth = 15 * np.cos(2 * np.pi * (days["sold"].dt.day_of_year - 150) / 365)
right.plot(
    days["sold"], truth + model.predict(days).mean(), "--", color="#b3541e", label="season, truth"
)
right.xaxis.set_major_locator(plt.matplotlib.dates.MonthLocator([1, 4, 7, 10]))
right.xaxis.set_major_formatter(plt.matplotlib.dates.DateFormatter("%b"))
right.set(title="One house through the year", ylabel="price")
right.legend()

# %%
# **When this fails:** text is encoded by its letters, not by its meaning. A category that was
# not in the training rows is encoded as the average, and a warning counts such rows. If the kind of
# a column is guessed wrongly, set it: ``TableEncoder(columns={"code": "category"})``.
