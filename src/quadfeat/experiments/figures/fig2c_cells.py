"""The cells of Fig. 2c: settings chosen on development speakers, and recognisers for every map."""

from __future__ import annotations

import time
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from ..._typing import Floats
from ..cell import Cell, Key, Record
from ..contenders import CONTENDERS
from ..datasets import Data
from ..speech.kernel_rows import speech_kernel
from ..speech.recogniser import StateFeatures, Task
from ..speech.references import LINEAR, NETWORK, REFERENCES
from ..speech.utterances import select

RANK = 35
_LEARN_EVERY = {"small": 2, "paper": 1}  # of the frames
_WIDTHS = {"small": (125, 250, 500), "paper": (500, 1000, 2000)}
_RUNS = {"small": 1, "paper": 10}
_TUNING_COLUMNS = {"small": 125, "paper": 500}
MAPS = ("random", "Halton", "subsampled", "reweighted", "pruned", "Hermite-Mercer", "compressed")
FULL_RANK = ", full rank"  # added to a map's name if the model has no limit of rank
# The widths at which maps are compared with random features, as shares of the width of random
# features. Reweighting keeps about 1300 of 1900 columns, two thirds of random's 2000 (about 1380 of
# 2000).
SHARES = {
    "random": 1.0,
    "reweighted": 0.95,
    "pruned": 0.5,
    "Hermite-Mercer": 0.25,
    "compressed": 0.25,
}


DETERMINISTIC = ("Hermite-Mercer",)
_BANDWIDTHS = (0.7, 1.0, 1.4, 2.0)  # median distances
_PENALTIES = tuple(8e-6 * 2.0**k for k in range(-5, 6))  # of a row, for features of length 1
_TOLERANCE = 1e-4  # stop if one more pass would save less than this share of the loss
_FULL_RANK_TOLERANCE = 1e-5  # its minimum is unique: with 1e-7 the fourth digit changes
_BIGRAM_WEIGHTS = (0.5, 1.0, 1.5, 2.0, 3.0)
_PRIOR_WEIGHTS = (0.5, 0.75, 1.0)


class _Settings(NamedTuple):
    bandwidth: float
    penalty: float
    bigram_weight: float
    prior_weight: float


class _Work:
    """The data and the settings, each computed once."""

    def __init__(self, data: Data, scale: str) -> None:
        self._data, self._scale = data, scale
        self.final_task = cache(self._final_task)
        self.development_task = cache(self._development_task)

    def _final_task(self, *, stacked: bool) -> Task:
        utterances = self._data.speech()
        training, unseen = select(utterances, "train", "dev"), select(utterances, "test")
        return Task.build(training, unseen, stacked=stacked, every=_LEARN_EVERY[self._scale])

    def _development_task(self, *, stacked: bool) -> Task:
        utterances = self._data.speech()
        training, unseen = select(utterances, "train"), select(utterances, "dev")
        return Task.build(training, unseen, stacked=stacked, every=_LEARN_EVERY[self._scale])

    def recall_settings(self, records: list[Record]) -> None:
        """Reuse the settings that were chosen before."""
        *tried, chosen = records
        settings = _Settings(*(chosen[field] for field in _Settings._fields))
        self.__dict__["tuned"] = settings, tried

    def _search(self, name: str, columns: int, bandwidth: float) -> _Search:
        task = self.development_task(stacked=False)
        return _Search(_features(task, name, columns, bandwidth, seed=0))

    @cached_property
    def tuned(self) -> tuple[_Settings, list[Record]]:
        """The best settings on development speakers, and all that were tried.

        The bandwidth and the penalty are chosen by the cross-entropy of the map with the least
        error for its width, because all approximate the same kernel; then the weights of the bigram
        and the priors by the phone error rate.
        """
        tried, best = [], {}
        for bandwidth in _BANDWIDTHS:
            search = self._search("Hermite-Mercer", _TUNING_COLUMNS[self._scale], bandwidth)
            penalty = search.best()
            best[bandwidth] = search, penalty
            tried += [{"bandwidth": bandwidth, **record} for record in search.records()]
        bandwidth = min(best, key=lambda bandwidth: best[bandwidth][0].entropy(best[bandwidth][1]))
        search, penalty = best[bandwidth]
        weights, rates = _decoding(self.development_task(stacked=False), search.posteriors(penalty))
        return _Settings(bandwidth, penalty, **weights), [*tried, *rates]


def _decoding(task: Task, posteriors: list[Floats]) -> tuple[dict[str, float], list[Record]]:
    """The weights of the bigram and the priors with the lowest phone error rate, and all tried."""
    tried: list[Record] = []
    for bigram_weight, prior_weight in product(_BIGRAM_WEIGHTS, _PRIOR_WEIGHTS):
        weights = {"bigram_weight": bigram_weight, "prior_weight": prior_weight}
        errors = task.phone_errors(posteriors, **weights)
        tried.append(
            {"map": "tuning", **weights, "dev_per": sum(errors) / sum(task.phone_counts())}
        )
    best = min(tried, key=lambda record: record["dev_per"])
    return {name: best[name] for name in ("bigram_weight", "prior_weight")}, tried


