"""The proven bound of a map: the certificate, and the error if nothing can be proven."""

from __future__ import annotations

from dataclasses import dataclass

from .._display.html import card, facts, number
from .._errors import NoCertificate
from .region import Region


@dataclass(frozen=True)
class Certificate:
    """A proof that |k - k~| <= value * k(0) for every gap in the region."""

    value: float
    region: Region | str
    method: str
    theorem1: float | None = None

    def __repr__(self) -> str:
        beside = "" if self.theorem1 is None else f"; Theorem 1: {self.theorem1:.3g}"
        return f"Certificate({self.value:.4g} for all {self.region}, by {self.method}{beside})"

    def _repr_html_(self) -> str:
        rows = [
            ("kernel error", f"at most {number(self.value)} of k(0)"),
            ("for all gaps", str(self.region)),
            ("by", self.method),
            ("Theorem 1 of the paper", self.theorem1),
        ]
        return card("Certificate: proven for every pair of rows", facts(rows))


def refuse_vacuous(value: float, d: int) -> None:
    """Raise an error that says what can be proven, if a bound is not below k(0)."""
    if not value < 1:
        raise NoCertificate(
            f"no certificate: nothing below k(0) can be proven for this map on {d} axes over this "
            f"region; a smaller region, or more nodes, may help. Certificates exist for DenseGrid, "
            f"SparseGrid(weights='signed'), PolynomiallyExact and any map over a small region, and "
            f"maps of up to 3 axes per group; for this map, error(X) gives an estimate with a "
            f"confidence"
        )
