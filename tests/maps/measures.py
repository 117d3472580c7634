"""Data sets, and errors of maps on them."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs, make_swiss_roll
from sklearn.preprocessing import StandardScaler

SETS = {
    "swiss": lambda: make_swiss_roll(2000, random_state=0)[0],
    "cancer": lambda: load_breast_cancer().data[:, :5],
    "digits": lambda: load_digits().data[:, load_digits().data.std(axis=0) > 0],
    "clusters": lambda: make_blobs(2000, 10, centers=40, cluster_std=0.3, random_state=0)[0],
    "heavy": lambda: np.random.default_rng(0).standard_t(2, size=(2000, 8)),
}


def split(name):
    X = StandardScaler().fit_transform(SETS[name]())
    order = np.random.default_rng(1).permutation(len(X))
    held_out = min(400, len(X) // 3)
    return X[order[held_out:]], X[order[:held_out]]


def rms(features, X_test, kernel):
    exact = kernel(X_test)
    apart = ~np.eye(len(X_test), dtype=bool)
    return np.sqrt(np.mean((features.approximate_kernel(X_test) - exact)[apart] ** 2))


def typical_rms(Z, exact):
    apart = ~np.eye(len(Z), dtype=bool)
    return np.sqrt(np.mean((Z @ Z.T - exact)[apart] ** 2))
