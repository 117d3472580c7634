"""Maps that expand the kernel around the data: Hermite-Mercer eigenfunctions, and landmarks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from .. import _engine
from .._checks import check_columns, check_memory, generator, naming, require
from .._engine.gradients import mercer_gradient
from .._engine.plans import MercerBasis
from .._errors import NoCertificate
from .._typing import Floats, Matrix
from ..accuracy.axis_cells import ROUNDING
from ..accuracy.proof import Certificate
from ..accuracy.region import Region
from ..constructions import compression, landmarks, mercer
from ..constructions.landmarks import LandmarkBasis, PointDraw
from ..constructions.mercer import FittedFrames
from ..kernels.base import Kernel
from ..kernels.given import FunctionKernel, Precomputed
from .base import COLUMNS, FAR_ROUNDING, FeatureMap, warn_far


def compression_rows(p: int) -> int:
    """Rows that a compression to p columns is fitted on: 40 per column, 10,000 to 20,000."""
    return min(max(10_000, 40 * p), 20_000)


class ExpansionMap(FeatureMap):
    """An expansion around the data: k - z.z is positive semi-definite, so a residual bounds it.

    A row infinitely far from the data has features 0 and the residual k(0); no value of X is too
    large for `transform`.

    A final subclass has two steps: `_shared_fit`, the same with and without compression, and
    `_basis`, which builds the basis from it.
    """

    basis_: MercerBasis | LandmarkBasis
    _shared_fits: dict[type, Any] | None = None

    _most_columns = 2**16  # a fit takes minutes, as do 2**11 compressed columns
    _constraints = COLUMNS

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        compress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.compress = compress
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        if self.compress:
            maker = f"{type(self).__name__}(compress=True)"
            check_columns("n_components", self.n_components, 2**11, maker)

    @abstractmethod
    def _shared_fit(self, X: Matrix) -> Any:
        """The part of the fit that the compressed and the plain map share."""

    @abstractmethod
    def _basis(self, X: Matrix, shared: Any) -> MercerBasis | LandmarkBasis:
        """The basis of the requested number of columns."""

    def _build(self, X: Matrix) -> int:
        shared_fits = {} if self._shared_fits is None else self._shared_fits
        if type(self) not in shared_fits:
            shared_fits[type(self)] = self._shared_fit(X)
        self.basis_ = self._basis(X, shared_fits[type(self)])
        self.signs_ = np.ones(self.basis_.n_columns)
        return self.basis_.n_columns

    def _fit_sharing(self, X: Matrix, shared_fits: dict[type, Any]) -> Self:
        """`fit` on validated rows, reusing fits (on X or on more rows) that maps of a class share.

        The plain map can reuse points that `Landmarks(compress=True)` drew, but not the other way
        round.
        """
        self._shared_fits = shared_fits
        try:
            return self._fit_validated(X)
        finally:
            del self._shared_fits

    def residual(self, X: Any) -> Floats:
        """r(x) = k(x, x) - |z(x)|^2 for each row: 0 where the features are exact, (n,).

        |k(x, y) - z(x) . z(y)| <= sqrt(r(x) r(y)) for all rows; a row unlike the data of `fit` has
        a large residual.
        """
        parts = [self._missing(block) for block in self.transform_blocks(X)]
        return np.maximum(np.concatenate(parts), 0.0)

    def _missing(self, Z: Matrix) -> Floats:
        """k(0) - |z|^2 for rows of features."""
        return self._at_zero() - np.einsum("ij,ij->i", Z, Z, dtype=np.float64)

    def _rounding(self, Z: Matrix) -> Floats:
        """A bound of the rounding error in the residual, and so in the error, (n,)."""
        return np.full(len(Z), ROUNDING * self._at_zero())

    def _worst(self, X: Floats) -> float:
        """The largest residual of inner rows, with rounding, relative to k(0)."""
        largest = [
            float((np.maximum(self._missing(block), 0.0) + self._rounding(block)).max())
            for block in self._inner_blocks(X)
        ]
        return max(largest) / self._at_zero()

    def _at_zero(self) -> float:
        check_is_fitted(self)
        return self._kernel.at_zero(self._n_axes)

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
        if X is None:
            raise NoCertificate(
                f"{type(self).__name__} is certified on rows, certificate(X), not on a diameter or "
                f"a box; DenseGrid, SparseGrid(weights='signed') and PolynomiallyExact are"
            )
        return Certificate(self._worst(X), f"pairs of these {len(X)} rows", "sqrt(r(x) r(y))")

    def _largest_anywhere(self) -> float:
        # k - z.z and z.z are positive semi-definite, so the residual is between 0 and k(0), its
        # value where all features are 0.
        far_away = np.zeros((1, self.n_columns_))
        return 1.0 + float(self._rounding(far_away)[0]) / self._at_zero()

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return float(np.sqrt(self._worst(X) * self._worst(Y)))


class HermiteMercer(ExpansionMap):
    """The largest eigenfunctions of the Gaussian kernel under a Gaussian fitted to the data.

    Products of Hermite functions along principal directions (Fasshauer and McCourt, 2012), from the
    mean and covariance of the data, at one multiplication per feature. Among the eigenfunctions
    with the largest eigenvalues it takes those that are largest on rows of the data. On smooth data
    the error is 10 to 10,000 times smaller than that of random Fourier features. Not
    shift-invariant: rows far from the data have larger errors, and larger `residual`s. For tight
    clusters use `Landmarks`.

    Parameters
    ----------
    kernel : Gaussian or a sum over groups of Gaussian kernels, default Gaussian("scale")
    n_components : int, columns
    compress : bool
        Expand to four times the columns and project on the principal ones: smaller error on
        correlated or heavy-tailed data, at the cost of a product of 4 p x p per row. For p up to
        about 512.
    random_state : int, RandomState or None
        Draws the rows that `compress` is fitted on: 40 per column, 10,000 to 20,000.

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    basis_ : MercerBasis, the eigenfunctions
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one

    Examples
    --------
    >>> from quadfeat import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> features = HermiteMercer(Gaussian(0.5), n_components=100).fit(X)
    >>> bool(features.residual(X).mean() < 1e-3)
    True
    """

    basis_: MercerBasis

    def _shared_fit(self, X: Matrix) -> FittedFrames:
        return mercer.fit_frames(self._kernel, X)

    def _basis(self, X: Matrix, shared: FittedFrames) -> MercerBasis:
        width = 4 * self.n_components if self.compress else self.n_components
        basis = mercer.hermite_mercer(self._kernel, X, width, shared)
        if not self.compress or basis.n_columns <= self.n_components:
            return basis
        rows, most = X, compression_rows(self.n_components)
        if len(X) > most:
            drawn = generator(self.random_state).choice(len(X), most, replace=False)
            rows = X[np.sort(drawn)]
        return compression.compress(basis, rows, self.n_components)

    def _restored_columns(self) -> int:
        needed = 1 + max(int(expansion.axes.max()) for expansion in self.basis_.expansions)
        d = self._n_axes
        require(needed <= d, f"the basis looks at column {needed - 1} of {d}")
        return self.basis_.n_columns

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        # Rows and means are rounded, so differences of them are by this many length scales.
        scales = max(float(np.abs(each.mean) @ each.scale) for each in self.basis_.expansions)
        if scales * float(np.finfo(X.dtype).eps) > FAR_ROUNDING:
            warn_far(self._coordinates.name, X.dtype)
        _engine.mercer(X, self.basis_, out)

    def _differentiate(self, X: Matrix, coefficients: Floats, out: Matrix) -> None:
        mercer_gradient(X, self.basis_, coefficients, out)

    def _largest_factor(self) -> float:
        expansion, *others = self.basis_.expansions
        factors = (expansion.rotation, expansion.mixing, expansion.projection)
        sizes = [factor.size for factor in (*factors, self.basis_.projection) if factor is not None]
        return np.inf if others else max(sizes)


class Landmarks(ExpansionMap):
    """Nystroem features of well-chosen points, for every kernel.

    Points are drawn by randomly pivoted Cholesky and moved to the mean of the rows nearest to them:
    mostly 1.5 to 9 times less error than as many random rows, and up to 40 times if tails are
    heavy. Use it for clustered data. A row costs p kernel values and p^2 / 2 multiply-adds.

    Parameters
    ----------
    kernel : Kernel, a function, "precomputed", or None for Gaussian("scale")
        A function of two rows returns k(x, y), as for scikit-learn's `Nystroem`; it is called for
        every pair. "precomputed": X holds kernel values with the rows of the fit, (n, n) in `fit`,
        (m, n) in `transform`. Both have features, but no residual, error, certificate or gradient.
    n_components : int, columns; fewer if the data has fewer distinct rows
    points : array (m, d) or None
        Landmarks of your choice, m <= n_components or with `compress`; they are not moved.
    compress : bool
        Draw twice the points and project on the principal directions: less error, two to four
        times the cost.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    basis_ : LandmarkBasis, the points and the projection of kernel values with them
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = Landmarks(lambda x, y: (1 + x @ y) ** 2, points=X[:20]).fit(X)
    >>> bool(np.allclose(features.approximate_kernel(X), (1 + X @ X.T) ** 2))
    True
    """

    basis_: LandmarkBasis
    any_family = True

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_components: int = 256,
        points: Any = None,
        compress: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel, n_components=n_components, compress=compress, random_state=random_state
        )
        self.points = points

    def _chosen_kernel(self) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return Precomputed()
        if callable(self.kernel) and not isinstance(self.kernel, Kernel | type):
            return FunctionKernel(self.kernel)
        return super()._chosen_kernel()

    def _check(self) -> None:
        super()._check()
        if self.points is not None and isinstance(self._chosen_kernel(), Precomputed):
            raise ValueError(
                "points must be None with kernel='precomputed', whose landmarks are among the rows"
            )

    def _shared_fit(self, X: Matrix) -> PointDraw | None:
        if self.points is not None or isinstance(self._kernel, Precomputed):
            return None
        rng = generator(self.random_state)
        p = min(self.n_components, len(X))
        check_memory(24 * p**2, f"n_components={p:,} landmarks", "use fewer columns")
        return landmarks.draw(self._kernel, X, p, rng, compress=self.compress)

    def _basis(self, X: Matrix, shared: PointDraw | None) -> LandmarkBasis:
        p, compress = self.n_components, self.compress
        if shared is not None:
            return landmarks.landmarks_of(self._kernel, shared, p, compress=compress)
        if self.points is None:
            gram, rng = _checked_gram(X), generator(self.random_state)
            return landmarks.landmarks_among(gram, p, rng, compress=compress)
        given = _checked_points(self.points, self.n_features_in_)
        points = np.asarray(self._coordinates.rows(given), dtype=np.float64)
        if len(points) > p and not compress:
            raise ValueError(
                f"points has {len(points)} rows, more than n_components={p}; give "
                f"n_components={len(points)}, or compress=True to project them"
            )
        return landmarks.landmarks_at(self._kernel, X, points, p, compress=compress)

    def _restored_columns(self) -> int:
        same = self.basis_.points.shape[1] == self._n_axes
        require(same, "the landmarks have other columns")
        return self.basis_.n_columns

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        landmarks.evaluate(X, self._kernel, self.basis_, out)

    def _differentiate(self, X: Matrix, coefficients: Floats, out: Matrix) -> None:
        weights = self.basis_.projection @ coefficients
        out[:] = self._kernel.slope(X.astype(np.float64), self.basis_.points, weights)

    def _largest_factor(self) -> float:
        return max(self.basis_.points.size, self.basis_.projection.size)

    def _rounding(self, Z: Matrix) -> Floats:
        """A bound of the rounding in z = W' k(P, x), which is large if W is, with W' K W = 1.

        With c(x) = W z(x), and e_x = k(x, .) - sum_i c_i(x) k(P_i, .),

            k(x, y) - z(x) . z(y) = <e_x, e_y> + z(x) . g(y) + g(x) . z(y) - z(x)' F z(y)

        where g = W' k(P, x) - z is the rounding of m products, of length 4 u sqrt(m) k(0) |W| for
        u = eps / 2 (errors being independent; Higham and Mary, 2019), and F = W' K W - 1. W was
        computed for a K + E, with |E| = 2 eps m k(0), so the last term is at most |E| |c(x)|
        |c(y)|. <e_x, e_x> is the residual and these terms once more: twice each.
        """
        W, at_zero = self.basis_.projection, self._at_zero()
        eps, m = float(np.finfo(np.float64).eps), len(W)
        coefficients = Z @ W.T
        evaluated = 8 * eps * np.sqrt(m * at_zero) * float(np.linalg.norm(W))
        inverted = 4 * eps * m * np.einsum("ij,ij->i", coefficients, coefficients)
        return super()._rounding(Z) + at_zero * (evaluated + inverted)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def _checked_points(points: Any, d: int) -> Floats:
    """The landmarks given by the user, (m, d)."""
    with naming(f"points must be an array of finite numbers (m, {d}), such as X[:100]"):
        rows = check_array(points, dtype=np.float64)
    if rows.shape[1] != d:
        raise ValueError(
            f"points has {rows.shape[1]} columns and X has {d}; give points of shape (m, {d})"
        )
    return np.asarray(rows)


def _checked_gram(X: Matrix) -> Floats:
    """Kernel values of the rows of a fit with each other."""
    gram = np.asarray(X, dtype=np.float64)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f"kernel='precomputed' wants the kernel values of all rows with each other, X of shape "
            f"(n, n) such as kernel(X), got {gram.shape}"
        )
    if np.abs(gram - gram.T).max() > 1e-6 * np.abs(gram).max():
        raise ValueError(
            "kernel='precomputed' wants a symmetric X; its rows may be in another order than its "
            "columns"
        )
    return gram
