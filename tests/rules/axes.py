"""One-dimensional kernels that the laws of rules are checked on."""

from math import gamma

import numpy as np

import quadfeat as qf

AXES = {
    "gaussian": qf.Gaussian(0.5),
    "cauchy": qf.Cauchy(1.0),
    "laplacian": qf.Laplacian(1.0),
    "matern": qf.Matern(1.5, 0.5, product=True),
    "smoothed": qf.Smoothed(qf.Laplacian(1.0), 0.5).axis(0),
    "spectral": qf.Spectral(lambda omega: np.exp(-(np.abs(omega) ** 3)) / (2 * gamma(4 / 3))).axis(
        0
    ),
    "product": (qf.Gaussian(0.1) * qf.Cauchy(0.2)).groups(1)[0].kernel.axis(0),
}
LIGHT = [name for name, axis in AXES.items() if np.isinf(axis.moments)]
