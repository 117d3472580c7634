"""
Regression with error bars
==========================

``predict(X, return_std=True)`` says how sure the model is of its curve. Add the variance of the
noise to see how far a new observation may lie from it.
"""

import matplotlib.pyplot as plt
import numpy as np

import quadfeat as qf

rng = np.random.default_rng(0)


def truth(x):
    return np.sin(2 * x) + 0.3 * x


x = np.concatenate([rng.uniform(-3, 0.5, 160), rng.uniform(2, 3, 40)])  # a gap between 0.5 and 2
y = truth(x) + rng.normal(scale=0.3, size=200)
model = qf.KernelRegressor(qf.DenseGrid(qf.Gaussian("tuned"), n_points=40)).fit(x[:, None], y)

# %%
# Two bands: for the curve, and for an observation.

grid = np.linspace(-3, 3, 300)
mean, std = model.predict(grid[:, None], return_std=True)
observation = np.sqrt(std**2 + model.noise_)

figure, ax = plt.subplots()
ax.fill_between(grid, mean - 1.96 * observation, mean + 1.96 * observation, color="#dfe7ee")
ax.fill_between(grid, mean - 1.96 * std, mean + 1.96 * std, color="#9db8cc")
ax.plot(x, y, ".", color="#777777", markersize=3)
ax.plot(grid, truth(grid), "--", color="#b3541e", label="truth")
ax.plot(grid, mean, color="#0b3c5d", label="model")
ax.set(xlabel="x", ylabel="y", title="95% bands of the curve and of observations")
ax.legend()

# %%
# Do 95% bands contain 95% of new observations? The share of 20,000:

new = rng.uniform(-3, 0.5, 20_000)
mean, std = model.predict(new[:, None], return_std=True)
inside = np.abs(truth(new) + rng.normal(scale=0.3, size=20_000) - mean) < 1.96 * np.sqrt(
    std**2 + model.noise_
)
print(f"{inside.mean():.3f}")
assert 0.92 < inside.mean() < 0.98

# %%
# **When this fails:** bands assume that the kernel and the noise are known, and that the noise is
# the same everywhere. A kernel that is too smooth gives narrow bands around a wrong curve. Beyond
# the data the band of a map with few columns does not grow as it should.
