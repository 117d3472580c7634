"""The paper's theorems and corollaries as functions, and the rates it compares them with.

These bounds hold before any rule is built: error from degree or level, and samples D(eps) from an
error eps. Each docstring gives the conditions, the repairs of the printed proof, and where the
bound is vacuous.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, comb, e, exp, inf, lgamma, log, sqrt
from numbers import Real
from typing import NamedTuple

from scipy import optimize

from .._checks import check_count, check_flag, check_positive, check_share


def polynomially_exact(degree: int, *, subgaussian: float, diameter: float) -> float:
    """Theorem 1: 3 (e b^2 M^2 / R)^(R/2) bounds the error of a rule exact to an even degree R.

    Conditions: non-negative weights, a b-subgaussian spectrum, a region of diameter M. Vacuous
    (above 1) unless R > e b^2 M^2.

    The printed proof bounds E|w|^R by a lemma that is false for d > 4 (E|w|^2 = d b^2 > 4 b^2). The
    theorem survives, even with 2 for 3: u . w is a scalar, b|u|-subgaussian variable Z, and
    E Z^R / R! <= inf_t exp(b^2 |u|^2 t^2 / 2) t^-R = (e b^2 |u|^2 / R)^(R/2). Dao, De Sa, Re
    (2017).

    >>> round(polynomially_exact(14, subgaussian=1.0, diameter=2.0), 2)
    0.51
    """
    _check_spread(0.0, _FARTHEST, subgaussian=subgaussian, diameter=diameter)
    _check_even(degree)
    square = _square(subgaussian * diameter)
    return _exp(log(3) + degree / 2 * _log(e * square / degree))


def gauss_grid(n_points: int, *, subgaussian: float, diameter: float, normal: bool = True) -> float:
    """An a-priori bound of the tensor grid of `n_points`-point Gauss rules, in any dimension.

    (b M)^(2L) L! / (2L)! for a normal spectrum (`normal`), (e b^2 M^2 / 2L)^L for any b-subgaussian
    product spectrum. The Gauss remainder is f^(2L) / (2L)! times the squared norm of the monic
    orthogonal polynomial, which is at most E w^2L; errors of the axes add up, and
    sum_i |u_i|^2L <= M^2L. Vacuous unless 2L > e b^2 M^2 or so.
    """
    check_count("n_points", n_points, maximum=10**100)
    _check_spread(0.0, _FARTHEST, subgaussian=subgaussian, diameter=diameter)
    square = _square(subgaussian * diameter)
    if check_flag("normal", normal):
        log_ratio = lgamma(n_points + 1) - lgamma(2 * n_points + 1)
        return _exp(n_points * _log(square) + log_ratio)
    return _exp(n_points * _log(e * square / (2 * n_points)))


def sparse_grid(
    level: int, d: int, *, subgaussian: float, diameter: float, sharp: bool = False
) -> float:
    """The sparse-grid theorem: 2^d (12 e b^2 M^2 / A)^A bounds the error at total level A.

    Conditions: a b-subgaussian product spectrum, Gauss rules of 1, 2, 4, ... nodes, and
    A >= 24 e b^2 M^2: otherwise inf. Vacuous for all but tiny regions: A >= 66 for b M = 1.

    The printed proof steps from (e b^2 u^2)^(c-1) to (e b^2 u^2)^c, c = 2^(m-1), which needs
    e b^2 u^2 >= 1, and from 2c-1 to c, which needs the opposite. The claim of the step still holds:
    the Gauss remainder gives |k - G^L| <= (e b^2 u^2 / 2L)^L, and with |k - G| <= 2 the difference
    of two levels is at most 3 (e b^2 u^2 / 2c)^c for every u. `sharp` keeps that constant: 2^d (3 e
    b^2 M^2 / A)^A where A >= 6 e b^2 M^2. Dao, De Sa, Re (2017).
    """
    check_count("level", level, minimum=0, maximum=10**100)
    check_count("d", d, maximum=_MOST)
    _check_spread(0.0, _FARTHEST, subgaussian=subgaussian, diameter=diameter)
    constant = 3 if check_flag("sharp", sharp) else 12
    scale = constant * e * _square(subgaussian * diameter)
    if level < 1 or level < 2 * scale:
        return inf
    return _exp(d * log(2) + level * _log(scale / level))


def anova(degree: int, *, busiest: int, subgaussian: float, diameter: float) -> float:
    """The ANOVA theorem: 3 Delta (e b^2 M^2 / R)^(R/2), for the sum, whose k(0) is m.

    Delta (`busiest`) counts the subsets that share the busiest axis. Conditions as in Theorem 1,
    for each subset. The m errors grow like |u_S|^R <= |u_S|^2 M^(R-2), and the |u_S|^2 add up to
    at most Delta M^2, not m M^2. Divide by m for an error relative to k(0). Dao, De Sa, Re (2017).
    """
    check_count("busiest", busiest, maximum=_MOST)
    return busiest * polynomially_exact(degree, subgaussian=subgaussian, diameter=diameter)


class Complexity(NamedTuple):
    """Samples D that suffice for an error: `printed` by the formula at its best gamma, `counted` at
    the least degree or level that the theorem allows (even, or whole), which is `order`."""

    printed: float
    counted: float
    order: int
    gamma: float


def polynomially_exact_samples(
    eps: float, d: int, *, subgaussian: float, diameter: float, beta: float = 1.0
) -> Complexity:
    """D(eps) <= beta 2^d max(exp(e^(2 gamma + 1) b^2 M^2), (3 / eps)^(1 / gamma)), any gamma > 0.

    For rules that meet a degree R with beta C(d + R, d) nodes. The formula ignores that R is even;
    `counted` is beta C(d + R, d) at the least even R, which may be larger for R < 8.
    """
    _check_target(eps, d=d)
    check_positive("beta", beta)
    _check_spread(1 / _LARGEST, _LARGEST, subgaussian=subgaussian, diameter=diameter)
    square = _square(subgaussian * diameter)
    best = _best_gamma(lambda g: _exp(2 * g + 1) * square, log(3 / eps))
    R = _least_degree(eps, subgaussian, diameter)
    printed = _exp(log(beta) + d * log(2) + best.value)
    return Complexity(printed, beta * _comb(d + R, d), R, best.gamma)


def dense_grid_samples(eps: float, d: int, *, subgaussian: float, diameter: float) -> Complexity:
    """D(eps) <= max(exp(d e^(gamma d) e b^2 M^2 / 2), (3 / eps)^(1 / gamma)), any gamma > 0.

    `counted` is L^d with L = R/2 + 1 Gauss nodes per axis at the least even R.
    """
    _check_target(eps, d=d)
    _check_spread(1 / _LARGEST, _LARGEST, subgaussian=subgaussian, diameter=diameter)
    square = _square(subgaussian * diameter)
    best = _best_gamma(lambda g: d * _exp(g * d) * e * square / 2, log(3 / eps))
    R = _least_degree(eps, subgaussian, diameter)
    return Complexity(_exp(best.value), _exp(d * log(R / 2 + 1)), R, best.gamma)


def sparse_grid_samples(
    eps: float, d: int, *, subgaussian: float, diameter: float, sharp: bool = False
) -> Complexity:
    """D(eps) <= 2^d max(exp(24 e^(2 gamma + 1) b^2 M^2), 2^(d/gamma) eps^(-1/gamma)).

    Printed for any gamma > 0, but the theorem's A >= 24 e b^2 M^2 needs gamma >= log(2) / 2, so
    only those are searched. `counted` is 3^A C(d + A, A) at the least whole A; both exceed the
    number of nodes by far. `sharp` is that of `sparse_grid`.
    """
    _check_target(eps, d=d)
    _check_spread(1 / _LARGEST, _LARGEST, subgaussian=subgaussian, diameter=diameter)
    scale = (3 if check_flag("sharp", sharp) else 12) * e * _square(subgaussian * diameter)
    best = _best_gamma(lambda g: 2 * scale * _exp(2 * g), d * log(2) - log(eps), log(2) / 2)
    A = max(1, ceil(2 * scale))
    while sparse_grid(A, d, subgaussian=subgaussian, diameter=diameter, sharp=sharp) > eps:
        A += 1
    counted = _exp(A * log(3)) * _comb(d + A, A)
    return Complexity(_exp(d * log(2) + best.value), counted, A, best.gamma)


def anova_samples(
    eps: float,
    *,
    size: int,
    rank: int,
    busiest: int,
    subgaussian: float,
    diameter: float,
    beta: float = 1.0,
) -> Complexity:
    """D(eps) <= beta m 2^r max(exp(e^(2 gamma + 1) b^2 M^2), (3 Delta / eps)^(1 / gamma)).

    For an error eps of the sum of m (`size`) sub-kernels of at most r (`rank`) axes: linear in m.
    """
    _check_target(eps, size=size, rank=rank, busiest=busiest)
    check_positive("beta", beta)
    _check_spread(1 / _LARGEST, _LARGEST, subgaussian=subgaussian, diameter=diameter)
    square = _square(subgaussian * diameter)
    best = _best_gamma(lambda g: _exp(2 * g + 1) * square, log(3 * busiest / eps))
    R = _least_degree(eps / busiest, subgaussian, diameter)
    printed = _exp(log(beta * size) + rank * log(2) + best.value)
    return Complexity(printed, size * beta * _comb(rank + R, rank), R, best.gamma)


def random_fourier_samples(
    eps: float, d: int, *, second_moment: float, diameter: float, failure: float = 0.05
) -> float:
    """Random Fourier features: D = O(d eps^-2 log(1 / eps)) except with probability `failure`.

    P(sup error >= eps) <= c (s M / eps)^p exp(-D eps^2 / (4 (d + 2))), p = 2d / (d + 2),
    c = 2^((9d + 4) / (d + 2)) < 2^9, s^2 = E|w|^2 (`second_moment`; d b^2 when normal). Any
    spectrum with a second moment; D counts frequencies. Vacuous where D eps^2 is below
    4 (d + 2) log(c (s M / eps)^p).

    Rahimi and Recht (2007), claim 1, print 2^8 and p = 2. Their proof assumes that the gradient of
    k~ at the worst u, which depends on the draw, is unbiased; this one does not.
    """
    _check_target(eps, d=d)
    _check_spread(_SQUARABLE, eps=eps)
    _check_spread(0.0, _LARGEST, second_moment=second_moment, diameter=diameter)
    _check_failure(failure)
    # |k~ - k| is at most eps where it is below eps / 2 at the centres of (4M / r)^d balls of
    # radius r that cover |u| <= M (Hoeffding: each fails with probability 2 exp(-D eps^2 / 8)), and
    # its gradient below eps / 2r. That is at most mean|w_i| + E|w| for all u at once, whose mean
    # square is at most 4 s^2 (Markov: fails with probability 16 s^2 r^2 / eps^2). The r at which
    # both are equal gives the bound; an r beyond 2M would make it exceed what M in place of r, and
    # no centre but 0, gives.
    power, constant = 2 * d / (d + 2), (9 * d + 4) / (d + 2)
    odds = constant * log(2) + power * _log(sqrt(second_moment) * diameter / eps) - log(failure)
    return max(1.0, _ceil(4 * (d + 2) / eps**2 * max(0.0, odds)))


def random_fourier_rate(
    eps: float, d: int, *, second_moment: float, diameter: float, failure: float = 0.05
) -> float:
    """Random Fourier features at the optimal rate D = O(eps^-2): Sriperumbudur and Szabo (2015).

    With probability 1 - `failure` the sup error is at most (h + sqrt(2 log(1 / failure))) /
    sqrt(D), h = 32 sqrt(2d log(2M + 1)) + 32 sqrt(2d log(s + 1)) + 16 sqrt(2d / log(2M + 1)): the
    constants of their theorem 1, cited and not derived here. The deviation term is McDiarmid's:
    one frequency moves the sup by at most 2 / D. Loses to `random_fourier_samples` for every eps
    of interest; vacuous for D < 1e4 d.
    """
    _check_target(eps, d=d)
    _check_spread(_SQUARABLE, eps=eps)
    _check_spread(0.0, _LARGEST, second_moment=second_moment, diameter=diameter)
    _check_failure(failure)
    spread = log(2 * diameter + 1)
    if spread == 0:
        return inf  # the constants are not for a single point
    h = 32 * sqrt(2 * d * spread) + 32 * sqrt(2 * d * log(sqrt(second_moment) + 1))
    h += 16 * sqrt(2 * d / spread)
    return _ceil(((h + sqrt(2 * log(1 / failure))) / eps) ** 2)


def anova_random_samples(
    eps: float,
    *,
    size: int,
    rank: int,
    second_moment: float,
    diameter: float,
    failure: float = 0.05,
) -> float:
    """Random features per sub-kernel, each to eps / m: r m^3 eps^-2 in all, up to logarithms."""
    _check_target(eps, size=size, rank=rank)
    _check_failure(failure)
    each = random_fourier_samples(
        eps / size, rank, second_moment=second_moment, diameter=diameter, failure=failure / size
    )
    return size * each


def quasi_monte_carlo_samples(eps: float, d: int) -> float:
    """The D at which log(D)^d / D, the rate of Yang et al. (2014), has fallen to eps.

    As Dao, De Sa, Re (2017) quote it: a rate, not a bound, so its constant is set to 1. (In Koksma
    and Hlawka's bound it is the variation of the integrand, which for cosines over all frequencies
    is infinite; Yang et al. bound an average over a box of u instead.) It rises until D = e^d, so
    it says nothing before.
    """
    _check_target(eps, d=d)
    low = float(d)
    if d * log(low) - low <= log(eps):
        return exp(low)
    high = low
    while d * log(high) - high > log(eps):
        high *= 2
    root = optimize.brentq(lambda x: d * log(x) - x - log(eps), low, high)
    return _ceil(_exp(root))


class _Best(NamedTuple):
    gamma: float
    value: float


def _best_gamma(rising: Callable[[float], float], falling: float, least: float = 0.0) -> _Best:
    """The gamma that minimises max(rising(gamma), falling / gamma), and that minimum (a log)."""
    if falling <= 0:
        return _Best(least, rising(least))
    low, high = max(least, 1e-9), max(1.0, 2 * least)
    if rising(low) >= falling / low:
        return _Best(low, rising(low))
    while rising(high) < falling / high:
        high *= 2
    gamma = float(optimize.brentq(lambda g: min(rising(g), 1e300) - falling / g, low, high))
    return _Best(gamma, max(rising(gamma), falling / gamma))


def _least_degree(eps: float, subgaussian: float, diameter: float) -> int:
    """The least even R at which Theorem 1 promises eps."""

    def fails(half: int) -> bool:
        bound = polynomially_exact(2 * half, subgaussian=subgaussian, diameter=diameter)
        return bound > eps

    # The bound rises up to R = b^2 M^2 and falls from there on.
    low = max(1, int(min(_square(subgaussian * diameter), 1e300)) // 2)
    if not fails(1):
        return 2
    high = 2 * low
    while fails(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return 2 * high


# Beyond these, powers of numbers in the formulas leave the range of doubles.
_LARGEST, _FARTHEST, _MOST = 1e50, 1e150, 10**6
_TINIEST, _SQUARABLE = 1e-306, 1e-150


def _check_spread(least: float, most: float = _LARGEST, **numbers: float) -> None:
    """Check that each is a number from `least` to `most`."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number such as 1.0, got {value!r}")
        if not least <= value <= most:
            raise ValueError(
                f"{name} must be a number from {least:g} to {most:g}, such as 1.0, got {value!r}"
            )


def _check_target(eps: float, **counts: int) -> None:
    check_positive("eps", eps, example="0.01")
    _check_spread(_TINIEST, eps=eps)
    for name, value in counts.items():
        check_count(name, value, maximum=_MOST)


def _check_failure(failure: float) -> None:
    check_share("failure", failure, example="0.05")
    _check_spread(1 / _LARGEST, failure=failure)


def _check_even(degree: int) -> None:
    check_count("degree", degree, minimum=0, maximum=10**100, example=2)
    if degree < 2 or degree % 2:
        raise ValueError(
            f"degree must be even and at least 2, got {degree}; a rule exact to an odd degree is "
            f"exact to {max(2, degree - 1)}"
        )


def _comb(n: int, k: int) -> float:
    return (
        _exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) if n > 1000 else float(comb(n, k))
    )


def _exp(x: float) -> float:
    return exp(x) if x < 709 else inf


def _ceil(x: float) -> float:
    return ceil(x) if x < inf else inf


def _square(x: float) -> float:
    return x * x  # infinite where x**2 would be an OverflowError


def _log(x: float) -> float:
    return log(x) if x > 0 else -inf