class _Search:
    """A search of penalties on development speakers, with one feature matrix and full rank."""

    def __init__(self, features: StateFeatures) -> None:
        self._features = features
        self.posteriors = cache(self._posteriors)
        self.entropy = cache(self._entropy)
        self._found: dict[float, float] = {}

    def _posteriors(self, penalty: float) -> list[Floats]:
        alpha = _alpha(penalty, self._features)
        return self._features.log_posteriors(alpha=alpha, rank=None, tolerance=_TOLERANCE)

    def _entropy(self, penalty: float) -> float:
        self._found[penalty] = self._features.task.cross_entropy(self.posteriors(penalty))
        return self._found[penalty]

    def best(self) -> float:
        """Go downhill from the middle until the penalties on both sides are worse."""
        i = len(_PENALTIES) // 2
        for step in (-1, 1):
            while 0 <= i + step < len(_PENALTIES) and (
                self.entropy(_PENALTIES[i + step]) < self.entropy(_PENALTIES[i])
            ):
                i += step
        return _PENALTIES[i]

    def records(self) -> list[Record]:
        return [
            {"map": "tuning", "penalty": penalty, "dev_cross_entropy": self._found[penalty]}
            for penalty in sorted(self._found)
        ]


def _features(task: Task, name: str, columns: int, bandwidth: float, seed: int) -> StateFeatures:
    kernel = speech_kernel(bandwidth, task.X.astype(np.float64))
    return StateFeatures.fit(task, CONTENDERS[name](kernel, columns, seed))


def _alpha(penalty: float, features: StateFeatures) -> float:
    # Relative to the squared length of the features, which is smaller if an expansion is cut off.
    train = features.train
    return penalty * float(np.einsum("ij,ij->", train, train, dtype=np.float64))


# --- cells ---------------------------------------------------------------------------------------
def cells(scale: str, data: Data) -> list[Cell]:
    name_of_data = data.speech_name()
    work = _Work(data, scale)

    def cell(name: str, width: int, seed: int) -> Cell:
        def run() -> list[Record]:
            return [_measure(work, name, width, seed)]

        key: Key = {"map": name, "width": width, "seed": seed, "data": name_of_data}
        return Cell(key, run, cost=_seconds(name, width, scale))

    def runs(name: str) -> range:
        return range(1 if name in DETERMINISTIC else _RUNS[scale])

    def settings() -> list[Record]:
        chosen, tried = work.tuned
        return [*tried, {"map": "settings", **chosen._asdict()}]

    columns = _TUNING_COLUMNS[scale]
    key: Key = {"map": "tuning", "of": "settings", "width": columns, "seed": 0}
    cost = len(_BANDWIDTHS) * _seconds("tuning", columns, scale)
    return [
        Cell({**key, "data": name_of_data}, settings, cost, work.recall_settings),
        *(
            cell(name, width, seed)
            for name in MAPS
            for width in _widths(name, scale)
            for seed in runs(name)
        ),
        *(
            cell(name + FULL_RANK, compared(name, max(_WIDTHS[scale])), seed)
            for name in SHARES
            for seed in runs(name)
        ),
        cell(LINEAR, 440, 0),
        cell(NETWORK, 440, 0),
    ]


def compared(name: str, widest: int) -> int:
    """The width at which a map is compared with random features of the greatest width."""
    return round(SHARES[name] * widest)


def _widths(name: str, scale: str) -> list[int]:
    """All widths at the paper's scale; at the small one, those for the verdicts and a curve."""
    widths: tuple[int, ...] = _WIDTHS[scale]
    if scale == "small":
        widths = {"random": widths[1:], "compressed": ()}.get(name, widths[-1:])
    extra = {compared(name, max(_WIDTHS[scale]))} if name in SHARES else set()
    return sorted({*widths, *extra})


def _measure(work: _Work, name: str, width: int, seed: int) -> Record:
    reference = name in REFERENCES
    task, settings = work.final_task(stacked=reference), work.tuned[0]
    weights = {field: getattr(settings, field) for field in ("bigram_weight", "prior_weight")}
    start = time.perf_counter()
    if reference:
        columns = width
        development = work.development_task(stacked=True)
        tried, posteriors = REFERENCES[name](development, task)
        weights = _decoding(development, tried)[0]
    else:
        full = name.endswith(FULL_RANK)
        approximated = name.removesuffix(FULL_RANK)
        features = _features(task, approximated, width, settings.bandwidth, seed)
        columns = features.train.shape[1]
        posteriors = features.log_posteriors(
            alpha=_alpha(settings.penalty, features),
            rank=None if full else RANK,
            tolerance=_FULL_RANK_TOLERANCE if full else _TOLERANCE,
        )
    seconds = time.perf_counter() - start
    errors = task.phone_errors(posteriors, **weights)
    phones = task.phone_counts()
    return {
        "map": name,
        "width": width,
        "columns": columns,
        "seed": seed,
        "penalty": None if reference else settings.penalty,
        "cross_entropy": task.cross_entropy(posteriors),
        "per": sum(errors) / sum(phones),
        "errors": errors,
        "phones": phones,
        "fit_seconds": round(seconds, 2),
    }


def _seconds(name: str, width: int, scale: str) -> float:
    """Expected time of a cell on two cores."""
    whole = {"tuning": 5.0 + 0.02 * width, LINEAR: 25.0, NETWORK: 15.0}
    return whole.get(name, 3.0 + 0.009 * width) / _LEARN_EVERY[scale]
