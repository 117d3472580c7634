"""Speech is read as it was recorded, and damaged files are named."""

import io
import lzma
import tarfile

import numpy as np
import pytest
from scipy.io import wavfile

from quadfeat.experiments.datasets import Data, MissingData
from quadfeat.experiments.figures import fig2b, fig2c
from quadfeat.experiments.speech import corpus as reading
from quadfeat.experiments.speech import front_end, utterances
from quadfeat.experiments.speech.utterances import FOLD39, FOLD48, PHONES39, PHONES48, PHONES61

from .conftest import PACKED, sphere


def test_61_phones_fold_to_48_and_39():
    assert (len(PHONES61), len(PHONES48), len(PHONES39)) == (
        61,
        48,
        39,
    )
    folded = {
        phone: "" if k < 0 else PHONES39[FOLD39[k]]
        for phone, k in zip(PHONES61, FOLD48, strict=True)
    }
    assert folded["q"] == ""
    for group in ("sil: h# pau epi bcl tcl", "ah: ah ax ax-h", "sh: sh zh", "er: er axr"):
        to, members = group.split(": ")
        assert {folded[member] for member in members.split()} == {to}


def test_phones_fold_as_in_the_packed_sample(data_folder):
    with np.load(data_folder / PACKED) as packed:
        names = [tuple(packed[f"names{n}"]) for n in (61, 48, 39)]
        assert names == [PHONES61, PHONES48, PHONES39]
        y48 = FOLD48[packed["y61"]]
        np.testing.assert_array_equal(np.where(y48 < 0, 255, y48), packed["y48"])
        np.testing.assert_array_equal(np.where(y48 < 0, 255, FOLD39[y48]), packed["y39"])


def test_sphere_and_riff_files_hold_the_same_samples(tmp_path, rng):
    samples = rng.integers(-30000, 30000, size=1000).astype(np.int16)
    wavfile.write(tmp_path / "riff.wav", 16000, samples)
    (tmp_path / "little.wav").write_bytes(sphere(samples))
    (tmp_path / "big.wav").write_bytes(sphere(samples, ">i2"))
    for name in ("riff", "little", "big"):
        read = reading.read_audio(tmp_path / f"{name}.wav")
        np.testing.assert_array_equal(read, samples)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"nothing", "neither a NIST sphere nor a RIFF"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt \x10", "damaged RIFF"),
        (sphere(np.zeros(10)).replace(b"sample_count", b"sample_bount"), "damaged sphere header"),
        (sphere(np.zeros(10))[:-4], "ends before its 10 samples"),
        (sphere(np.zeros(10)).replace(b"pcm", b"pcm,embedded-shorten-v2.00"), "sph2pipe"),
        (sphere(np.zeros(10)).replace(b"16000", b"08000"), "16000 Hz"),
    ],
)
def test_damaged_recordings_are_refused_by_name(tmp_path, content, complaint):
    path = tmp_path / "SX1.WAV"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=complaint) as refusal:
        reading.read_audio(path)
    assert str(path) in str(refusal.value)


def test_recordings_give_the_packed_frames_to_the_last_bit(data_folder, tmp_path):
    with lzma.open(data_folder / "timit_nltk_sample.tar.xz") as packed:
        content = io.BytesIO(packed.read())
    with tarfile.open(fileobj=content) as tar:
        tar.extractall(tmp_path, filter="data")
    read = {u.name: u for u in Data(tmp_path).speech()}
    sample = Data(data_folder).speech()
    assert len(read) == len(sample) == 128
    for utterance in sample:
        other = read[utterance.name]
        np.testing.assert_array_equal(other.frames, utterance.frames)
        np.testing.assert_array_equal(other.state, utterance.state)
        assert (other.part, other.speaker) == (utterance.part, utterance.speaker)
        # A phone without a frame of its own is in the file only.
        assert 0 <= len(other.spoken) - len(utterance.spoken) <= 1


