"""Speech: utterances with phone labels, from the packed sample or from a folder of recordings."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.io import wavfile
from scipy.linalg import eigh

from ...data.numpy_files import DAMAGED

Frames = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Part = Literal["train", "dev", "test"]
NOT_ARRAYS = (*DAMAGED, KeyError, TypeError)  # damaged, without an array, or a single one
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
# From the number of a phone to the number of what it folds into; -1 for the dropped one.
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


# --- who is heard when ---------------------------------------------------------------------------
_SAMPLE_TEST = {"fvmh0", "madc0", "ftlg0", "madd0"}
_SAMPLE_DEV = {"falk0", "mcpm0"}
# The core test set of the full corpus; the other speakers of its TEST folder are for development.
_CORE_TEST = (
    "mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0 "
    "mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0 mgrt0 mnjm0 fdhc0 mjln0 mpam0 fmld0"
)


def _part(speaker: str, folders: Iterable[str]) -> Part:
    """The part of a speaker: by TRAIN and TEST where the corpus has them, else by name."""
    parents = {folder.lower() for folder in folders}
    if "train" in parents:
        return "train"
    if "test" in parents:
        return "test" if speaker in _CORE_TEST.split() else "dev"
    if speaker in _SAMPLE_TEST:
        return "test"
    return "dev" if speaker in _SAMPLE_DEV else "train"


def _is_shared(sentence: str) -> bool:
    """The two sentences that every speaker reads would let a model learn words, not phones."""
    return sentence.lower().startswith("sa")


# --- the packed sample ---------------------------------------------------------------------------
def read_packed(path: Path) -> list[Utterance]:
    """The utterances of timit_sample_frames.npz, without the two sentences all speakers share."""
    try:
        with np.load(path) as packed:
            arrays = {
                name: packed[name] for name in ("X", "utt", "utts", "y61", "state", "names61")
            }
    except NOT_ARRAYS as error:
        raise ValueError(
            f"{path} is not a readable archive of speech frames ({error}); copy it again"
        ) from error
    code = np.array([PHONES61.index(name) for name in arrays["names61"]])
    ends = np.flatnonzero(np.diff(arrays["utt"])) + 1
    parts = {name: np.split(arrays[name], ends) for name in ("X", "utt", "y61", "state")}
    utterances = []
    for X, number, y61, third in zip(*parts.values(), strict=True):
        folder, sentence = str(arrays["utts"][number[0]]).split("/")
        if _is_shared(sentence):
            continue
        speaker, phone, third = folder.split("-")[-1], code[y61], third.astype(np.int64)
        # Frames are all there is: a segment starts where the phone changes or its thirds restart.
        starts = np.r_[True, (np.diff(phone) != 0) | (np.diff(third) < 0)]
        name = f"{folder}/{sentence}"
        utterances.append(
            Utterance(name, speaker, _part(speaker, []), X, phone, third, phone[starts])
        )
    return utterances


# --- recordings ----------------------------------------------------------------------------------
RATE, HOP, WINDOW, N_BANDS = 16_000, 160, 400, 40
_N_FFT = 512


def count_recordings(folder: Path) -> int:
    """How many phone files there are in a folder and below."""
    return sum(p.suffix.lower() == ".phn" for p in folder.rglob("*"))


def read_folder(folder: Path) -> list[Utterance]:
    """The utterances of a folder in TIMIT's own layout: .WAV beside .PHN, a folder per speaker.

    Upper or lower case, NIST sphere or RIFF; the sentences all speakers share are left out.
    """
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".phn")
    if not found:
        raise ValueError(
            f"{folder} holds no .PHN files; give a folder in TIMIT's own layout, "
            f"TRAIN/DR1/SPEAKER/SENTENCE.WAV beside SENTENCE.PHN"
        )
    return [_read_recording(path, folder) for path in found if not _is_shared(path.stem)]


def _read_recording(path: Path, root: Path) -> Utterance:
    audio = next((p for p in (path.with_suffix(s) for s in (".WAV", ".wav")) if p.exists()), None)
    if audio is None:
        raise ValueError(f"{path} has no recording beside it; {path.stem}.WAV is missing")
    starts, ends, spoken = read_phones(path)
    samples = read_audio(audio)
    # A last phone may be marked to end a little late; more than 0.1 s is another recording.
    if ends[-1] > len(samples) + RATE // 10:
        raise ValueError(
            f"{audio} has {len(samples)} samples, and the phones beside it end at {ends[-1]}; "
            f"copy both again"
        )
    frames = log_mel(samples)
    centres = HOP * np.arange(len(frames)) + WINDOW // 2
    labelled = centres < ends[-1]
    frames, centres = frames[labelled], centres[labelled]
    which = np.clip(np.searchsorted(starts, centres, side="right") - 1, 0, len(starts) - 1)
    inside = (centres - starts[which]) / (ends - starts)[which]
    third = np.clip((3 * inside).astype(np.int64), 0, 2)
    folders = path.relative_to(root).parts[:-1]
    speaker = path.parent.name.lower().split("-")[-1]
    name = f"{path.parent.name}/{path.stem}".lower()
    return Utterance(name, speaker, _part(speaker, folders), frames, spoken[which], third, spoken)


def read_phones(path: Path) -> tuple[Labels, Labels, Labels]:
    """First and last sample and number of each phone in a .PHN file."""
    try:
        rows = [line.split() for line in path.read_text().splitlines() if line.strip()]
        starts, ends = (np.array([int(row[i]) for row in rows]) for i in (0, 1))
        spoken = np.array([PHONES61.index(row[2]) for row in rows])
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not a phone file ({error}); its lines read '0 1960 h#'"
        ) from error
    if len(rows) == 0 or (ends <= starts).any():
        raise ValueError(f"{path} has no phone, or one that ends before it starts")
    return starts, ends, spoken


def read_audio(path: Path) -> npt.NDArray[np.float64]:
    """The 16-bit samples of a NIST sphere or RIFF file at 16 kHz, as whole numbers."""
    raw = path.read_bytes()
    if raw[:4] == b"RIFF":
        try:
            rate, samples = wavfile.read(path)
        except (ValueError, struct.error) as error:
            raise ValueError(f"{path} is a damaged RIFF file ({error}); copy it again") from error
    elif raw[:8] == b"NIST_1A\n":
        rate, samples = _sphere(raw, path)
    else:
        raise ValueError(f"{path} is neither a NIST sphere nor a RIFF file; copy it again")
    if rate != RATE or samples.ndim != 1 or samples.dtype.itemsize != 2:
        raise ValueError(f"{path} must hold one channel of 16-bit samples at {RATE} Hz")
    if len(samples) < WINDOW:
        raise ValueError(f"{path} has {len(samples)} samples, less than 25 ms; copy it again")
    return np.asarray(samples, dtype=np.float64)


def _sphere(raw: bytes, path: Path) -> tuple[int, npt.NDArray[np.int16]]:
    """Rate and samples of an uncompressed sphere file: a text header of the size it names."""
    try:
        size = int(raw[8:16])
        lines = raw[16:size].decode("ascii").split("end_head")[0].splitlines()
        fields = {name: value for name, _, value in (line.split(" ", 2) for line in lines if line)}
        rate, count = int(fields["sample_rate"]), int(fields["sample_count"])
    except (ValueError, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} has a damaged sphere header ({error}); copy it again") from error
    if "shorten" in fields.get("sample_coding", "pcm"):
        raise ValueError(f"{path} is compressed with shorten; unpack it with sph2pipe -f wav")
    order = ">i2" if fields.get("sample_byte_format") == "10" else "<i2"
    if len(raw) < size + 2 * count:
        raise ValueError(f"{path} ends before its {count} samples do; copy it again")
    return rate, np.frombuffer(raw, dtype=order, count=count, offset=size).astype(np.int16)


def log_mel(samples: npt.NDArray[np.float64]) -> Frames:
    """log(1 + power) in 40 mel bands from 0 to 8 kHz: 25 ms Hamming windows every 10 ms."""
    emphasised = np.append(samples[0], samples[1:] - 0.97 * samples[:-1])
    windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(windows * np.hamming(WINDOW), _N_FFT)) ** 2
    return np.log1p(power @ _mel_bands().T).astype(np.float32)


def _mel_bands() -> npt.NDArray[np.float64]:
    """Triangles between points equally spaced in mel, (40, 257)."""
    mel = np.linspace(0.0, 2595 * np.log10(1 + RATE / 2 / 700), N_BANDS + 2)
    hertz = 700 * (10 ** (mel / 2595) - 1)
    low, centre, high = hertz[:-2, None], hertz[1:-1, None], hertz[2:, None]
    f = np.fft.rfftfreq(_N_FFT, 1 / RATE)
    return np.clip(np.minimum((f - low) / (centre - low), (high - f) / (high - centre)), 0, None)


# --- rows for a model ----------------------------------------------------------------------------
CONTEXT = 5
_MOST_LDA_ROWS = 200_000


def stack(frames: Frames) -> Frames:
    """Each frame with the five before and after it, the ends repeated: (n, 11 * 40)."""
    padded = np.pad(frames, ((CONTEXT, CONTEXT), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * CONTEXT + 1, axis=0)
    return windows.transpose(0, 2, 1).reshape(len(frames), -1)


def select(utterances: Iterable[Utterance], *parts: Part) -> list[Utterance]:
    return [utterance for utterance in utterances if utterance.part in parts]


def rows(
    utterances: Iterable[Utterance], inputs: Callable[[Utterance], Frames]
) -> tuple[Frames, Labels]:
    """Inputs and states of all frames but the dropped ones, on which no model is trained."""
    kept = [(inputs(u)[u.state >= 0], u.state[u.state >= 0]) for u in utterances]
    if not kept:
        raise ValueError("there is no utterance in this part of the speech data")
    X, y = zip(*kept, strict=True)
    return np.concatenate(X), np.concatenate(y)


@dataclass(frozen=True)
class Projection:
    """Stacked frames on the 40 directions that tell the states of some speakers apart."""

    mean: npt.NDArray[np.float64]  # (440,)
    directions: npt.NDArray[np.float64]  # (440, 40)

    @classmethod
    def fit(cls, utterances: Iterable[Utterance], n_axes: int = 40) -> Projection:
        """Linear discriminants of the states in these utterances, without shrinkage.

        The directions in which the means of states spread most against the spread within states
        (Fisher, 1936; Rao, 1948), scaled so that the latter is 1.
        """
        X, y = rows(utterances, lambda u: stack(u.frames))
        step = -(-len(X) // _MOST_LDA_ROWS)
        X, y = X[::step].astype(np.float64), y[::step]
        mean = X.mean(axis=0)
        X -= mean  # first: covariances are differences of large squares
        _, which, counts = np.unique(y, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), X.shape[1]))
        np.add.at(sums, which, X)
        between = (sums.T / counts) @ sums
        directions = eigh(between, X.T @ X - between)[1][:, ::-1][:, :n_axes]
        return cls(mean, directions * np.sqrt(len(X)))

    def __call__(self, utterance: Utterance) -> Frames:
        projected = (stack(utterance.frames) - self.mean) @ self.directions
        return projected.astype(np.float32)
