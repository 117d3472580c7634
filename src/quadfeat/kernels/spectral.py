"""Kernels given by a density: `Spectral` takes yours, and `Smoothed` damps that of a kernel."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from .._checks import check_positive
from .._errors import NoDensity
from .._typing import Axes, Floats, Subsets
from ..numerics import panels
from ..numerics.cosine_transform import CosineTransform
from ..numerics.panels import search
from ..rules.rule import Axis
from .base import Group, Kernel, Stored
from .composite import ProductAxis
from .metric import refuse_metric
from .stationary import Gaussian


class Spectral(Kernel):
    """The product kernel of a given spectrum: `density`, an even function of frequency.

    The kernel is its cosine transform, computed to about 1e-13. The density is searched for peaks;
    its mass over the real line must be 1, so a missed peak is noticed.

    Parameters
    ----------
    density : function of an array of frequencies
    peaks : sequence of float, default None
        Frequencies of narrow peaks. Needed only for peaks thousands of times narrower than their
        frequency; others are detected.

    Attributes
    ----------
    moments : float, inf; a Gauss rule still refuses a tail that is too heavy for it

    Examples
    --------
    >>> box = Spectral(lambda omega: 0.5 * (np.abs(omega) < 1))
    >>> box([[0.0]], [[np.pi]]).round(6) + 0.0  # sin(u) / u
    array([[0.]])
    """

    def __init__(self, density: Any, peaks: Any = None) -> None:
        self.density = density  # type: ignore[method-assign]
        self.peaks = peaks

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        resolved = type(self)(self.density, self.peaks)
        resolved._axis = self._searched()
        return resolved

    def axis(self, i: int) -> Axis:
        return getattr(self, "_axis", None) or self._searched()

    def _searched(self) -> SpectralAxis:
        return SpectralAxis(self.density, self.peaks)


class SpectralAxis(Kernel):
    """One axis of `Spectral`, with the panels that hold its mass."""

    def __init__(self, raw: Any, peaks: Any = None) -> None:
        self.raw = raw
        self.peaks = peaks
        if not callable(raw):
            raise TypeError(f"density must be a function of an array of frequencies, got {raw!r}")
        trial = self._raw(np.array([-1.25, 1.25, 0.0]))
        if abs(trial[0] - trial[1]) > 1e-12 * abs(trial[1]):
            raise ValueError(
                f"density must be even, got {trial[0]} at -1.25 and {trial[1]} at 1.25"
            )
        named = _check_peaks(peaks)
        ends = np.array([2.0**-60, 2.0**63])
        if np.any(self._raw(ends) * ends > panels.MASS_TOLERANCE):
            raise ValueError(
                "density must have a finite mass, but it grows near 0 or falls far out no faster "
                "than 1 / |omega|, or nearly so; 1 / (pi * (1 + omega**2)) would work"
            )
        spectrum = search(self._raw, named)
        panels.check_mass(spectrum.mass)
        self._mass, self.edges = spectrum.mass, spectrum.edges
        # A missed mass of m moves the kernel by up to 2 m.
        self.uncertainty = 2 * abs(spectrum.mass - 1) + spectrum.error
        self._transform = CosineTransform(self._raw, self.edges)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.raw, self.peaks)

    @property
    def noise(self) -> float:
        return 1e-11 + self.uncertainty

    def _raw(self, omega: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            try:
                values = np.asarray(self.raw(omega), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"density must be a function of an array of frequencies, and {self.raw!r} of "
                    f"one says: {error}"
                ) from error
        if values.shape != omega.shape or not np.all(values >= 0):
            seen = repr(values)
            if values.shape == omega.shape:
                first = np.argmin(values >= 0)
                seen = f"{values[first]} at {omega[first]:g}"
            raise ValueError(
                f"density must map an array of frequencies to as many non-negative numbers, "
                f"got {seen}"
            )
        return values

    def density(self, omega: Floats) -> Floats:
        return self._raw(omega) / self._mass

    def profile(self, gap: Floats) -> Floats:
        return self._transform(gap) / self._mass

    def profile_slope(self, gap: Floats) -> Floats:
        return self._transform.slope(gap) / self._mass


def _check_peaks(peaks: Any) -> list[float]:
    given = [] if peaks is None else peaks
    if isinstance(given, str) or not np.iterable(given):
        raise TypeError(f"peaks must be a list of frequencies such as [20.0], got {peaks!r}")
    numbers = list(given)
    if any(isinstance(p, bool) or not isinstance(p, Real) for p in numbers):
        raise TypeError(f"peaks must be a list of frequencies such as [20.0], got {peaks!r}")
    if not all(abs(p) < np.inf for p in numbers):
        raise ValueError(f"peaks must be finite frequencies such as [20.0], got {peaks!r}")
    return [abs(float(p)) for p in numbers if p]  # 0 is always a panel edge


class Smoothed(Kernel):
    """`kernel` convolved on every axis with a Gaussian of standard deviation `width`.

    The paper's way to make any product kernel subgaussian: the spectrum is multiplied by
    exp(-width^2 w^2 / 2) and scaled back to mass 1, so all moments and Gauss rules exist.
    `introduced_error` is the distance of the smoothed kernel from the original.

    Parameters
    ----------
    kernel : Kernel that factors over axes
    width : float, the standard deviation, in the units of X

    Attributes
    ----------
    moments : float, inf: every moment of the spectrum is finite
    """

    stored: ClassVar[Stored] = {"kernel": "kernel", "width": "positive"}

    def __init__(self, kernel: Kernel, width: float = 0.25) -> None:
        self.kernel = kernel
        self.width = width

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel such as Laplacian(1.0), got {self.kernel!r}")
        refuse_metric(self, self.kernel)
        width = check_positive("width", self.width, example="0.25")
        if not 1e-150 < width < 1e150:
            raise ValueError(f"width must be between 1e-150 and 1e150, got {width}; standardise X")
        return type(self)(self.kernel.resolve(X, subsets), width)

    def restrict(self, axes: Axes) -> Kernel:
        return Smoothed(self.kernel.restrict(axes), self.width)

    def axis(self, i: int) -> Axis:
        return SmoothedAxis(self.kernel.axis(i), self.width)

    def groups(self, d: int) -> list[Group]:
        inner = self.kernel.groups(d)
        if len(inner) == 1 and inner[0].kernel is self.kernel:
            return super().groups(d)
        return [Group(g.axes, Smoothed(g.kernel, self.width), g.weight) for g in inner]

    def subgaussian(self, d: int) -> float:
        # With g = N(0, 1 / width^2), E exp(t w) is exp(t^2 / (2 width^2)) times the ratio of f * g
        # at t / width^2 to f * g at 0. Where f falls with |w| so does f * g (Wintner, 1938), and
        # the ratio is at most 1; where f has two peaks it may be anything.
        if isinstance(self.kernel, Gaussian):
            return float(1 / np.hypot(1 / self.kernel.subgaussian(d), self.width))
        return 1.0 / self.width if self.kernel.unimodal else np.inf

    @property
    def unimodal(self) -> bool:
        return self.kernel.unimodal

    def introduced_error(self, diameter: float, d: int = 1) -> float:
        """The largest |kernel - smoothed| over gaps of up to `diameter` on each of `d` axes.

        The largest difference on a fine mesh of one axis, summed over axes: errors of a product at
        most add up.
        """
        gap = np.linspace(0.0, check_positive("diameter", diameter), 2001)
        per_axis = [
            np.abs(self.axis(i).profile(gap) - self.kernel.axis(i).profile(gap)).max()
            for i in range(d)
        ]
        return float(min(1.0, sum(per_axis)))


_GONE = 38.7  # exp(-w^2 / 2) is 0 in doubles
_LEAST = 1e-4  # least remaining mass of a spectrum: an error of 1e-16 is then 1e-12 relative to it


class SmoothedAxis(Kernel):
    """One axis of `Smoothed`."""

    def __init__(self, base: Axis, width: float) -> None:
        self.base = base
        self.width = width
        if isinstance(base, Kernel) and not (base.unimodal or isinstance(base, ProductAxis)):
            # The damped spectrum may have any mass; the whole one must have mass 1.
            whole = CosineTransform(base.density, base.edges)(np.zeros(1))
            panels.check_mass(float(whole[0]))
        # exp(-width^2 w^2 / 2) is 0 beyond: octaves up to there hold all of the mass.
        octaves = _GONE / width * 2.0 ** -np.arange(40.0)
        self.edges = np.union1d(base.edges[base.edges < octaves[0]], np.append(octaves, 0.0))
        self._transform = CosineTransform(self._damped, self.edges)
        self._mass = float(self._transform(np.zeros(1))[0])
        if isinstance(base, ProductAxis) and self._mass < _LEAST:
            raise NoDensity(
                f"width={width} leaves {self._mass:.2g} of the spectrum of a product, which is "
                f"known to rounding only; use a smaller width, or smooth its factors"
            )

    @property
    def noise(self) -> float:
        return 1e-11

    def _damped(self, omega: Floats) -> Floats:
        return self.base.density(omega) * np.exp(-((self.width * omega) ** 2) / 2)

    def density(self, omega: Floats) -> Floats:
        return self._damped(omega) / self._mass

    def profile(self, gap: Floats) -> Floats:
        return self._transform(gap) / self._mass

    def profile_slope(self, gap: Floats) -> Floats:
        return self._transform.slope(gap) / self._mass