def test_a_corpus_in_its_own_layout_is_read_and_divided(corpus):
    utterances = Data(corpus).speech()
    assert len(utterances) == 24  # without the sentences that all speakers share
    parts = {u.speaker: u.part for u in utterances}
    assert parts["faa3"] == "train"
    assert {parts["mdab0"], parts["felc0"]} == {"test"}
    assert {parts["mxyz0"], parts["fxyz0"]} == {"dev"}
    first = utterances[0]
    assert first.frames.shape == (98, 40) and first.frames.dtype == np.float32
    assert PHONES61[first.phone[0]] == "h#"


def test_the_label_is_the_phone_at_the_middle_of_the_window(corpus):
    utterance = next(u for u in Data(corpus).speech() if u.name == "felc0/si10")
    path = corpus / "TEST" / "DR2" / "FELC0" / "SI10.PHN"
    rows = [line.split() for line in path.read_text().splitlines()]
    for t in (0, 13, 50, 97):
        centre = 160 * t + 200
        (start, end, phone), *_ = [r for r in rows if int(r[0]) <= centre < int(r[1])]
        assert PHONES61[utterance.phone[t]] == phone
        assert utterance.third[t] == 3 * (centre - int(start)) // (int(end) - int(start))


def test_missing_speech_says_what_is_needed(tmp_path):
    for data in (Data(None), Data(tmp_path)):
        for experiment in (fig2b, fig2c):
            with pytest.raises(MissingData, match=r"timit_sample_frames\.npz .*TRAIN/DR1"):
                experiment.cells("small", data)


def test_a_corrupt_archive_is_named(tmp_path):
    (tmp_path / PACKED).write_bytes(b"PK broken")
    with pytest.raises(ValueError, match=r"timit_sample_frames\.npz.*copy it again"):
        Data(tmp_path).speech()


def test_a_recording_shorter_than_its_phones_is_named(tmp_path):
    folder = tmp_path / "TRAIN" / "DR1" / "FAA0"
    folder.mkdir(parents=True)
    (folder / "SI1.WAV").write_bytes(sphere(np.zeros(3000)))
    (folder / "SI1.PHN").write_text("0 3000 h#\n3000 9000 aa\n")
    with pytest.raises(ValueError, match=r"SI1\.WAV has 3000 samples.*end at 9000"):
        Data(tmp_path).speech()
    (folder / "SI1.PHN").write_text("0 3000 h#\n")
    with pytest.raises(ValueError, match="no speakers for dev"):
        Data(tmp_path).speech()


def test_a_recording_shorter_than_a_window_is_named(tmp_path):
    path = tmp_path / "SI1.WAV"
    path.write_bytes(sphere(np.zeros(front_end.WINDOW - 1)))
    with pytest.raises(ValueError, match=r"SI1\.WAV has 399 samples, less than 25 ms"):
        reading.read_audio(path)
    path.write_bytes(sphere(np.zeros(front_end.WINDOW)))
    assert len(front_end.log_mel(reading.read_audio(path))) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 100 nonsense\n", "is not a phone file"),
        ("0 aa\n", "is not a phone file"),
        ("", "has no phone, or one that ends before it starts"),
        ("0 100 h#\n100 100 aa\n", "has no phone, or one that ends before it starts"),
    ],
)
def test_phone_files_that_cannot_be_read_are_named(text, words, tmp_path):
    (tmp_path / "SA.PHN").write_text(text)
    with pytest.raises(ValueError, match=rf"SA\.PHN.*{words}"):
        reading.read_phones(tmp_path / "SA.PHN")
    (tmp_path / "SA.PHN").write_text("0 100 h#\n\n100 200 aa\n")
    starts, ends, spoken = reading.read_phones(tmp_path / "SA.PHN")
    assert [starts.tolist(), ends.tolist()] == [[0, 100], [100, 200]] and len(spoken) == 2


def test_a_folder_without_phones_or_recordings_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"holds no \.PHN files; give a folder in TIMIT's own"):
        reading.read_folder(tmp_path)
    (tmp_path / "S1.PHN").write_text("0 100 h#\n")
    with pytest.raises(ValueError, match=r"has no recording beside it; S1\.WAV is missing"):
        reading.read_folder(tmp_path)


def test_a_part_without_speech_has_no_rows():
    with pytest.raises(ValueError, match="no utterance in this part of the speech data"):
        utterances.rows([], lambda utterance: utterance.frames)
