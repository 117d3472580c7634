"""Files are replaced atomically: links, permissions, several writers, kills and full disks."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data import archive, atomic
from quadfeat.data.writers import sink

SINKS = (".csv", ".parquet", ".npy")


def _write_rows(path, value=1.0):
    with sink(path, ["a"]) as out:
        out.write(np.full(3, value))


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def _save(path):
    qf.save(qf.Gaussian(0.5), path)


WRITERS = {"m.qf": _save, **{f"out{ending}": _write_rows for ending in SINKS}}


@pytest.mark.parametrize("name", WRITERS)
def test_links_with_the_names_of_temporary_files_are_not_followed(name, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for planted in (f".{name}.tmp", f".{name}.{'0' * 16}.tmp"):
        (tmp_path / planted).symlink_to(victim)
    WRITERS[name](tmp_path / name)
    assert victim.read_text() == "precious" and victim.stat().st_nlink == 1
    assert not (tmp_path / name).is_symlink()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_keeps_its_permissions(name, mode, tmp_path):
    (tmp_path / name).write_text("")
    (tmp_path / name).chmod(mode)
    WRITERS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size and _mode(tmp_path / name) == mode


@pytest.mark.parametrize("name", WRITERS)
def test_a_new_file_has_the_permissions_of_any_new_file(name, tmp_path):
    earlier = os.umask(0o027)
    try:
        WRITERS[name](tmp_path / name)
    finally:
        os.umask(earlier)
    assert _mode(tmp_path / name) == 0o640


def test_what_is_being_written_is_as_private_as_the_earlier_file(tmp_path):
    (tmp_path / "m").write_text("")
    (tmp_path / "m").chmod(0o600)
    with atomic.replacing(tmp_path / "m"):
        (beside,) = set(tmp_path.iterdir()) - {tmp_path / "m"}
        assert _mode(beside) == 0o600


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("earlier", [True, False])
def test_a_link_stays_and_what_it_points_to_is_written(name, earlier, tmp_path):
    target = tmp_path / "elsewhere" / name
    target.parent.mkdir()
    if earlier:
        target.write_text("earlier")
    (tmp_path / name).symlink_to(target)
    WRITERS[name](tmp_path / name)
    assert (tmp_path / name).is_symlink() and target.read_bytes()[:7] != b"earlier"
    assert [path.name for path in target.parent.iterdir()] == [name]


def test_what_is_no_regular_file_is_refused_and_kept(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "folder.csv").mkdir()
    for name, why in (("pipe", "regular"), ("loop", "regular"), ("folder", "is a folder")):
        before = os.lstat(tmp_path / f"{name}.csv").st_mode
        with pytest.raises(OSError, match=f"{name}.csv was not written .*{why}"):
            _write_rows(tmp_path / f"{name}.csv")
        assert os.lstat(tmp_path / f"{name}.csv").st_mode == before


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    for name in ("m" * 255, "ü" * 127):
        atomic.replace(tmp_path / name, "whole")
        assert (tmp_path / name).read_text() == "whole"


def test_ctrl_c_leaves_the_earlier_file_and_no_other(tmp_path):
    atomic.replace(tmp_path / "m", "earlier")
    with pytest.raises(KeyboardInterrupt), atomic.replacing(tmp_path / "m") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert (tmp_path / "m").read_text() == "earlier"
    assert os.listdir(tmp_path) == ["m"]


# --- several writers ------------------------------------------------------------------------------
def test_of_two_writers_at_once_the_last_to_finish_wins(tmp_path):
    path = tmp_path / "m"
    with atomic.replacing(path) as late:
        with atomic.replacing(path) as early:
            early.write(b"early")
            late.write(b"late")
            assert len(os.listdir(tmp_path)) == 2
        assert path.read_text() == "early"
    assert path.read_text() == "late" and os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("ending", SINKS)
def test_two_processes_that_write_one_file_do_not_mix_their_rows(ending, tmp_path):
    path = tmp_path / f"out{ending}"
    code = """
import sys, numpy as np
from pathlib import Path
from quadfeat.data.writers import sink
with sink(Path(sys.argv[1]), ["a"]) as out:
    print("open", flush=True)
    for _ in range(3):
        sys.stdin.readline()
        out.write(np.full(10_000, float(sys.argv[2])))
        print("written", flush=True)
