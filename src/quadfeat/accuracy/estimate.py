"""Estimates: errors on random pairs of rows, with upper confidence limits for their population.

Limits of the RMS are empirical Bernstein bounds (Maurer and Pontil, 2009), those of quantiles are
order statistics by the binomial law, those of shares Clopper and Pearson's (1934).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite, log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from .._checks import check_share
from .._display.html import card, note, number, table
from .._typing import Axes

NEW_ROWS = "pairs of new rows like these"


class Pairs(NamedTuple):
    """Rows `left[i]` and `right[i]` are pair i; `population` says what they are a sample of."""

    left: Axes
    right: Axes
    population: str


def draw_pairs(n_rows: int, n_pairs: int, rng: np.random.Generator) -> Pairs:
    """Pairs of different rows that are independent, so that limits hold for their population.

    Up to n_rows // 2 pairs share no row: if rows are independent draws then so are the pairs, and
    limits hold for new rows. More pairs than that are drawn with replacement from all pairs of
    these rows, and limits hold for these rows only.
    """
    if n_rows < 2:
        raise ValueError(f"pairs need at least two rows, got {n_rows}")
    if 2 * n_pairs <= n_rows:
        order = rng.permutation(n_rows)
        return Pairs(order[:n_pairs], order[n_pairs : 2 * n_pairs], NEW_ROWS)
    left = rng.integers(n_rows, size=n_pairs)
    right = (left + rng.integers(1, n_rows, size=n_pairs)) % n_rows
    return Pairs(left, right, f"pairs of these {n_rows} rows")


@dataclass(frozen=True)
class Estimate:
    """Errors of random pairs, relative to k(0), with upper limits, each at the same confidence.

    `rms_limit` and `quantile_limits` hold for the population. At most a share `beyond` of it has an
    error above `largest`. No error is above `bound`, which is proven and used for `rms_limit`.
    """

    rms: float
    rms_limit: float
    largest: float
    beyond: float
    bound: float
    quantiles: dict[float, float] = field(hash=False)
    quantile_limits: dict[float, float] = field(hash=False)
    n_pairs: int
    confidence: float
    population: str

    def __repr__(self) -> str:
        lines = [
            f"Estimate from {self.n_pairs} {self.population}, limits at "
            + f"{100 * self.confidence:g}% confidence each:",
            f"  RMS           {self.rms:.3g}, at most {self.rms_limit:.3g}",
        ]
        lines += [
            f"  {100 * q:<6g}%       {value:.3g}, at most {self.quantile_limits[q]:.3g}"
            for q, value in self.quantiles.items()
        ]
        lines.append(
            f"  largest seen  {self.largest:.3g}, exceeded by at most {self.beyond:.2g} of pairs, "
            + (f"never above {self.bound:.3g}" if isfinite(self.bound) else "without a bound")
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [("RMS", number(self.rms), number(self.rms_limit))]
        rows += [
            (f"{100 * q:g}% of pairs", number(value), number(self.quantile_limits[q]))
            for q, value in self.quantiles.items()
        ]
        bound = number(self.bound) if isfinite(self.bound) else "not known"
        rows.append(("largest", number(self.largest), bound))
        head = ("kernel error, relative to k(0)", "seen", "at most")
        return card(
            f"Estimate from {self.n_pairs:,} {self.population}",
            table(head, rows, numbers=(1, 2)),
            note(
                f"Limits hold with {100 * self.confidence:g}% confidence each, that of the largest "
                f"always; at most {self.beyond:.2g} of pairs err by more than the largest seen."
            ),
        )


def estimate(
    errors: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    bound: float = 2.0,
    quantiles: Sequence[float] = (0.5, 0.9, 0.99, 0.999),
    population: str = "independent pairs",
) -> Estimate:
    """RMS, quantiles and largest of errors of independent pairs, with upper confidence limits.

    Parameters
    ----------
    errors : array (n,), k - k~ of each pair over k(0); signs do not matter
    confidence : float, of each limit on its own
    bound : float
        A proven bound of |error| over the whole population, not only over the pairs drawn: a
        certificate, or sqrt(r(x) r(y)); infinite if none is known. The default 2 holds for any
        rows and any map with non-negative weights of mass 1, but its square alone hides an RMS
        below 1e-2.
    quantiles : shares of pairs
    population : str, what the pairs were drawn from; see `draw_pairs`

    Notes
    -----
    RMS: the empirical Bernstein bound of the mean square, mean + sqrt(2 V log(2/c) / n) +
    7 log(2/c) bound^2 / (3 (n - 1)), c = 1 - confidence, V the unbiased sample variance (Maurer
    and Pontil, 2009, theorem 4, for squares in [0, bound^2]).
    Quantiles: the order statistic whose rank a binomial variable exceeds with probability at most
    c; no bound is needed. If n is too small they are vacuous (`bound`).
    """
    size = np.sort(np.abs(np.asarray(errors, dtype=np.float64).ravel()))
    n, risk = len(size), 1.0 - confidence
    if n < 2 or not np.isfinite(size).all():
        raise ValueError(f"errors must be at least 2 finite numbers, got {n}")
    check_share("confidence", confidence, example="0.95")
    if not size[-1] <= bound * (1 + 1e-12):
        raise ValueError(f"an error of {size[-1]:.3g} exceeds bound={bound:.3g}, which is none")
    square = size**2
    mean, spread = float(square.mean()), float(square.var(ddof=1))
    term = log(2 / risk)
    limit = mean + sqrt(2 * spread * term / n) + 7 * term * bound**2 / (3 * (n - 1))
    ranks = stats.binom.ppf(confidence, n, list(quantiles)).astype(int)
    return Estimate(
        rms=sqrt(mean),
        rms_limit=min(sqrt(limit), bound),
        largest=float(size[-1]),
        beyond=1.0 - risk ** (1 / n),
        bound=float(bound),
        quantiles={q: float(size[min(n - 1, ceil(q * n) - 1)]) for q in quantiles},
        quantile_limits={
            q: float(size[rank]) if rank < n else bound
            for q, rank in zip(quantiles, ranks.tolist(), strict=True)
        },
        n_pairs=n,
        confidence=confidence,
        population=population,
    )


def share_beyond(errors: npt.ArrayLike, tol: float, *, confidence: float = 0.95) -> float:
    """An upper limit of the share of pairs that err by more than `tol` (Clopper and Pearson, 1934).

    >>> round(share_beyond(np.zeros(3000), 1e-3), 4)  # none seen: the rule of three
    0.001
    """
    beyond = np.abs(np.asarray(errors, dtype=np.float64)) > tol
    n, count = beyond.size, int(beyond.sum())
    return 1.0 if count == n else float(stats.beta.ppf(confidence, count + 1, n - count))
