"""What the pages promise: every public name, every example, five answers."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quadfeat as qf

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = sorted(DOCS.glob("*.md"))
QUESTIONS = {
    "How many columns do I need?": "tol=",
    "How wrong is it?": "accuracy.md",
    "How do I predict later?": "qf.save",
    "Why is it slow?": "performance.md",
    "Which kernel?": "choosing.md#which-kernel",
}


def test_every_public_name_is_in_the_reference():
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text(), flags=re.M))
    assert set(qf.__all__) - listed == set()


def test_the_front_page_answers_five_questions_with_a_link():
    front = (DOCS / "index.md").read_text()
    for question, answer in QUESTIONS.items():
        said = front.split(f"\n{question}\n:")[1].split("\n\n")[0]
        assert answer in said and "](" in said, question


def test_there_are_a_dozen_examples():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_when_it_fails_and_draws_something(path):
    text = path.read_text()
    assert "**When this fails:**" in text
    assert "plt.subplots" in text or "plt.figure" in text or "Display" in text
    assert re.match(r'"""\n(.+)\n=+\n\n', text), "a title, underlined"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_of_other_libraries_is_python(path):
    for block in re.findall(r"```py\n(.*?)```", path.read_text(), flags=re.S):
        ast.parse(block)


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_pages_name_no_host(path):
    assert not re.search(r"https?://", path.read_text())


# Python in a browser has no compiled engine, no threads, and no modules of a Unix system.
BROWSER_PYTHON = """
import sys, threading, warnings
for name in ("quadfeat._engine._core", "fcntl", "termios", "resource"):
    sys.modules[name] = None
def start(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
warnings.simplefilter("ignore")  # which says that NumPy runs instead
"""
SAVED = """
qf.save(model, "model.qf")
assert (qf.load("model.qf").predict(X_test) == model.predict(X_test)).all()
assert qf.engine_info()["engine"] == "numpy"
"""


def test_the_first_example_runs_and_saves_where_python_runs_in_a_browser(tmp_path):
    (first,) = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text(), flags=re.S)
    script = BROWSER_PYTHON + first + SAVED
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300, cwd=tmp_path)
