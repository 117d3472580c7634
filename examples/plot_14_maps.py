"""
All maps on one picture
=======================

Which map has the smallest error for the same number of columns? Here for the Gaussian kernel on
digits, next to scikit-learn's ``RBFSampler`` and ``Nystroem``, measured on pairs of held-out rows.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, RBFSampler

import quadfeat as qf

X = load_digits().data / 16
train, test = X[:1000], X[1000:]
kernel = qf.Gaussian("median").resolve(train)
exact = kernel(test, test)
makers = {
    "RBFSampler": lambda p: RBFSampler(gamma=kernel.gamma, n_components=p, random_state=0),
    "Nystroem": lambda p: Nystroem(gamma=kernel.gamma, n_components=p, random_state=0),
    "OrthogonalFourier": lambda p: qf.OrthogonalFourier(kernel, n_components=p, random_state=0),
    "Landmarks": lambda p: qf.Landmarks(kernel, n_components=p, random_state=0),
    "HermiteMercer": lambda p: qf.HermiteMercer(kernel, n_components=p),
}

# %%
# The same question for every map: the RMS of k(x, y) - z(x) . z(y) over pairs of new rows.

records = []
for name, make in makers.items():
    for columns in (32, 64, 128, 256, 512):
        Z = make(columns).fit(train).transform(test)
        rms = np.sqrt(np.mean((Z @ Z.T - exact) ** 2))
        records.append({"map": name, "columns": columns, "rms": rms})
display = qf.CompareDisplay(records).plot()
at_256 = {record["map"]: record["rms"] for record in records if record["columns"] == 256}
print(f"{at_256['RBFSampler'] / at_256['HermiteMercer']:.0f} times less error at 256 columns")
assert at_256["RBFSampler"] > 20 * at_256["HermiteMercer"]

# %%
# ``KernelFeatures`` makes this comparison in its ``fit`` and keeps the winner.
#
# **When this fails:** the error of the kernel is not the error of the model. Once the kernel is
# right to a few percent, more accuracy rarely changes a prediction; the choice of the kernel then
# matters more.
