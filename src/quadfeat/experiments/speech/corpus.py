"""Reading speech: the packed sample, or a folder of recordings with phone labels."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.io import wavfile

from ...data.numpy_files import DAMAGED
from .front_end import HOP, RATE, WINDOW, log_mel
from .utterances import PHONES61, Labels, Part, Utterance

NOT_ARRAYS = (*DAMAGED, KeyError, TypeError)  # damaged, without an array, or a single one


# --- train, dev and test -------------------------------------------------------------------------
_SAMPLE_TEST = {"fvmh0", "madc0", "ftlg0", "madd0"}
_SAMPLE_DEV = {"falk0", "mcpm0"}
# The core test set of the full corpus; the other speakers of its TEST folder are for development.
_CORE_TEST = (
    "mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0 "
    "mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0 mgrt0 mnjm0 fdhc0 mjln0 mpam0 fmld0"
)


def _part(speaker: str, folders: Iterable[str]) -> Part:
    """The part of a speaker: by TRAIN and TEST if the corpus has them, else by name."""
    parents = {folder.lower() for folder in folders}
    if "train" in parents:
        return "train"
    if "test" in parents:
        return "test" if speaker in _CORE_TEST.split() else "dev"
    if speaker in _SAMPLE_TEST:
        return "test"
    return "dev" if speaker in _SAMPLE_DEV else "train"


def _is_shared(sentence: str) -> bool:
    """The two sentences that all speakers read: a model would learn their words, not phones."""
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
        # There are only frames: a segment starts where the phone changes or its thirds restart.
        starts = np.r_[True, (np.diff(phone) != 0) | (np.diff(third) < 0)]
        name = f"{folder}/{sentence}"
        utterances.append(
            Utterance(name, speaker, _part(speaker, []), X, phone, third, phone[starts])
        )
    return utterances


# --- recordings ----------------------------------------------------------------------------------
def count_recordings(folder: Path) -> int:
    """How many phone files there are in a folder and below."""
    return sum(p.suffix.lower() == ".phn" for p in folder.rglob("*"))


def read_folder(folder: Path) -> list[Utterance]:
    """The utterances of a folder in TIMIT's own layout: .WAV beside .PHN, a folder per speaker.

    Upper or lower case, NIST sphere or RIFF; the sentences all speakers share are left out.
    """
    labelled = sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".phn")
    if not labelled:
        raise ValueError(
            f"{folder} holds no .PHN files; give a folder in TIMIT's own layout, "
            f"TRAIN/DR1/SPEAKER/SENTENCE.WAV beside SENTENCE.PHN"
        )
    return [_read_recording(path, folder) for path in labelled if not _is_shared(path.stem)]


def _read_recording(path: Path, root: Path) -> Utterance:
    audio = next((p for p in (path.with_suffix(s) for s in (".WAV", ".wav")) if p.exists()), None)
    if audio is None:
        raise ValueError(f"{path} has no recording beside it; {path.stem}.WAV is missing")
    starts, ends, spoken = read_phones(path)
    samples = read_audio(audio)
    # The last phone may be marked a little too long; by more than 0.1 s, the files do not match.
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
