"""Effects: a fitted model on a sum of kernels of few columns, as one function per subset."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_flag
from .._errors import NoEffects
from .._typing import Floats, Matrix
from ..data.encoded_units import EncodedUnit, encoded_units
from ..learning.subsets import closure
from ..maps.base import FeatureMap
from ..numerics.blas import on_one_thread
from .derivatives import DifferentiableModel
from .spline_parts import Splines

Subset = tuple[int, ...]
Write = Callable[[Floats], Floats]  # features of dense rows

_BACKGROUND = 4000  # effects are centred on at most so many training rows
_BLOCK = 2**22  # features, at most, at a time
_LARGEST = 3  # the parts of subsets of up to so many columns are separated


@dataclass(frozen=True, eq=False)
class EffectsSummary:
    """The effects of a model in numbers: subsets, names and shares of variance.

    Attributes
    ----------
    subsets : tuple of tuples of columns, one per effect; small ones first
    names : tuple of str, their columns by name, such as "age" or "age x bmi"
    intercept : float, or (t,): the mean prediction for training rows
    shares : (m,), the covariance of each effect with the prediction divided by the variance of the
        prediction, over training rows: they add up to 1. For independent columns these are Sobol
        indices; for correlated ones they may be negative, when effects cancel.
    column_shares : (d,), for each column, or each that `encoder_` makes, the sum of the shares of
        all its effects; these (total indices) may add up to more than 1
    """

    subsets: tuple[Subset, ...]
    names: tuple[str, ...]
    intercept: Any
    shares: Floats
    column_shares: Floats

    def __repr__(self) -> str:
        order = np.argsort(-self.shares, kind="stable")
        width = max(map(len, self.names))
        rows = [f"{self.names[i]:<{width}}  {self.shares[i]:7.1%}" for i in order]
        return "\n".join([f"{'effect':<{width}}    share", *rows])


class ExplainedModel(DifferentiableModel):
    """The methods of a model that compute the effects of its columns."""

    features_: FeatureMap
    coef_: Floats
    intercept_: Any
    encoder_: Any
    _background: Floats  # training rows, of a model that has effects
    _decomposition: Decomposition  # computed on first use; not stored

    @on_one_thread
    def effects(self, X: Any, return_std: bool = False) -> Any:
        """The effect of every subset of columns at the rows of X.

        For a model whose kernel is a sum over subsets, such as `Anova`: with `effects_.intercept`
        they add up to `predict` of a regressor, or to `decision_function` of a classifier. There is
        one for each subset of the kernel and each part of it. Each is centred on training rows, and
        an effect of two columns contains nothing that functions of either column explain on these
        rows (functional ANOVA; Hooker, 2007): that part is moved to the main effects. So effects of
        independent columns do not correlate, and those of correlated columns still have a unique
        meaning.

        Parameters
        ----------
        X : array, CSR matrix, DataFrame; a path; or blocks
        return_std : bool
            Also the posterior standard deviation of every effect, without the noise. For a
            classifier it comes from the ridge fit to -1 and 1, or from Laplace's approximation for
            the logistic loss of two classes, averaged over penalties by their likelihood unless
            `alpha` is given; others have none.

        Returns
        -------
        array (n, m), or (n, m, t) for several targets, or t > 2 classes; the order of the columns
        is that of `effects_.subsets`

        Examples
        --------
        >>> from quadfeat import Anova, Gaussian, HermiteMercer, KernelRegressor
        >>> X = np.random.default_rng(0).uniform(size=(1500, 3))
        >>> y = X[:, 0] + np.sin(6 * X[:, 2])
        >>> kernel = Anova(Gaussian("learned"), subsets="learned")
        >>> model = KernelRegressor(HermiteMercer(kernel, n_components=100)).fit(X, y)
        >>> model.effects_.subsets
        ((0,), (2,))
        >>> total = model.effects(X).sum(axis=1) + model.effects_.intercept
        >>> bool(np.abs(total - model.predict(X)).max() < 1e-9)
        True
        """
        parts = self._decomposed()
        check_flag("return_std", return_std)
        spread = self._effect_deviation() if return_std else None
        W = np.atleast_2d(self.coef_).T
        values = [np.empty((0, len(parts.subsets), W.shape[1]))]
        deviations = [np.empty(values[0].shape)]
        for rows in self._effect_rows(X):
            block, wide = np.empty((len(rows), *values[0].shape[1:])), []
            for i, features in enumerate(parts.features(rows, self._write_rows)):
                block[:, i] = features @ W
                if spread is not None:
                    wide.append(spread(features))
            values.append(block)
            if wide:
                deviations.append(np.stack(wide, axis=1))
        mean = np.concatenate(values)
        mean = mean[:, :, 0] if self._single_score else mean
        if spread is None:
            return mean
        std = np.concatenate(deviations)
        return mean, std[:, :, 0] if self._single_score else std

    @property
    def effects_(self) -> EffectsSummary:
        """Subsets, names, intercept and shares of the effects."""
        check_is_fitted(self)
        parts, W = self._decomposed(), np.atleast_2d(self.coef_).T
        intercept = parts.centre @ W + np.atleast_1d(self.intercept_)
        shares = parts.shares(W)
        total = np.zeros(self.features_.n_features_in_)
        for subset, share in zip(parts.subsets, shares, strict=True):
            total[list(subset)] += share
        names = self._column_names()
        return EffectsSummary(
            parts.subsets,
            tuple(" x ".join(names[i] for i in subset) for subset in parts.subsets),
            float(intercept[0]) if self._single_score else intercept,
            shares,
            total,
        )

    @on_one_thread
    def effect(self, numbers: Sequence[int], rows: Floats) -> tuple[Floats, Floats | None]:
        """The sum of some effects at dense rows, (n, t), and its standard deviation; for figures.

        Parameters
        ----------
        numbers : sequence of int, their positions in `effects_.subsets`
        rows : (n, d), as the map sees them; only the columns of these effects matter
        """
        parts = self._decomposed()
        features = np.zeros((len(rows), self.features_.n_columns_))
        for number in numbers:
            features += parts.feature(number, rows, self._write_rows)
        spread = self._effect_deviation() if self._has_deviations else None
        value = features @ np.atleast_2d(self.coef_).T
        return value, None if spread is None else spread(features)

    def effect_units(self) -> list[EncodedUnit]:
        """The columns of the effects, with the columns of one category as one unit.

        Without an encoder, each column is a unit.
        """
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            return encoded_units(self.encoder_)
        return [EncodedUnit(name, (i,)) for i, name in enumerate(self._column_names())]

    def _column_names(self) -> list[str]:
        """Names of the columns that the map sees."""
        known = getattr(self, "feature_names_in_", None)
        if hasattr(self, "encoder_"):
            known = self.encoder_.get_feature_names_out()
        if known is None:
            return [f"x{i}" for i in range(self.features_.n_features_in_)]
        return list(map(str, known))

    def background(self, X: Any = None) -> Floats:
        """The training rows on which effects are centred, or the rows of X, after their checks.

        Training rows are 0 in columns without an effect.
        """
        check_is_fitted(self)
        if not hasattr(self, "_background"):
            raise NoEffects(
                f"effects need a kernel over subsets of up to {_LARGEST} columns, or over "
                f"disjoint subsets, such as Anova(Gaussian('learned'), subsets='learned'); "
                f"this model has {self.features_.kernel_!r}"
            )
        if X is None:
            return self._background
        return np.concatenate([np.empty((0, self.features_.n_features_in_)), *self._effect_rows(X)])

    @property
    def _tells_effects(self) -> bool:
        return bool(effect_subsets(self.features_, self.features_.n_features_in_))

    @property
    @abstractmethod
    def _has_deviations(self) -> bool: ...

    @abstractmethod
    def _effect_deviation(self) -> Callable[[Floats], Floats]:
        """A function from centred features of an effect to its posterior deviations (n, t)."""

    def _set_importances(self, X: Matrix) -> None:
        super()._set_importances(X)
        for name in ("_background", "_decomposition"):
            self.__dict__.pop(name, None)
        subsets = effect_subsets(self.features_, X.shape[1])
        if subsets:
            some: Any = X[:_BACKGROUND]
            dense = some.toarray() if hasattr(some, "toarray") else some
            rows = np.array(dense, dtype=np.float64)
            rows[:, ~np.isin(np.arange(X.shape[1]), list(chain(*subsets)))] = 0.0
            self._background = rows

    def _decomposed(self) -> Decomposition:
        rows = self.background()
        if not hasattr(self, "_decomposition"):
            subsets = effect_subsets(self.features_, self.features_.n_features_in_)
            self._decomposition = Decomposition.of(subsets, rows, self._write_rows)
        return self._decomposition

    def _write_rows(self, rows: Floats) -> Floats:
        Z = np.empty((len(rows), self.features_.n_columns_))
        self.features_.write(rows, Z)
        return Z

    def _effect_rows(self, X: Any) -> Iterator[Floats]:
        """X as dense rows, few enough for the features of one effect."""
        size = max(16, _BLOCK // self.features_.n_columns_)
        for block in self._predicted_rows(X):
            for first in range(0, len(block), size):
                some = block.X[first : first + size]
                dense = some.toarray() if hasattr(some, "toarray") else some
                yield np.asarray(dense, dtype=np.float64)


def effect_subsets(features: FeatureMap, d: int) -> list[Subset]:
    """The subsets that have effects, small ones first; none if they cannot be separated.

    Subsets of up to three columns, and all parts of them. A larger one has one effect, if it shares
    no column with others.
    """
    kernel = features.kernel_
    if kernel.mixes_axes or kernel.groups(d)[0].kernel is kernel:  # not a sum over subsets
        return []
    groups = [tuple(sorted(group.axes.tolist())) for group in kernel.groups(d)]
    small = [group for group in groups if len(group) <= _LARGEST]
    large = [group for group in groups if len(group) > _LARGEST]
    counts = np.bincount(list(chain(*large, *set(small))), minlength=d)
    if any(counts[list(group)].max() > 1 for group in large):
        return []
    return closure(small) + sorted(set(large), key=lambda subset: (len(subset), subset))


@dataclass(frozen=True, eq=False)
class _Move:
    """The part of an effect that functions of fewer columns explain, as features (q, p)."""

    source: int
    target: int
    splines: Splines
    features: Floats

    def at(self, rows: Floats) -> Floats:
        return self.splines(rows) @ self.features


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The features of a map as a sum of features of effects, which add up exactly.

    Replacing some columns of the rows by those of an anchor gives, by inclusion and exclusion, one
    function per subset that is 0 wherever one of its columns is at the anchor; this holds for every
    map of such a kernel. Then, from large subsets to small ones, the part that functions of fewer
    columns explain on the background rows (least squares on splines) is moved to those. All steps
    are linear in the features, so effects have posterior deviations.

    Parameters
    ----------
    subsets : tuple of tuples of columns
    anchor : (d,)
    moves : tuple of _Move
    means : (m, p), features of the effects on the average of the background rows
    centre : (p,), features of the mean prediction
    rows : (n, d), the background
    write : function, features of dense rows
    """

    subsets: tuple[Subset, ...]
    anchor: Floats
    moves: tuple[_Move, ...]
    means: Floats
    centre: Floats
    rows: Floats
    write: Write

    @classmethod
    def of(cls, subsets: Sequence[Subset], rows: Floats, write: Write) -> Decomposition:
        """The decomposition of the features that `write` gives, on background rows."""
        anchor = np.median(rows, axis=0)
        at_anchor = write(anchor[None])[0]
        where = {subset: i for i, subset in enumerate(subsets)}
        moves: list[_Move] = []
        means = np.zeros((len(subsets), len(at_anchor)))
        for i in reversed(range(len(subsets))):
            subset = subsets[i]
            own = anchored(rows, subset, anchor, write)
            for move in moves:
                if move.target == i:
                    own += move.at(rows)
            if 1 < len(subset) <= _LARGEST:
                parts = list(combinations(subset, len(subset) - 1))
                for part, splines, features in explained(rows, parts, own):
                    moves.append(_Move(i, where[part], splines, features))
                    own -= moves[-1].at(rows)
            means[i] = own.mean(axis=0)
        centre = at_anchor + means.sum(axis=0)
        return cls(tuple(subsets), anchor, tuple(moves), means, centre, rows, write)

    def features(self, rows: Floats, write: Write) -> Iterator[Floats]:
        """The features (n, p) of one effect after the other."""
        return (self.feature(i, rows, write) for i in range(len(self.subsets)))

    def feature(self, i: int, rows: Floats, write: Write) -> Floats:
        """The features (n, p) of one effect."""
        own = anchored(rows, self.subsets[i], self.anchor, write) - self.means[i]
        for move in self.moves:
            if move.target == i:
                own += move.at(rows)
            if move.source == i:
                own -= move.at(rows)
        return own

    def shares(self, W: Floats) -> Floats:
        """Covariances of effects with the prediction over its variance, for coefficients (p, t)."""
        values = np.stack([part @ W for part in self.features(self.rows, self.write)])
        total = values.sum(axis=0)
        variance = float((total**2).sum())
        return np.asarray((values * total).sum(axis=(1, 2)) / (variance or 1.0))


