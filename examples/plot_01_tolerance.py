"""
How many columns for an error?
==============================

Set the error, and get as many columns as it takes. For certified grids the error is proven for
every pair of rows in the bounding box of the data, not only for pairs that were tried.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import quadfeat as qf

X = load_iris().data[:, [0, 2]]  # length of sepal and petal, in cm

# %%
# One number in, one map out. The report says what the number means.

tolerances = 10.0 ** -np.arange(1, 9)
maps = [qf.KernelFeatures(qf.Gaussian(0.5), tol=tol).fit(X) for tol in tolerances]
print(maps[3].report_.reason)

# %%
# The kernel is known, so we can compare the promised error with the true one.

exact = maps[0].kernel_(X, X)
seen = [np.abs(features.approximate_kernel(X) - exact).max() for features in maps]
columns = [features.n_columns_ for features in maps]
assert all(error <= tol for error, tol in zip(seen, tolerances, strict=True))

figure, (left, right) = plt.subplots(1, 2)
left.loglog(tolerances, columns, "o-", color="#0b3c5d", label="quadrature")
left.loglog(tolerances, 1 / tolerances**2, ":", color="#777777", label="random: order of 1 / tol²")
left.set(xlabel="tolerance", ylabel="columns", ylim=(10, 1e8), title="Price")
left.legend()
right.loglog(tolerances, tolerances, "--", color="#777777", label="promised")
right.loglog(tolerances, seen, "s-", color="#b3541e", label="largest error seen")
right.set(xlabel="tolerance", ylabel="error of the kernel", title="Promise")
right.legend()

# %%
# An eighth digit costs about as much as the first two: the error of a quadrature rule falls
# exponentially. **When this fails:** if the data have many columns that all matter, no map of
# affordable width is that accurate. ``fit`` then raises an error instead of returning a map that
# breaks its promise.

wide = np.random.default_rng(0).normal(size=(500, 20))
try:
    qf.KernelFeatures(qf.Gaussian(0.5), tol=1e-6, max_components=512).fit(wide)
except ValueError as error:
    print(error)
