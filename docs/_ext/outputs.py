"""What the blocks of a page print, below each of them: pages are run when the site is built."""

import contextlib
import io
import re
import tempfile

PAGES = ("tour",)
BLOCK = re.compile(r"```python\n(.*?)```\n", flags=re.S)


def _run(app, name, source):
    if name not in PAGES:
        return
    names = {}

    def shown(block):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], name, "exec"), names)
        text = printed.getvalue().rstrip()
        below = f"\n```{{code-block}} text\n:class: output\n\n{text}\n```\n" if text else ""
        return block[0] + below

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        source[0] = BLOCK.sub(shown, source[0])


def setup(app):
    app.connect("source-read", _run)
    return {"parallel_read_safe": True}
