"""
Rows unlike the training data
=============================

``HermiteMercer`` and ``Landmarks`` are accurate where the training rows were. Far away they are
wrong, and ``residual`` says where: it is the part of k(x, x) that the features have lost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import quadfeat as qf

X = StandardScaler().fit_transform(load_wine().data[:, :6])
train, usual = X[:120], X[120:]
kernel = qf.Gaussian("median")
maps = {
    "HermiteMercer": qf.HermiteMercer(kernel, n_components=128),
    "Landmarks": qf.Landmarks(kernel, n_components=100, random_state=0),
    "shift-invariant": qf.KernelFeatures(
        kernel, n_components=128, shift_invariant=True, random_state=0
    ),
}
for features in maps.values():
    features.fit(train)

# %%
# New rows of the same kind, moved away from the training rows step by step.

steps = np.linspace(0, 4, 9)
errors = {name: [] for name in maps}
residuals = []
for step in steps:
    rows = train + step
    exact = maps["Landmarks"].kernel_(rows, rows)
    for name, features in maps.items():
        gap = features.approximate_kernel(rows) - exact
        errors[name].append(np.sqrt(np.mean(gap**2)))
    residuals.append(maps["HermiteMercer"].residual(rows).mean())

figure, (left, right) = plt.subplots(1, 2)
for (name, values), line in zip(errors.items(), ("D-", ">--", "o:"), strict=True):
    left.semilogy(steps, values, line, label=name)
left.set(xlabel="rows moved by (deviations)", ylabel="RMS error of the kernel", title="Drift")
left.legend(loc="lower right")
right.plot(steps, residuals, "D-", color="#7b4b94")
right.set(xlabel="rows moved by (deviations)", ylabel="mean residual", title="What one can see")

# %%
# Moving all rows does not change the kernel, but the two expansions lose it; a residual near 1
# means that nothing of a row is left. You can monitor it without targets.

known = maps["HermiteMercer"].residual(usual)
moved = maps["HermiteMercer"].residual(usual + 3)
print(f"median residual {np.median(known):.2f}, of moved rows {np.median(moved):.2f}")
assert np.median(moved) > np.median(known)

# %%
# **When this fails:** a small residual means that the kernel is right there, not that the model is:
# it cannot see targets that have changed. The error of shift-invariant maps does not grow, but no
# model knows the targets where it had no rows.
