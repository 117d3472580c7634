"""
More rows than memory
=====================

Rows are read in blocks. The features of a block are added to sums and discarded, so memory does not
grow with the number of rows.
"""

import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

import quadfeat as qf


def rows_of(n, seed=0):
    """A source of n rows that are never together in memory: any function that yields blocks."""

    def blocks():
        rng = np.random.default_rng(seed)  # every pass must see the same rows
        for _ in range(n // 10_000):
            X = rng.normal(size=(10_000, 6))
            yield X, np.sin(2 * X[:, 0]) * X[:, 1] + rng.normal(scale=0.1, size=10_000)

    return blocks


# %%
# Files work as well: ``model.fit("rows.parquet", "price")``. With ``checkpoint=`` a killed fit
# resumes where it stopped.

X_test, y_test = next(rows_of(10_000, seed=1)())
features = qf.HermiteMercer(qf.Gaussian(0.15), n_components=200)
counts, seconds, peaks, errors = [20_000, 60_000, 200_000], [], [], []
for n in counts:
    tracemalloc.start()
    start = time.perf_counter()
    model = qf.KernelRegressor(features, alpha=1e-2).fit(rows_of(n))
    seconds.append(time.perf_counter() - start)
    peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.stop()
    errors.append(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
for n, s, p in zip(counts, seconds, peaks, strict=True):
    print(f"{n:,} rows: {s:.1f} s, {p:.0f} MB")

# %%
# Time grows with the rows, memory does not. The features of all rows would take rows x columns x 8
# bytes.

figure, (left, right) = plt.subplots(1, 2)
left.plot(counts, peaks, "o-", color="#0b3c5d", label="what the fit held at most")
matrix = [n * model.features_.n_columns_ * 8 / 2**20 for n in counts]
left.plot(counts, matrix, ":", color="#777777", label="features, if they were kept")
left.set(xlabel="rows", ylabel="MB", title="Memory", ylim=(0, None))
left.legend()
right.plot(counts, seconds, "s-", color="#b3541e")
right.set(xlabel="rows", ylabel="seconds", title="Time of the fit", ylim=(0, None))
for ax in (left, right):
    ax.set_xticks(counts, [f"{n // 1000}k" for n in counts])

# %%
# **When this fails:** sums have columns x columns numbers, so 10,000 columns need 0.8 GB for them,
# and time grows with the square of the columns. Kernel and map are chosen on a sample of rows,
# which may miss a rare kind of row.
