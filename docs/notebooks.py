"""Run every notebook of the built site in Jupyter's own kernel: `make notebooks`."""

import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

SITE = Path(__file__).parents[1] / "build" / "docs"


def main() -> None:
    paths = sorted(SITE.rglob("plot_*.ipynb"))
    if not paths:
        sys.exit(f"no notebooks in {SITE}: run `make docs` first")
    for path in paths:
        began = time.perf_counter()
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            place = {"metadata": {"path": folder}}
            NotebookClient(notebook, resources=place, startup_timeout=600).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pictures = sum("image/png" in output.get("data", {}) for output in outputs)
        if not pictures:
            sys.exit(f"{path.name} draws nothing")
        seconds = time.perf_counter() - began
        print(f"{path.name}: {pictures} pictures, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
