"""
A field from half a million stations
====================================

On up to three axes an equispaced grid is fitted by non-uniform FFTs: a row costs the same for a
hundred columns and for ten thousand. Needs ``pip install 'quadfeat[nufft]'``.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import quadfeat as qf


def field(X):
    """A smooth field with a steep front."""
    wave = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1])
    return wave + np.tanh(20 * (X[:, 1] - 0.5 - 0.2 * np.sin(6 * X[:, 0])))


rng = np.random.default_rng(0)
X = rng.uniform(size=(500_000, 2))
y = field(X) + 0.5 * rng.normal(size=len(X))

# %%
# The grid is built for a tolerance: it approximates the isotropic Matern kernel of length scale
# 0.14 with a certified error of at most a hundredth of k(0), over the box of all stations.

grid = qf.DenseGrid(qf.Matern(1.5, gamma=25.0), tol=1e-2)
start = time.perf_counter()
model = qf.KernelRegressor(grid, alpha=0.25).fit(X, y)
print(
    f"{time.perf_counter() - start:.1f} s, {model.features_.n_columns_:,} columns, {model.solver_}"
)
print(model.features_.certificate(box=[1.0, 1.0]))

# %%
# Predictions on a fine mesh are an FFT, too; standard deviations need a solve for each row.
#
# **When this fails:** from the fourth axis on a grid has too many nodes, and so has a rough kernel
# with a short length scale (Matern 1/2, a tenth of the box, two axes: a million columns for 1e-2).
# With a penalty far below the noise, conjugate gradients take thousands of steps; a warning says
# how far they got.

side = np.linspace(0, 1, 300)
mesh = np.stack([axis.ravel() for axis in np.meshgrid(side, side)], axis=1)
predicted = model.predict(mesh)
line = np.column_stack([np.full(40, 0.3), np.linspace(0, 1, 40)])
mean, deviation = model.predict(line, return_std=True)
error = np.sqrt(np.square(predicted - field(mesh)).mean())
bound = model.prediction_bound(mesh)
print(f"RMS error of the field {error:.3f}, of one station 0.5")
print(f"from the exact kernel's prediction: {bound.estimated:.2f} (estimated, not proven)")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.imshow(predicted.reshape(300, 300), origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r")
left.axvline(0.3, color="k", linewidth=0.8, linestyle="--")
left.grid(False)
left.set(title="the field", xlabel="x", ylabel="y")
right.plot(line[:, 1], field(line), color="k", linewidth=0.8, label="truth")
right.errorbar(line[:, 1], mean, 2 * deviation, fmt=".", label="prediction, two deviations")
right.set(title="along the dashed line", xlabel="y")
right.legend(frameon=False)
plt.show()
