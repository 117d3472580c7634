"""Jobs that write files, run in processes that are stopped at any moment; what they may leave."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet  # noqa: F401 - once, not in every child

import quadfeat as qf
from quadfeat.app.main import main
from quadfeat.data import archive
from quadfeat.data.writers import SINKS
from tests.models.killing import fit_and_save, same_model

_PATIENCE = 30.0  # seconds, after which a process that was told to stop is killed
OLD = b"earlier"


@dataclass(frozen=True)
class Job:
    """Something that writes a file, and where an undisturbed run of it has left its own.

    Attributes
    ----------
    name : str
    run : function of the folder to write in
    output : str, name of the file
    whole : Path of the file that it writes when nothing happens
    seconds : float, that this took
    """

    name: str
    run: Callable[[Path], None]
    output: str
    whole: Path
    seconds: float

    @classmethod
    def undisturbed(cls, name: str, run: Callable[[Path], None], output: str, at: Path) -> Job:
        """The job after a run of it in a folder of its own under `at`."""
        folder = at / name.replace(" ", "-")
        folder.mkdir()
        began = time.monotonic()
        ended = Child(partial(run, folder)).wait()
        assert ended == 0, f"{name} ends with {ended} by itself"
        return cls(name, run, output, folder / output, time.monotonic() - began)

    def started(self, folder: Path) -> Child:
        """A process that has begun with the job."""
        return Child(partial(self.run, folder))

    def fault(self, folder: Path, status: int, *, had: bool, killed: bool = False) -> str:
        """What is wrong with the files that a stopped run has left; "" if nothing.

        Parameters
        ----------
        folder : that it wrote in
        status : int, that it ended with
        had : bool, whether there was an earlier file
        killed : bool, whether it had no chance to remove its temporary files
        """
        for path in sorted(folder.iterdir()):
            temporary = path.name.startswith(".") and path.suffix == ".tmp"
            if path.name not in (self.output, "checkpoint") and not (killed and temporary):
                return f"{path.name} is left"
        if (folder / "checkpoint").exists():
            try:
                archive.read(folder / "checkpoint")
            except ValueError as error:
                return f"the checkpoint is not whole: {error}"
        path = folder / self.output
        if not path.exists():
            return "there is no file" if had or status == 0 else ""
        if path.read_bytes() == OLD:
            return "" if had and status else "the earlier file is still there"
        return "" if self.is_whole(path) else "the file is not whole"

    def is_whole(self, path: Path) -> bool:
        """Whether a file is what an undisturbed run writes."""
        if path.suffix != ".qf":
            return path.read_bytes() == self.whole.read_bytes()
        try:
            return bool(same_model(path, self.whole))
        except ValueError:
            return False


class Child:
    """A function in a process of its own, forked, with nothing on the screen.

    It ends with 0, with 130 after Ctrl-C, or with 1 after any other error, which is in `log`, with
    warnings and whatever else was said.
    """

    def __init__(self, run: Callable[[], Any], log: Path = Path(os.devnull)) -> None:
        read_end, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._child(run, write_end, log)
        os.close(write_end)
        os.read(read_end, 1)  # it has begun
        os.close(read_end)

    @staticmethod
    def _child(run: Callable[[], Any], write_end: int, log: Path) -> None:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            said = os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            for descriptor in (1, 2):
                os.dup2(said, descriptor)
            warnings.simplefilter("always")
            os.write(write_end, b"x")
            run()
            status = 0
        except KeyboardInterrupt:
            status = 130
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}".encode())
        finally:
            sys.stderr.flush()
            os._exit(status)

    def wait(self, patience: float = 600.0) -> int:
        """What it ends with, negative for a signal; it is killed when patience is over."""
        end = time.monotonic() + patience
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                end = np.inf
            time.sleep(0.0005)

    def stop(self, how: signal.Signals, after: float) -> tuple[int, float]:
        """Send a signal after some seconds: what it ends with, and seconds from then on."""
        time.sleep(after)
        began = time.monotonic()
        os.kill(self.pid, how)
        return self.wait(_PATIENCE), time.monotonic() - began


def jobs(at: Path) -> Iterator[Job]:
    """A checkpointed fit, `save`, and `predict` and `transform` to a file of every format."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    np.save(at / "rows.npy", X)
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=128, random_state=0)
    model = qf.KernelRegressor(features, alpha=1.0, verbose=False).fit(X[:5000], y[:5000])
    small = qf.RandomFourier(qf.Gaussian(0.5), n_components=24, random_state=0).fit(X)
    wide = qf.RandomFourier(qf.Gaussian(0.5), n_components=2**17, random_state=0).fit(X[:100])
    qf.save(model, at / "model.qf")
    qf.save(small, at / "map.qf")

    def checkpointed(path: Path) -> Any:
        return qf.KernelRegressor(
            features, alpha=1.0, checkpoint=path, checkpoint_interval=0, verbose=False
        )

    yield Job.undisturbed("fit", partial(fit_and_save, checkpointed, (X, y)), "model.qf", at)
    yield Job.undisturbed("save", partial(_saved, wide), "map.qf", at)
    for command, what in (("predict", "model.qf"), ("transform", "map.qf")):
        for ending in SINKS:
            run = partial(_command, [command, str(at / what), str(at / "rows.npy")], ending)
            yield Job.undisturbed(f"{command} to {ending[1:]}", run, f"out{ending}", at)


def _saved(estimator: Any, folder: Path) -> None:
    qf.save(estimator, folder / "map.qf")


def _command(words: list[str], ending: str, folder: Path) -> None:
    sys.argv = ["quadfeat", *words, "--out", str(folder / f"out{ending}")]
    main()
