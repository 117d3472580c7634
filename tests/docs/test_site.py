"""The site as `make docs` builds it: links lead somewhere, and a browser has no complaint."""

import ast
import functools
import json
import os
import re
import subprocess
import threading
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.browser import BROWSER, FLAGS

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("QUADFEAT_SITE", ROOT / "build" / "docs"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
WALK = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><pre></pre>
<iframe style="width:{width}px;height:900px;border:0"></iframe><script>
const pages = {pages}, seen = {{}}, frame = document.querySelector("iframe");
frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement;
  if (frame.dataset.page) {{
    if ("{theme}") root.dataset.theme = "{theme}";
    const style = frame.contentWindow.getComputedStyle(page.body);
    seen[frame.dataset.page] = {{
      needed: root.scrollWidth, width: frame.contentWindow.innerWidth,
      paper: style.backgroundColor, ink: style.color,
      broken: [...page.images].filter(i => i.loading != "lazy" && !i.naturalWidth).map(i => i.src),
      silent: [...page.images].filter(i => !i.hasAttribute("alt")).map(i => i.src)}};
  }}
  const next = pages.shift();
  frame.dataset.page = next || "";
  if (next) frame.src = next;
  else document.querySelector("pre").textContent = JSON.stringify(seen);
}};
frame.src = "about:blank";
</script>"""


class Links(HTMLParser):
    """Names and targets of a page."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.names = set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets |= {found[key] for key in ("href", "src") if found.get(key)}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def pages():
    if not (SITE / "index.html").exists():
        pytest.skip("no site: `make docs` builds it and runs these tests")
    return sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)


@pytest.fixture(scope="module")
def address(pages, tmp_path_factory):
    """The site by a server of this machine, so that a frame may look into its pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_internal_link_leads_somewhere(pages):
    read = functools.cache(Links)
    lost = []
    for page in pages:
        for target in read(page).targets:
            path, _, anchor = unquote(target).partition("#")
            if re.match(r"[a-z]+:|//", target):
                continue
            place = (page.parent / path.split("?")[0]).resolve() if path else page
            if not place.exists():
                lost.append(f"{page.relative_to(SITE)} -> {target}")
            elif anchor and place.suffix == ".html" and anchor not in read(place).names:
                lost.append(f"{page.relative_to(SITE)} -> {target} (no such place)")
    assert lost == []


def test_pages_load_nothing_from_other_hosts(pages):
    for page in pages:
        text = page.read_text()
        assert not re.findall(r'(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?)', text), page


def test_the_tour_shows_what_its_blocks_print(pages):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tour.md").read_text(), flags=re.S)
    shown = re.findall(r'<div class="output [^>]*>', (SITE / "tour.html").read_text())
    assert len(shown) == sum("print(" in block for block in blocks) > 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_also_a_notebook_with_the_same_code(pages, path):
    (notebook,) = SITE.rglob(f"{path.stem}.ipynb")
    content = json.loads(notebook.read_text())
    assert content["nbformat"] == 4
    cells = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    code = "\n".join(cell for cell in cells if not cell.startswith("%matplotlib"))
    assert ast.dump(ast.parse(code)) == ast.dump(_without_docstring(path.read_text()))


def _without_docstring(text):
    tree = ast.parse(text)
    tree.body = tree.body[1:]
    return tree


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (1280, "dark")])
def test_pages_open_without_a_complaint_and_fit_the_screen(
    pages, address, tmp_path_factory, width, theme
):
    if BROWSER is None:
        pytest.skip("no chromium on this machine")
    names = [str(page.relative_to(SITE)) for page in pages if page.parent.name != "reproduction"]
    walk = SITE / f"walk-{width}.html"
    walk.write_text(WALK.format(width=width, pages=json.dumps(names), theme=theme))
    profile = tmp_path_factory.mktemp("profile")
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=120000"]
    try:
        result = subprocess.run(
            [*command, "--dump-dom", f"{address}/{walk.name}"],
            capture_output=True,
            text=True,
            timeout=240,
        )
    finally:
        walk.unlink()
    assert result.returncode == 0, result.stderr
    told = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    # The theme logs what it does on every page; everything else is a complaint.
    assert [line for line in told if '"[PST]: ' not in line] == []
    seen = json.loads(unescape(re.search("<pre>(.*?)</pre>", result.stdout, re.DOTALL)[1]))
    assert set(seen) == set(names)
    for name, page in seen.items():
        assert page["needed"] <= page["width"] == width, f"{name} is {page['needed']} wide"
        assert page["broken"] == [], name
        assert page["silent"] == [], name
        paper, ink = (
            sum(map(int, re.findall(r"\d+", page[key])[:3])) / 3 for key in ("paper", "ink")
        )
        assert abs(paper - ink) > 100 and (paper < ink) == (theme == "dark"), name
