"""The table and the picture of `quadfeat bench`, from records alone."""

import numpy as np
import pytest

from quadfeat.app import bench, workloads


@pytest.fixture
def records():
    seconds = {"engine": 0.010, "peer": 0.070, "numpy": 0.030, "write": 0.005}
    return [
        *(
            bench.record_of(name, dtype, 1, 1000, 4096, seconds)
            for name in workloads.WORKLOADS
            for dtype in (np.float32, np.float64)
        ),
        *(
            bench.record_of(f"sweep {axis}", np.float32, 1, n, n, seconds)
            for axis in ("rows", "columns")
            for n in (250, 1000)
        ),
    ]


def test_every_workload_has_a_title_and_a_target():
    assert workloads.TARGETS.keys() == workloads.WORKLOADS.keys()
    assert len({target.title for target in workloads.TARGETS.values()}) == len(workloads.TARGETS)


def test_the_table_names_workloads_in_words_and_explains_its_columns(records):
    text = bench.table(records)
    head, *lines = text.splitlines()
    for target in workloads.TARGETS.values():
        assert sum(line.startswith(target.title) for line in lines) == 2  # one for each dtype
    for heading in ("vs peer", "of limit", "must be"):
        assert heading in head and any(line.startswith(heading) for line in lines)
    dense = next(line.split() for line in lines if line.startswith("dense map"))
    assert dense[4:10] == ["float32", "1", "10.0", "7.0", "6", "50%"]


def test_the_picture_is_drawn_from_records_alone(records, tmp_path):
    bench.draw(records, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