def anchored(rows: Floats, subset: Subset, anchor: Floats, write: Write) -> Floats:
    """Features of the function of a subset that is 0 where one of its columns is at the anchor."""
    whole = len(subset) > _LARGEST  # such a subset is not separated from its parts
    parts = (
        [(), subset]
        if whole
        else chain.from_iterable(combinations(subset, size) for size in range(len(subset) + 1))
    )
    total: Any = 0.0
    for part in parts:
        sign = -1.0 if (len(part) == 0 if whole else (len(subset) - len(part)) % 2) else 1.0
        replaced = np.tile(anchor, (len(rows) if part else 1, 1))
        if part:
            replaced[:, part] = rows[:, part]
        total = total + sign * write(replaced)
    return np.asarray(total)


def explained(
    rows: Floats, parts: Sequence[Subset], features: Floats
) -> list[tuple[Subset, Splines, Floats]]:
    """The part of features (n, p) that functions of `parts` explain, by splines."""
    splines = [Splines.of(rows, part) for part in parts]
    bases = [each(rows) for each in splines]
    every = np.concatenate(bases, axis=1)
    gram = every.T @ every
    gram[np.diag_indices(len(gram))] += 1e-9 * len(rows)  # constants are in every basis
    found = np.linalg.solve(gram, every.T @ features)
    ends = np.cumsum([basis.shape[1] for basis in bases])[:-1]
    return list(zip(parts, splines, np.split(found, ends), strict=True))
