"""Every Python block of the documents runs, and of the README without those of other sections."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[2]


def sections(path):
    """The Python blocks of each section; of documents other than the README, of all together."""
    text = path.read_text()
    parts = re.split(r"^## ", text, flags=re.M) if path.name == "README.md" else [text]
    code = [re.findall(r"```python\n(.*?)```", part, flags=re.S) for part in parts]
    return [blocks for blocks in code if blocks]


PAGES = [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = ["README.md", *(page for page in PAGES if sections(ROOT / page))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_documents_code_runs(name, monkeypatch, tmp_path):
    for package in ("torch", "onnx", "onnxruntime") if "export" in name else ():
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    code = sections(ROOT / name)
    assert code
    for blocks in code:
        namespace = {}
        for block in blocks:
            exec(compile(block, name, "exec"), namespace)


def test_what_the_documents_name_exists():
    for name in ("README.md", "CONTRIBUTING.md", "docs/cluster.md", "docs/export.md"):
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", text):
            assert (ROOT / target).exists(), f"{name} links to {target}"
        for path in re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), f"{name} names {path}"


def test_the_walk_names_functions_where_they_are():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(src/[^`]+)` \| ([^|]+) \|", text, flags=re.M)
    assert len(rows) > 15
    for path, names in rows:
        source = (ROOT / path).read_text()
        for name in re.findall(r"`([\w.]+)`", names):
            for part in name.split("."):
                defined = re.search(rf"^\s*(def|class) {part}\b", source, flags=re.M)
                assert defined, f"{path} does not define {part}"


def test_what_has_moved_is_where_the_changelog_says():
    text = (ROOT / "CHANGELOG.md").read_text()
    moved = re.findall(r"^\| `quadfeat[^|]*\| ([^|]+) \|$", text, flags=re.M)
    assert len(moved) > 30
    for now in moved:
        for name in re.findall(r"`(quadfeat\.[\w.]+)`", now):
            resolve_name(name)
