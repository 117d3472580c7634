"""Kernels in words."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.app.kernel_words import in_words, length_scales

SAID = {
    "Gaussian kernel, one length scale of 2": qf.Gaussian(0.125),
    "Gaussian kernel, a length scale per column": qf.Gaussian([0.1, 0.2]),
    "Gaussian kernel, a metric that mixes columns": qf.Gaussian(metric=np.eye(2)),
    "Laplacian kernel, one length scale of 4": qf.Laplacian(0.25),
    "Matern 5/2 kernel, one length scale of 1": qf.Matern(2.5, 0.5),
    "Matern 1.7 kernel, one length scale of 1": qf.Matern(1.7, 0.5),
    "Sum kernel": qf.Gaussian(1.0) + qf.Laplacian(1.0),
    "Sum of Gaussian kernels of few columns each": qf.Anova(qf.Gaussian(), subsets="learned"),
    "Sum of Gaussian kernels of 1 column": qf.Anova(qf.Gaussian(), subsets=[[0]]),
    "Sum of Gaussian kernels of 2 columns, 1 pair and 2 sets of 4 columns": qf.Anova(
        qf.Gaussian(), subsets=[[0], [1], [0, 1], [0, 1, 2, 3], [4, 5, 6, 7]]
    ),
}


@pytest.mark.parametrize("words", SAID)
def test_a_kernel_is_said_without_its_digits(words):
    assert in_words(SAID[words]) == words


@pytest.mark.parametrize("kernel", [qf.Gaussian(), qf.Laplacian(), qf.Matern(1.5, product=True)])
def test_length_scales_are_those_that_the_kernel_was_given(kernel):
    names = ["a", "b", "c"]
    found = length_scales(kernel.with_lengths(1 / np.array([3.0, 0.5, 2.0])), names)
    assert [name for name, _ in found] == ["b", "c", "a"]
    np.testing.assert_allclose([length for _, length in found], [0.5, 2.0, 3.0])
    assert length_scales(kernel, names) == []
