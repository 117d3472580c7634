"""The laws that every kernel must satisfy; run them on a kernel that you wrote."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ._checks import check_count, check_seed
from ._typing import Floats
from .kernels.base import Kernel
from .kernels.composite import ProductAxis
from .numerics.cosine_transform import CosineTransform


def check_kernel(kernel: Kernel, *, n_features: int = 2, random_state: int = 0) -> None:
    """Raise an AssertionError that names the law if `kernel` breaks one that quadfeat relies on.

    The Gram matrix is symmetric, positive semi-definite, shift-invariant and has k(0) on its
    diagonal; samples of the spectrum average to the kernel (within 5 standard errors); where the
    kernel factors over axes, density and profile are a Fourier pair on each.

    Parameters
    ----------
    kernel : Kernel
    n_features : int
        The number of columns to test on; try more than one.
    random_state : int

    Examples
    --------
    >>> import quadfeat as qf
    >>> check_kernel(qf.Gaussian(0.3), n_features=3)
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel such as Gaussian(0.5), got {kernel!r}")
    check_count("n_features", n_features, maximum=1000, example=2)
    check_seed("random_state", random_state)
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(40, n_features))
    resolved = clone(kernel).resolve(X)
    _check_gram(resolved, X, rng)
    _check_samples(resolved, n_features, rng)
    for group in resolved.groups(n_features):
        _check_axes(group.kernel, len(group.axes))


def _check_gram(kernel: Kernel, X: Floats, rng: np.random.Generator) -> None:
    gram, at_zero = kernel(X), kernel.at_zero(X.shape[1])
    rounding = 1e-10 * at_zero
    assert np.isfinite(gram).all(), "the Gram matrix has entries that are not finite"
    assert np.abs(gram - gram.T).max() <= rounding, "the Gram matrix is not symmetric"
    assert np.abs(np.diag(gram) - at_zero).max() <= rounding, "the diagonal is not k(0)"
    lowest = float(np.linalg.eigvalsh(gram).min())
    assert lowest >= -1e-9 * at_zero * len(X), f"the Gram matrix has the eigenvalue {lowest:g}"
    moved = kernel(X + rng.normal(size=X.shape[1]))
    assert np.abs(moved - gram).max() <= 1e-8 * at_zero, "the kernel is not shift-invariant"
    pairs = kernel.at(X[:20] - X[20:])
    assert np.abs(pairs - np.diag(gram[:20, 20:])).max() <= 1e-9 * at_zero, "at() is not the Gram"


def _check_samples(kernel: Kernel, d: int, rng: np.random.Generator) -> None:
    gaps = rng.normal(size=(6, d))
    cosines = np.cos(kernel.sample(100_000, d, rng) @ gaps.T)
    exact = kernel.at(gaps) / kernel.at_zero(d)
    errors = np.abs(cosines.mean(axis=0) - exact) * np.sqrt(len(cosines)) / cosines.std(axis=0)
    worst = float(errors.max())
    assert worst < 5, f"samples of the spectrum miss the kernel by {worst:.1f} standard errors"


def _check_axes(kernel: Kernel, d: int) -> None:
    try:
        axes = [kernel.axis(i) for i in range(d)]
    except ValueError:  # broad: a user's kernel need not raise our NotSeparable
        return
    gap = np.linspace(0.0, 4.0, 9)
    for axis in axes:
        if isinstance(axis, ProductAxis):
            continue  # its density is the transform of its profile, by definition
        error = np.abs(CosineTransform(axis.density, axis.edges)(gap) - axis.profile(gap)).max()
        assert error < 1e-7, f"density is not the spectrum of profile: they differ by {error:g}"
