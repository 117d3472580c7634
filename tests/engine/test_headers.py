"""Every C++ header can be compiled on its own."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

nanobind = pytest.importorskip("nanobind")  # not where a wheel is tested
HEADERS = sorted(Path(__file__).parents[2].glob("src/quadfeat/_engine/cpp/*.hpp"))
COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.name)
def test_a_header_includes_what_it_uses(header):
    if COMPILER is None:  # nor an engine to compile: the package runs on NumPy
        return
    includes = [f"-I{nanobind.include_dir()}", f"-I{sysconfig.get_paths()['include']}"]
    macros = ["-DQUADFEAT_ISA=baseline", "-DQUADFEAT_BYTES=16", "-fvisibility=hidden"]
    command = [COMPILER, "-std=c++17", "-fsyntax-only", "-Wno-psabi", *macros, *includes]
    subprocess.run([*command, "-x", "c++", "-include", header, "/dev/null"], check=True)


def test_no_header_is_longer_than_450_lines():
    lengths = {header.name: len(header.read_text().splitlines()) for header in HEADERS}
    assert not {name: n for name, n in lengths.items() if n > 450}
