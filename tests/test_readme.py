"""Every Python block of the README runs, in order, and says what it claims."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.S)


def test_the_readme_s_code_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    code = blocks(ROOT / "README.md")
    assert code
    for block in code:
        exec(compile(block, "README.md", "exec"), namespace)


def test_what_the_documents_name_exists():
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", text):
            assert (ROOT / target).exists(), f"{name} links to {target}"
        for path in re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), f"{name} names {path}"
