"""Pictures: the style of those in the gallery, and those that pages draw when the site is built."""

import shutil
import sys
from pathlib import Path

STYLE = {
    "figure.figsize": (7.2, 3.6),
    "figure.dpi": 100,
    "savefig.dpi": 140,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "axes.prop_cycle": "cycler('color', ['#0b3c5d', '#b3541e', '#7b4b94', '#2e7d32'])",
}


def style(gallery_conf, name):
    """Called before every example."""
    import matplotlib

    matplotlib.rcParams.update(STYLE)


def _draw(app):
    sys.path.insert(0, str(app.srcdir))
    import figures

    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, picture in figures.ALL.items():
        (folder / f"{name}.svg").write_text(picture())


def _copy_reproduction(app, exception):
    if exception is None:
        folder = Path(app.srcdir) / "reproduction"
        shutil.copytree(folder, Path(app.outdir) / "reproduction", dirs_exist_ok=True)


def setup(app):
    app.connect("builder-inited", _draw)
    app.connect("build-finished", _copy_reproduction)
    return {"parallel_read_safe": True}
