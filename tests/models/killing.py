"""Fits in processes that are killed without warning, and resumed from their checkpoints."""

import os
import signal
import time

import numpy as np

import quadfeat as qf
from quadfeat.data import archive


def fit_and_save(make, data, folder):
    """Run in one process: a fit that resumes from the checkpoint, if there is one."""
    model = make(folder / "checkpoint").fit(*data)
    qf.save(model, folder / "model.qf")


def duration(make, data, folder) -> float:
    """Seconds of an uninterrupted fit; its model stays in the folder."""
    began = time.monotonic()
    assert _wait(_started(make, data, folder)) == 0
    return time.monotonic() - began


def killed_until_done(make, data, folder, seconds, rng, kills) -> int:
    """Kill and resume a fit until it ends, at most `kills` times; the number of kills."""
    done = 0
    while True:
        child = _started(make, data, folder)
        if done < kills:
            time.sleep(rng.uniform(0, seconds))
            os.kill(child, signal.SIGKILL)
        status = _wait(child)
        if (folder / "checkpoint").exists():
            archive.read(folder / "checkpoint")  # whole, whenever the process died
        if status == 0:
            return done
        assert os.WIFSIGNALED(status), "the fit failed by itself"
        done += 1


def same_model(one, two) -> bool:
    """Whether two saved models have the same bits."""
    (manifest, arrays), (other, theirs) = archive.read(one), archive.read(two)
    return manifest == other and all(
        np.array_equal(array, theirs[name]) for name, array in arrays.items()
    )


def _started(make, data, folder) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fit_and_save(make, data, folder)
            status = 0
        finally:
            os._exit(status)
    return child


def _wait(child) -> int:
    return os.waitpid(child, 0)[1]
