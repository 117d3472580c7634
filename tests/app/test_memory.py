"""The peak memory of a piece of work."""

import numpy as np
import pytest

from quadfeat.app import memory


def test_an_array_that_is_gone_at_the_end_counts():
    with memory.peak_memory() as peak:
        filled = np.ones(20_000_000)  # 160 MB
        filled = float(filled[0])
    if peak.bytes is None:
        pytest.skip("this system does not tell")
    assert 155e6 < peak.bytes < 200e6
    with memory.peak_memory() as second:
        pass
    assert second.bytes < 20e6  # what was freed before does not count


def test_where_the_system_does_not_tell_it_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_RESET", tmp_path / "no" / "file")
    with memory.peak_memory() as peak:
        pass
    assert peak.bytes is None
