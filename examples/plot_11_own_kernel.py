"""
Your own kernel
===============

A kernel is two functions of one axis: its profile and the density of its spectrum. Rules, grids,
samples, certificates and models follow, and ``check_kernel`` tests that the two functions match.
"""

import matplotlib.pyplot as plt
import numpy as np

import quadfeat as qf
from quadfeat.testing import check_kernel


class Periodic(qf.Kernel):
    """Smooth and wavy: exp(-u² / 2 s²) cos(f u), a bump of frequencies around f."""

    def __init__(self, frequency=3.0, scale=1.5):
        self.frequency = frequency
        self.scale = scale

    def profile(self, gap):
        return np.exp(-0.5 * (gap / self.scale) ** 2) * np.cos(self.frequency * gap)

    def density(self, omega):
        def bump(centre):
            return np.exp(-0.5 * (self.scale * (omega - centre)) ** 2)

        return self.scale / np.sqrt(8 * np.pi) * (bump(self.frequency) + bump(-self.frequency))


check_kernel(Periodic(), n_features=2)

# %%
# The density alone is enough to compute a Gauss rule for this spectrum.

X = np.linspace(-4, 4, 400)[:, None]
features = qf.DenseGrid(Periodic(), n_points=14).fit(X)
print(features.certificate(X))
rng = np.random.default_rng(0)
rows = rng.uniform(-4, 4, size=(60, 1))
y = np.cos(3.2 * rows[:, 0]) + rng.normal(scale=0.2, size=60)
model = qf.KernelRegressor(qf.DenseGrid(Periodic(), n_points=24)).fit(rows, y)
smooth = qf.KernelRegressor(qf.DenseGrid(qf.Gaussian(0.05), n_points=24)).fit(rows, y)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(8.4, 3.2))
left.plot(X, Periodic().profile(X), color="#0b3c5d")
left.set(title="Kernel", xlabel="gap")
omega = np.linspace(-6, 6, 400)
middle.plot(omega, Periodic().density(omega), color="#0b3c5d")
middle.vlines(features.rule_.nodes[:, 0], 0, features.rule_.weights, color="#b3541e")
middle.set(title="Spectrum, and a rule", xlabel="frequency")
right.plot(rows, y, ".", color="#777777")
right.plot(X, model.predict(X), color="#0b3c5d", label="wavy")
right.plot(X, smooth.predict(X), "--", color="#b3541e", label="Gaussian")
right.set(title="Two models", xlabel="x", ylim=(-1.6, 2.6))
right.legend(loc="upper center")

# %%
# **When this fails:** a density with heavy tails has no Gauss rule (``Smoothed`` gives it one), and
# a kernel that does not factor over columns has no grid. ``Landmarks`` takes any function of two
# rows.
