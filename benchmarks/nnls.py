"""CPU times of non-negative least squares with many candidates, and of scipy on smaller problems.

OMP_NUM_THREADS=1 python benchmarks/nnls.py
"""

from __future__ import annotations

import time

import numpy as np
import scipy.optimize

from quadfeat.numerics import nnls


def problem(n_pairs: int, n_candidates: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of normal candidates at gaps of normal points, and their Gaussian kernel."""
    rng = np.random.default_rng(seed)
    gaps = rng.normal(size=(n_pairs, d)) / np.sqrt(d)
    nodes = rng.normal(size=(n_candidates, d))
    return np.cos(gaps @ nodes.T), np.exp(-0.5 * (gaps**2).sum(axis=1))


def solve(matrix: np.ndarray, target: np.ndarray, count: int | None = None) -> nnls.Solution:
    """The products M'M and M'b are part of the time."""
    gram, linear = matrix.T @ matrix, matrix.T @ target
    return nnls.nonnegative_least_squares(gram, linear, max_support=count)


def line(label: str, seconds: float, matrix: np.ndarray, target: np.ndarray, a: np.ndarray) -> None:
    rms = np.sqrt(np.mean((matrix @ a - target) ** 2))
    print(
        f"{label:58s} {seconds:7.2f} s   {np.count_nonzero(a):5d} nodes   rms {rms:.2e}", flush=True
    )


def main() -> None:
    for d in (3, 8, 40):
        matrix, target = problem(500, 2500, d, seed=0)
        began = time.process_time()
        weights = scipy.optimize.nnls(matrix, target, maxiter=20_000)[0]
        line(f"scipy 500 x 2,500, d={d}", time.process_time() - began, matrix, target, weights)
        began = time.process_time()
        solution = solve(matrix, target)
        line(
            f"ours  500 x 2,500, d={d}, kkt {solution.kkt_residual:.0e}",
            time.process_time() - began, matrix, target, solution.weights,
        )  # fmt: skip
    for d in (8, 40):
        matrix, target = problem(2000, 5000, d, seed=0)
        for count in (500, 1000):
            began = time.process_time()
            solution = solve(matrix, target, count)
            line(
                f"ours  2,000 x 5,000, d={d}, to {count}",
                time.process_time() - began, matrix, target, solution.weights,
            )  # fmt: skip


if __name__ == "__main__":
    main()
