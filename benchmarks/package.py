"""Build the sdist and the wheel, and test them in a fresh environment: `make package`.

    python benchmarks/package.py [--all] [--tests PATH ...] [--keep FOLDER]

The wheel is built from the sdist and installed into an empty environment without a compiler on
PATH; the time to a first prediction is printed, including downloads of dependencies. Then the tests
of the unpacked sdist and the examples in the wheel's docstrings are run outside of this folder:
all, or those named. They test the wheel, because nothing imports the `src` of the sdist; tests that
read files (the README, sources, pages) read those of the sdist. Tests that compile and those of the
built site are skipped, and without `--all` those of torch, ONNX and Spark.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIRST = """
import shutil, numpy as np, quadfeat as qf
assert not any(map(shutil.which, ("cc", "gcc", "g++", "clang", "cmake"))), "a compiler is on PATH"
X = np.random.default_rng(0).normal(size=(1000, 3))
model = qf.KernelRegressor().fit(X, np.sin(X[:, 0]))
print("first prediction", model.predict(X[:1]), qf.engine_info()["engine"], qf.__file__)
"""
# Packages that the tests import.
TESTS = ["pytest>=8", "pytest-xdist>=3.5", "pandas>=2.2", "polars>=1.0", "mpmath>=1.3"]
COMPILERS = re.compile(r"(.*-)?(cc|c\+\+|c89|c99|gcc|g\+\+|clang|clang\+\+)(-[\d.]+)?|cmake|ninja")


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel built from it."""
    run([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    for made in (sdist, wheel):
        print(f"{made.name}: {made.stat().st_size / 1e6:.2f} MB")
    return sdist, wheel


def run(command: list[object], **options: object) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def children_seconds() -> float:
    """CPU time of finished processes, which depends little on other programs."""
    used = os.times()
    return used.children_user + used.children_system


def without_compiler(environment: Path) -> dict[str, str]:
    """The environment of a shell without compilers on PATH; pip's settings stay."""
    tools = environment / "tools"
    tools.mkdir()
    for folder in filter(os.path.isdir, os.environ["PATH"].split(os.pathsep)):
        for program in Path(folder).iterdir():
            link = tools / program.name
            if not (COMPILERS.fullmatch(program.name) or link.is_symlink()):
                link.symlink_to(program)
    kept = ("PIP_", "QUADFEAT_", "LANG", "LC_", "HOME")
    variables = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    path = os.pathsep.join(map(str, (environment / "bin", tools)))
    return {**variables, "PATH": path, "OPENBLAS_NUM_THREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", nargs="*", metavar="PATH", help="run these; none: no tests")
    parser.add_argument("--all", action="store_true", help="install torch, ONNX and Spark, too")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work here and keep all")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="quadfeat-package-"))
    try:
        sdist, wheel = build(folder / "dist")
        environment = folder / "environment"
        shutil.rmtree(environment, ignore_errors=True)
        run([sys.executable, "-m", "venv", environment])
        python, variables = environment / "bin" / "python", without_compiler(environment)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]

        steps = {"install": [*pip, wheel], "fit and predict": [python, "-c", FIRST]}
        for step, command in steps.items():
            clocks = time.perf_counter(), children_seconds()
            run(command, env=variables, cwd=folder)
            wall, cpu = time.perf_counter() - clocks[0], children_seconds() - clocks[1]
            print(f"{step}: {wall:.1f} s, {cpu:.1f} s of CPU time", flush=True)

        if options.tests != []:
            extras = "cli,dask,nufft" + ",torch,onnx,spark" * options.all
            run([*pip, f"{wheel}[{extras}]", *TESTS], env=variables, cwd=folder)
            if options.all:
                run([*pip, "onnxruntime"], env=variables, cwd=folder)
            with tarfile.open(sdist) as archive:
                archive.extractall(folder, filter="data")
            tree = folder / sdist.name.removesuffix(".tar.gz")
            paths = options.tests or ["tests", "--pyargs", "quadfeat"]
            command = [python, "-P", "-m", "pytest", "--quiet", "--numprocesses=2", *paths]
            run(command, env=variables, cwd=tree)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
