"""
On a cluster
============

Partitions stay where they are; workers send only sums. The result is the same to the last bit,
however many workers there are.
"""

import logging
import time

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

import quadfeat as qf

rng = np.random.default_rng(0)
X = rng.normal(size=(24_000, 5))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
lazy_X, lazy_y = da.from_array(X, chunks=(4000, 5)), da.from_array(y, chunks=4000)
features = qf.QuasiRandomFourier(qf.Gaussian(0.1), n_components=128, random_state=0)

# %%
# A cluster of one worker and of two, here in threads of this process. For a real cluster pass its
# address to ``Client(...)``.

models = {}
for workers in (1, 2):
    options = {"processes": False, "dashboard_address": None, "silence_logs": logging.ERROR}
    with Client(n_workers=workers, threads_per_worker=1, **options):
        start = time.perf_counter()
        models[workers] = qf.KernelRegressor(features, alpha=0.1).fit(lazy_X, lazy_y)
        print(f"{workers} workers: {time.perf_counter() - start:.2f} s")
assert np.array_equal(models[1].coef_, models[2].coef_)

# %%
# The same rows in one process: the blocks differ, so only the rounding differs.

alone = qf.KernelRegressor(features, alpha=0.1).fit(X, y)
difference = np.abs(alone.predict(X[:2000]) - models[2].predict(X[:2000]))
print(f"largest difference of predictions: {difference.max():.1e}")

figure, (left, right) = plt.subplots(1, 2)
left.plot(y[:2000], models[2].predict(X[:2000]), ".", color="#0b3c5d", markersize=3)
left.set(xlabel="y", ylabel="prediction", title="Fitted on two workers")
right.hist(np.log10(np.maximum(difference, 1e-17)), bins=30, color="#b3541e")
right.set(xlabel="log10 of the difference", ylabel="rows", title="Two workers or one process")

# %%
# **When this fails:** with small partitions sending takes as long as computing; give each some
# thousands of rows. Bits are equal only on machines of one kind, since instruction sets and builds
# of BLAS round differently. For Spark, Ray and other engines see :doc:`/cluster`.
