"""Phones, and utterances whose frames are labelled with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

Frames = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Part = Literal["train", "dev", "test"]
# --- phones: 61 are written, 48 are modelled, 39 are scored (Lee and Hon, 1989) ------------------
_WRITTEN = (
    "aa ae ah ao aw ax ax-h axr ay b bcl ch d dcl dh dx eh el em en eng epi er ey f g gcl h# hh hv "
    "ih ix iy jh k kcl l m n ng nx ow oy p pau pcl q r s sh t tcl th uh uw ux v w y z zh"
)


PHONES61 = tuple(_WRITTEN.split())
_TO_48 = {
    **{"ax-h": "ax", "axr": "er", "em": "m", "eng": "ng", "nx": "n", "hv": "hh", "ux": "uw"},
    **{"bcl": "vcl", "dcl": "vcl", "gcl": "vcl", "kcl": "cl", "pcl": "cl", "tcl": "cl"},
    **{"h#": "sil", "pau": "sil"},
}


_TO_39 = {
    **{"ao": "aa", "ax": "ah", "el": "l", "en": "n", "ix": "ih", "zh": "sh"},
    **{"cl": "sil", "vcl": "sil", "epi": "sil"},
}
DROPPED = "q"  # the glottal stop is neither modelled nor scored
PHONES48 = tuple(sorted({_TO_48.get(phone, phone) for phone in PHONES61 if phone != DROPPED}))
PHONES39 = tuple(sorted({_TO_39.get(phone, phone) for phone in PHONES48}))
N_STATES = 3 * len(PHONES48)
# From the number of a phone to the number of the phone it folds into; -1 for the dropped one.
FOLD48 = np.array(
    [-1 if p == DROPPED else PHONES48.index(_TO_48.get(p, p)) for p in PHONES61], dtype=np.int64
)
FOLD39 = np.array([PHONES39.index(_TO_39.get(p, p)) for p in PHONES48], dtype=np.int64)


@dataclass(frozen=True)
class Utterance:
    """One sentence: log-mel frames, the phone and third of it at each, and the phones spoken."""

    name: str
    speaker: str
    part: Part
    frames: Frames  # (n, 40)
    phone: Labels  # (n,) into PHONES61
    third: Labels  # (n,) 0, 1 or 2
    spoken: Labels  # into PHONES61, one per segment

    @cached_property
    def state(self) -> Labels:
        """The class of each frame, 3 * phone + third over 48 phones; -1 where dropped, (n,)."""
        phone = FOLD48[self.phone]
        return np.where(phone >= 0, 3 * phone + self.third, -1)

    @cached_property
    def spoken48(self) -> Labels:
        phones = FOLD48[self.spoken]
        return phones[phones >= 0]

    @cached_property
    def spoken39(self) -> Labels:
        return FOLD39[self.spoken48]


def select(utterances: Iterable[Utterance], *parts: Part) -> list[Utterance]:
    return [utterance for utterance in utterances if utterance.part in parts]


def rows(
    utterances: Iterable[Utterance], inputs: Callable[[Utterance], Frames]
) -> tuple[Frames, Labels]:
    """Inputs and states of all frames except the dropped ones, which are not used for training."""
    kept = [(inputs(u)[u.state >= 0], u.state[u.state >= 0]) for u in utterances]
    if not kept:
        raise ValueError("there is no utterance in this part of the speech data")
    X, y = zip(*kept, strict=True)
    return np.concatenate(X), np.concatenate(y)
