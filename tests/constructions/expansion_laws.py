"""Rows, and the law that every expansion around them keeps."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_swiss_roll

from quadfeat._engine import reference
from quadfeat.constructions import landmarks

EPS = np.finfo(float).eps


def features(X, basis):
    out = np.empty((len(X), basis.n_columns), dtype=X.dtype)
    reference.mercer(X, basis, out)
    return out


def landmark_features(X, kernel, basis):
    out = np.empty((len(X), basis.projection.shape[1]))
    landmarks.evaluate(X, kernel, basis, out)
    return out


def violations(kernel, X, Z, rounding=None):
    """How often |k - z.z| exceeds sqrt(r r), with r raised by the rounding of a sum to k(x, x)."""
    gram = kernel(X)
    rounding = 4 * (Z.shape[1] + 50) * EPS * gram[0, 0] if rounding is None else rounding
    residual = np.maximum(gram.diagonal() - np.einsum("ij,ij->i", Z, Z), 0) + rounding
    return int((np.abs(gram - Z @ Z.T) > np.sqrt(np.outer(residual, residual))).sum())


def landmark_rounding(basis):
    """What K^(-1/2) makes of the rounding of kernel values, relative to k(x, x)."""
    return 4 * EPS * len(basis.points) * np.linalg.norm(basis.projection, 2)


def standardised(X):
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


DATA = {
    "cancer": standardised(load_breast_cancer().data),
    "cancer5": standardised(load_breast_cancer().data[:, :5]),
    "digits": standardised(load_digits().data[:600]),
    "wine": standardised(load_wine().data),
    "roll": standardised(make_swiss_roll(600, random_state=0)[0]),
    "line": np.random.default_rng(0).normal(size=(500, 1)) * 3,
    "heavy": np.random.default_rng(0).standard_t(2, size=(500, 6)),
    "clusters": np.random.default_rng(0).normal(size=(500, 3)) * 0.01
    + np.repeat(np.random.default_rng(1).normal(size=(10, 3)) * 3, 50, axis=0),
}
