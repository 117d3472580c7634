"""Write `hermite.txt.xz`: Gauss rules of the standard normal to 40 digits.

One line `n i node weight` for each non-negative node, nodes rising, i from 0. The arithmetic is
mpmath's and shares nothing with quadfeat but double-precision starting values. Every rule must
pass `check` before it is written. One core needs about two minutes.

    python make_hermite_table.py
"""

import lzma
import math
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

SIZES = [*range(1, 301), 372, 500, 1000, 2000]
DIGITS = 40
TARGET = Path(__file__).with_name("hermite.txt.xz")

mp.dps = DIGITS + 25
TINY = mpf(10) ** -(DIGITS + 10)


def hermite(n: int, x: mpf) -> tuple[mpf, mpf]:
    """He_n(x) and He_{n-1}(x), monic: He_{k+1} = x He_k - k He_{k-1}."""
    previous, current = mpf(0), mpf(1)
    for k in range(n):
        previous, current = current, x * current - k * previous
    return current, previous


def node_and_weight(n: int, start: float) -> tuple[mpf, mpf, mpf]:
    """The root of He_n next to `start`, its weight, and the last Newton step."""
    x, step = mpf(start), mpf(1)
    while abs(step) > TINY:
        value, below = hermite(n, x)
        step = value / (n * below)
        # Halley's step, by Hermite's equation He'' = x He' - n He.
        x -= step / (1 - step * (x - n * step) / 2)
    # The weight is n! / He_n'(x)^2 and He_n' = n He_{n-1}, taken one `step` from the root.
    return x, mp.factorial(n) / (n * below) ** 2, abs(step)


def check(n: int, nodes: list[mpf], weights: list[mpf], steps: list[mpf]) -> None:
    """Raise unless these are all the non-negative nodes, with weights that match moments."""
    # A root lies within n |p / p'| of any point, so disjoint intervals hold different roots.
    # (n + 1) // 2 different ones that are >= 0, mirrored, are all n roots of He_n.
    radii = [n * step + TINY for step in steps]
    disjoint = all(
        a + r < b - s for a, b, r, s in zip(nodes, nodes[1:], radii, radii[1:], strict=False)
    )
    starts_right = nodes[0] == 0 if n % 2 else nodes[0] > radii[0]
    if not (len(nodes) == (n + 1) // 2 and disjoint and starts_right):
        raise ArithmeticError(f"n = {n}: a node is missing or doubled")
    # Degree 2n - 2 is the highest even one a Gauss rule integrates; it weighs the tail.
    for degree in sorted({0, 2 * (n // 2), 2 * n - 2}):
        terms = [w * x**degree * (1 if x == 0 else 2) for x, w in zip(nodes, weights, strict=True)]
        exact = mp.fac2(degree - 1)
        if abs(mp.fsum(terms) / exact - 1) > mpf(10) ** -(DIGITS + 2):
            raise ArithmeticError(f"n = {n}: moment {degree} is wrong")


def rule(n: int) -> list[tuple[mpf, mpf]]:
    """The non-negative nodes of the n-point rule, rising, and their weights."""
    off_diagonal = np.sqrt(np.arange(1.0, n))
    jacobi = np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    starts = np.linalg.eigvalsh(jacobi)[n // 2 :]
    if n % 2:
        starts[0] = 0.0
    nodes, weights, steps = zip(*(node_and_weight(n, float(x)) for x in starts), strict=True)
    check(n, list(nodes), list(weights), list(steps))
    return list(zip(nodes, weights, strict=True))


def digits(x: mpf) -> str:
    """`x` to 40 significant digits, in a form that `float` and `Decimal` read."""
    return mp.nstr(x, DIGITS, min_fixed=math.inf, max_fixed=-math.inf, strip_zeros=False)


def main() -> None:
    """Make every rule, then write them all."""
    lines = [
        f"{n} {i} {digits(node)} {digits(weight)}\n"
        for n in SIZES
        for i, (node, weight) in enumerate(rule(n))
    ]
    with lzma.open(TARGET, "wt", preset=9 | lzma.PRESET_EXTREME, encoding="ascii") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
