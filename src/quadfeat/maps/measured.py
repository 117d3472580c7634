"""How wrong a map is: a proof over a region, and an estimate on pairs of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_share, generator, naming
from .._errors import NoCertificate
from .._rows import moved
from .._typing import Floats, Matrix
from ..accuracy import estimate
from ..accuracy.estimate import Estimate
from ..accuracy.proof import Certificate, refuse_vacuous
from ..accuracy.region import Region
from ..numerics.blas import on_one_thread
from .coordinates import Coordinates
from .pair_errors import Pairs, pair_errors

_MOST_PAIRS = 10**8  # each takes about 40 bytes


class Measured(ABC):
    """`certificate` and `error` of a map; subclasses prove their bound in `_certify`.

    A base class of `FeatureMap`, which defines the attributes and methods that are only declared
    here.
    """

    kernel_: Any
    _kernel: Any
    signs_: Floats
    n_features_in_: int
    _coordinates: Coordinates
    _origin: Floats | None

    @abstractmethod
    def dense_rows(self, X: Any) -> Floats:
        """X after the checks of `transform`, as a dense float64 array."""

    @abstractmethod
    def features_of(self, X: Any) -> Matrix:
        """The features of validated rows as a plain array."""

    @abstractmethod
    def _inner_blocks(self, X: Matrix) -> Iterator[Matrix]:
        """Features of rows that are moved and in the coordinates of the inner kernel."""

    @on_one_thread
    def certificate(
        self, X: Any = None, *, diameter: float | None = None, box: Any = None
    ) -> Certificate:
        """A proven bound of |k - k~| / k(0) for every pair of rows in a region.

        Parameters
        ----------
        X : array or CSR matrix, whose rows span the region; or
        diameter : float, the largest distance between rows
        box : one float per column, the largest gap on each axis

        Raises
        ------
        ValueError
            If no bound below k(0) can be proven; `error` gives an estimate.
        """
        check_is_fitted(self)
        if X is None:
            given = Region.of(d=self.n_features_in_, diameter=diameter, box=box)
            proven = self._certify(self._coordinates.region(given), None)
            proven = replace(proven, region=given)
        else:
            X = self.dense_rows(X)
            region = Region.of(self._coordinates.rows(X), diameter=diameter, box=box)
            proven = self._certify(region, self._inner_rows(X))
            if proven.region == region and self._coordinates.linear is not None:
                # Not the region of X: a box around the rows is not one around their images.
                proven = replace(proven, region=f"{region}, u = metric (x - y)")
        refuse_vacuous(proven.value, self._coordinates.n_axes)
        return proven

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
        """The proof over a region, or over rows, both in the coordinates of `_kernel`."""
        raise NoCertificate(
            f"nothing is proven about {type(self).__name__}; error(X) estimates, and DenseGrid and "
            f"HermiteMercer have certificates"
        )

    @on_one_thread
    def error(
        self,
        X: Any,
        Y: Any = None,
        n_pairs: int = 100_000,
        confidence: float = 0.95,
        *,
        random_state: Any = 0,
    ) -> Estimate:
        """An estimate of |k - k~| / k(0) from random pairs; give rows that `fit` did not see.

        RMS, quantiles and the largest error, each with an upper limit that holds with `confidence`
        for the population that the result names: pairs of new rows if there are at least twice as
        many rows as pairs, else pairs of these rows.

        Limits of quantiles are order statistics. The limit of the RMS also needs a proven bound of
        every error in the population, which the result has as `bound`. For pairs of these rows it
        is a certificate or a residual, often as small as the errors. New rows may be far from all
        of these: for them it is 1 for expansions, 1 + sum |weights| / k(0) for Fourier maps (2 if
        no weight is negative), and infinite for a user-defined map. So the limit of the RMS of n
        pairs of new rows is at least 2.9 bound / sqrt(n) at 95%.

        Parameters
        ----------
        X : array (n, d)
        Y : array (m, d) or None: pairs of a row of X and a row of Y, or of two rows of X
        n_pairs : int
        confidence : float
        random_state : int, RandomState or None, to draw the pairs
        """
        rng = generator(random_state)
        check_count("n_pairs", n_pairs, minimum=2, maximum=_MOST_PAIRS, example=100_000)
        check_share("confidence", confidence, example="0.95")
        X = self.dense_rows(X)
        if Y is None:
            return self._error_of_pairs(X, n_pairs, confidence, rng)
        with naming("Y"):
            Y = self.dense_rows(Y)
        return self._estimated(Pairs.between(X, Y, n_pairs, rng), confidence)

    def _error_of_pairs(
        self, X: Floats, n_pairs: int, confidence: float, rng: np.random.Generator
    ) -> Estimate:
        """`error` on pairs of validated float64 rows."""
        return self._estimated(Pairs.within(X, n_pairs, rng), confidence)

    def _estimated(self, pairs: Pairs, confidence: float) -> Estimate:
        errors = pair_errors(
            pairs,
            self.kernel_.at,
            self.kernel_.at_zero(self.n_features_in_),
            self.features_of,
            self.signs_,
        )
        if pairs.of_new_rows:
            bound = self._largest_anywhere()
        else:
            bound = self._largest_error(self._inner_rows(pairs.X), self._inner_rows(pairs.Y))
        return estimate.estimate(
            errors,
            confidence=confidence,
            bound=max(bound, float(np.abs(errors).max())),
            population=pairs.population,
        )

    def _inner_rows(self, X: Floats) -> Floats:
        """Rows moved by the origin, in the coordinates of `_kernel`."""
        return np.asarray(self._coordinates.rows(moved(X, self._origin, X.dtype)), np.float64)

    def _largest_anywhere(self) -> float:
        """A proven bound of the error, relative to k(0), on pairs of any rows at all."""
        return np.inf

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        """A proven bound of the error, relative to k(0), on pairs of a row of X and one of Y.

        Rows are moved, and in the coordinates of `_kernel`.
        """
        lengths = [
            max(float(np.square(Z).sum(axis=1).max()) for Z in self._inner_blocks(rows)) ** 0.5
            for rows in (X, Y)
        ]
        return 1.0 + lengths[0] * lengths[1] / self._kernel.at_zero(X.shape[1])
