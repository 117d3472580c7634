"""Settings of the documentation: `make docs` builds it into build/docs, warnings are errors."""

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

# Fits are quick here: one thread per process gives the same pictures on every machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SOURCE = DOCS.parent / "src" / "quadfeat" / "__init__.py"

project = "quadfeat"
author = "the quadfeat developers"
copyright = author
release = version = re.search(r'__version__ = "([^"]+)"', SOURCE.read_text())[1]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "outputs",
    "pictures",
    "members",
    "testing",
]
exclude_patterns = [
    "reproduction",
    "gallery/*.ipynb",
    "gallery/*.py",
    "gallery/*.md5",
    "**sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]  # settings below hold functions and classes

# Markdown
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https"]
html_math_renderer = "mathml"

# API reference
default_role = "code"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"ray_data\.py|__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "pictures.style"),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "capture_repr": (),  # what is printed is shown; the last value of a block is not
    "plot_gallery": "True",
}

# Pages
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "quadfeat"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tour": []}  # these have no pages below them
html_context = {"default_mode": "auto"}
