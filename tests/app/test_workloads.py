"""The jobs that `quadfeat bench` times compute the same features, and all of them are timed."""

import json
import sys

import numpy as np
import pytest

from quadfeat.app import bench, main, workloads

SMALL = {
    "W1": lambda dtype: workloads.dense(dtype, 1, n=40, d=6, columns=64),
    "W2": lambda dtype: workloads.anova(dtype, 1, n=40),
    "W3 shared": lambda dtype: workloads.windows(dtype, 1, True, n=5),
    "W3 distinct": lambda dtype: workloads.windows(dtype, 1, False, n=5),
    "W4": lambda dtype: workloads.grids(dtype, 1, n=40),
    "W2 fresh": lambda dtype: workloads.fresh(dtype, 1, n=40),
}
OTHER_NODES = ("W1", "W4")  # whose peer has as many nodes, but not the same


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SMALL)
def test_the_jobs_of_a_workload_compute_features_of_the_same_kernel(name, dtype, monkeypatch):
    arrays = []
    monkeypatch.setattr(
        workloads, "touched", lambda *given: arrays.append(_touched(*given)) or arrays[-1]
    )
    work = SMALL[name](dtype)
    assert work.name == name and list(work.jobs)[:2] == ["engine", "peer"]

    def gram(job):
        arrays[-1].fill(np.nan)
        Z = work.jobs[job]()
        Z = np.asarray(arrays[-1] if Z is None else Z, dtype=np.float64)
        assert Z.shape == (len(work.X), work.columns)
        return Z @ Z.T

    ours = gram("engine")
    # Angles round to eps |angle|, and the sines of all pairs of columns with them.
    largest = 8 * np.abs(work.X).sum(axis=1).max() * np.finfo(dtype).eps * ours.diagonal().max()
    for job in work.jobs:
        if not (job == "peer" and name in OTHER_NODES):
            np.testing.assert_allclose(gram(job), ours, rtol=0, atol=largest, err_msg=job)


_touched = workloads.touched


def test_every_job_is_run_once_to_warm_up_and_once_in_every_round():
    calls = []
    jobs = {name: lambda name=name: calls.append(name) for name in "ab"}
    best = bench.interleave(jobs, 2)
    assert calls == ["a", "b"] * 3
    assert best.keys() == jobs.keys() and all(0 <= seconds < 1 for seconds in best.values())


def test_the_limit_is_a_write_and_the_product_where_there_is_one():
    work = SMALL["W1"](np.float32)
    jobs = bench.limits(work, np.float32, 1)
    assert list(jobs) == ["write", "product"]
    assert jobs["product"]().shape == (40, 32) and jobs["write"]() is None
    assert list(bench.limits(SMALL["W4"](np.float32), np.float32, 1)) == ["write"]


@pytest.fixture
def small(monkeypatch):
    """Workloads of few rows, each job of which runs once."""
    few = {name: lambda dtype, threads, part, f=f: f(dtype) for name, f in SMALL.items()}
    monkeypatch.setattr(bench, "WORKLOADS", few)
    monkeypatch.setattr(
        bench,
        "dense",
        lambda dtype, threads, n, columns: workloads.dense(dtype, threads, 20, 4, 16),
    )
    claim = bench.claim
    monkeypatch.setattr(bench, "claim", lambda repeats, n: claim(repeats, 10))
    interleave = bench.interleave
    monkeypatch.setattr(bench, "interleave", lambda jobs, repeats: interleave(jobs, 1))


@pytest.mark.parametrize("as_json", [False, True])
def test_the_bench_leaves_records_and_a_picture(as_json, small, monkeypatch, capsys, tmp_path):
    arguments = ["quadfeat", "bench", "--quick", "--out", str(tmp_path)] + ["--json"] * as_json
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capsys.readouterr()
    assert not end.value.code, err
    records = [json.loads(line) for line in (tmp_path / "speed.jsonl").read_text().splitlines()]
    assert {record["work"] for record in records} == {
        *SMALL,
        "sweep rows",
        "sweep columns",
        "claim",
    }
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    if as_json:
        assert [json.loads(line) for line in out.splitlines()] == records
    else:
        unwrapped = out.replace("\n", "")  # a long path takes two lines
        assert "speed.png" in unwrapped
        assert all(t.title in out for t in workloads.TARGETS.values())
        told = next(
            line for line in out.splitlines() if line.startswith("the paper's claim, float32")
        )
        claim = next(r for r in records if r["work"] == "claim" and r["dtype"] == "float32")
        seconds = claim["seconds"]
        assert f"{seconds['grid'] / seconds['random']:.2f} of the time" in told


def test_progress_is_reported_as_often_as_is_said(small):
    told = []
    bench.run(True, told.append)
    assert len(told) == bench.steps()


@pytest.mark.skipif(not hasattr(bench.os, "getloadavg"), reason="no load average on this system")
def test_without_a_load_average_none_is_told(small):
    records = bench.run(True)
    assert "load average" in bench.table(records)
    assert "load average" not in bench.table([record | {"load": None} for record in records])
