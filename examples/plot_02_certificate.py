"""
A certificate: an error that no pair of rows exceeds
====================================================

Measuring a map on pairs of rows says something about these pairs only. A certificate is a proof for
*every* pair whose gap lies in a region, including rows that nobody has seen yet.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import quadfeat as qf

X = load_iris().data[:, [0, 2, 3]]
features = qf.DenseGrid(qf.Gaussian(0.3), n_points=8).fit(X)
certificate = features.certificate(X)
print(certificate)

# %%
# Each dot is a pair of rows, with the rule of 512 nodes. The line is the proof, which uses only the
# largest distance between rows, and the largest on each axis.

display = qf.ErrorDisplay.from_estimator(features, X)
display.ax_.set_ylim(bottom=1e-8)  # equal rows differ by rounding, far below

# %%
# Proof against observation for grids of 3 to 12 nodes per axis: the two fall together, so the proof
# is nearly tight.

nodes = np.arange(3, 13)
exact = features.kernel_(X, X)
promised, seen = [], []
for n in nodes:
    grid = qf.DenseGrid(qf.Gaussian(0.3), n_points=int(n)).fit(X)
    promised.append(grid.certificate(X).value)
    seen.append(np.abs(grid.approximate_kernel(X) - exact).max())
assert all(s <= p for s, p in zip(seen, promised, strict=True))

figure, ax = plt.subplots()
ax.semilogy(nodes, promised, "--", color="#777777", label="proven for all pairs")
ax.semilogy(nodes, seen, "o-", color="#0b3c5d", label="largest of 11,175 pairs")
ax.set(xlabel="nodes per axis", ylabel="error of the kernel", title="Proof and observation")
ax.legend()

# %%
# **When this fails:** a proof needs a full grid on few axes, or rows that are close to each other.
# For other maps there is an estimate with a confidence limit.

other = qf.Landmarks(qf.Gaussian(0.3), n_components=64, random_state=0).fit(X)
print(other.error(X, n_pairs=10_000))
