"""`Split`: the sampled rows of a fit, as training rows and validation rows; `folds` of few rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Floats
from ..data.summary import effective_share
from .stream import Rows

_HELD_OUT = 5  # every fifth x of a sample is a validation row
# With fewer x every one is a validation row once: on a fifth of some hundred rows the choice would
# be luck.
_FEW = 1000


@dataclass(frozen=True, eq=False)
class Split:
    """Every fifth x of a sample for validation, the other four for training.

    Rows of equal x are all training rows or all validation rows; a table of counts is split by a
    fifth of the observations of each x that has at least five.

    Attributes
    ----------
    training, validation : Rows, weighted by the rows they represent
    scale : float, the mean squared length of a row of features, times the mean weight of an x
    n_validation : float, effective number of distinct x in the validation rows (Kish, 1965)
    """

    training: Rows
    validation: Rows
    scale: float
    n_validation: float

    @classmethod
    def of(cls, sample: Rows, fold: int = _HELD_OUT - 1) -> Split:
        """The split number `fold` of a sample whose targets are codes of classes."""
        rows = Rows(sample.Z, sample.y, sample.mass, group=sample.group)
        group = np.arange(len(rows.Z)) if rows.group is None else rows.group
        held_out = group % _HELD_OUT == fold
        training = rows.where(~held_out)
        validation = rows.where(held_out if held_out.any() else ~held_out)
        if sample.counts:
            fifth = np.where(rows.mass >= _HELD_OUT, rows.mass / _HELD_OUT, rows.mass * held_out)
            validation, training = (replace(rows, weight=w) for w in (fifth, rows.mass - fifth))
            validation, training = (part.where(part.mass > 0) for part in (validation, training))
        weight_of_x: Floats = np.bincount(group, rows.weight).astype(float)
        share = effective_share(weight_of_x)
        unit = 1.0 if sample.counts else float(weight_of_x.mean() / share)
        lengths = np.square(rows.Z, dtype=np.float64).sum(axis=1)
        length = float(lengths[np.unique(group, return_index=True)[1]].mean()) or 1.0
        total = rows.mass.sum() if sample.counts else len(weight_of_x) * share
        part = validation.mass.sum() / rows.mass.sum()
        return cls(training, validation, unit * length, float(total * part))


def folds(sample: Rows) -> list[Split]:
    """One split of a sample; if it has few x, five, with each row a validation row once."""
    first = Split.of(sample)
    group = np.arange(len(sample.Z)) if sample.group is None else sample.group
    n = _HELD_OUT * first.n_validation
    if n >= _FEW or group.max() < _HELD_OUT - 1:
        return [first]
    return [first, *(Split.of(sample, fold) for fold in range(_HELD_OUT - 1))]