"""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, path, value],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for value in ("1", "2")
    ]
    for step in range(4):  # in turns, block by block
        for process in both:
            process.stdout.readline()
            if step < 3:
                process.stdin.write("\n")
    for process in both:
        assert process.wait() == 0
        process.stdin.close()
        process.stdout.close()
    if ending == ".npy":
        found = np.load(path)
    elif ending == ".csv":
        found = np.loadtxt(path, skiprows=1)
    else:
        found = pytest.importorskip("pandas").read_parquet(path)["a"].to_numpy()
    assert len(found) == 30_000 and len(np.unique(found)) == 1
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_can_be_loaded_while_it_is_saved(tmp_path):
    path = tmp_path / "m.qf"
    sizes, done = (1, 50_000), threading.Event()
    archive.write(path, {}, {"a": np.ones(1)})

    def write():
        for i in range(200):
            archive.write(path, {}, {"a": np.ones(sizes[i % 2])})
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        _, arrays = archive.read(path)
        assert len(arrays["a"]) in sizes
    writer.join()


# --- what a killed writer leaves ------------------------------------------------------------------
def _killed_while_writing(path):
    """Kill a process while it writes a file; the name of its temporary file."""
    before = set(path.parent.iterdir())
    code = (
        "import os, sys\nfrom quadfeat.data import atomic\n"
        "with atomic.replacing(sys.argv[1]) as file:\n"
        "    file.write(bytes(100_000))\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == -signal.SIGKILL
    (left,) = set(path.parent.iterdir()) - before
    return left


def test_what_killed_writers_leave_goes_with_the_next_writer_of_that_file(tmp_path):
    path, other = tmp_path / "out.csv", tmp_path / "other.csv"
    left, others = _killed_while_writing(path), _killed_while_writing(other)
    assert left.suffix == ".tmp" and left.name.startswith(".")
    with atomic.replacing(path):
        assert not left.exists() and others.exists()
    assert {each.name for each in tmp_path.iterdir()} == {"out.csv", others.name}


def test_what_is_being_written_is_not_taken_for_what_was_left(tmp_path):
    with atomic.replacing(tmp_path / "m") as file:
        atomic.remove_stale(tmp_path / "m")
        subprocess.run(
            [sys.executable, "-c", "import sys; from quadfeat.data import atomic as a; "
             "a.remove_stale(sys.argv[1])", tmp_path / "m"],
            check=True,
        )  # fmt: skip
        file.write(b"whole")
    assert (tmp_path / "m").read_text() == "whole"


def test_a_writer_whose_file_is_taken_away_before_it_is_locked_makes_another(tmp_path, monkeypatch):
    flock, taken = atomic.fcntl.flock, []

    def late(descriptor, operation):
        if not taken:
            (beside,) = tmp_path.iterdir()
            taken.append(beside)
            beside.unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(atomic.fcntl, "flock", late)
    atomic.replace(tmp_path / "m", "whole")
    assert taken and (tmp_path / "m").read_text() == "whole"
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("write", [lambda p: atomic.replace(p, b"new"), atomic.try_out])
def test_ctrl_c_while_a_temporary_file_is_created_leaves_none(write, tmp_path, monkeypatch):
    def interrupted(descriptor, path):
        assert len(os.listdir(tmp_path)) == 2
        raise KeyboardInterrupt

    path = tmp_path / "m"
    path.write_text("earlier")
    monkeypatch.setattr(atomic, "_is_named", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(path)
    assert path.read_text() == "earlier" and os.listdir(tmp_path) == ["m"]


# --- full disks -----------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", SINKS)
def test_rows_on_a_full_disk_leave_the_earlier_file_and_no_other(ending, tmp_path):
    path = tmp_path / f"out{ending}"
    path.write_text("earlier")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with (
            pytest.raises(OSError, match=f"out{ending} was not written"),
            sink(path, ["a"]) as out,
        ):
            for i in range(10):
                out.write(np.random.default_rng(i).random(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "earlier" and os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", WRITERS)
def test_without_locks_files_are_replaced_and_others_stay(name, tmp_path, monkeypatch):
    """As on Windows, where a file must be closed before it is renamed."""
    monkeypatch.setattr(atomic, "fcntl", None)
    closed, replace = [], os.replace

    def renamed(source, target):
        closed.append(not any(_opens(source)))
        replace(source, target)

    monkeypatch.setattr(atomic.os, "replace", renamed)
    path, stale = tmp_path / name, tmp_path / f".{name}.{'0' * 16}.tmp"
    stale.write_text("of a writer that may still live")
    for _ in range(2):
        WRITERS[name](path)
    assert closed == [True, True] and path.stat().st_size > 0
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, stale.name])


def _opens(path):
    """The descriptors of this process that have a file open."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return
    for descriptor in os.listdir(folder):
        try:
            if os.path.samefile(os.path.join(folder, descriptor), path):
                yield descriptor
        except OSError:
            continue


def test_a_temporary_file_that_was_renamed_meanwhile_is_not_removed(tmp_path, monkeypatch):
    stale = tmp_path / f".m.qf.{'0' * 16}.tmp"
    stale.write_text("stale")
    monkeypatch.setattr(atomic, "_is_named", lambda descriptor, path: False)
    atomic.remove_stale(tmp_path / "m.qf")
    assert stale.exists()
    monkeypatch.undo()
    atomic.remove_stale(tmp_path / "m.qf")
    assert not stale.exists()
