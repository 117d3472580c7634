"""How classes and functions are shown: members that users call, docstrings as they are written.

Docstrings are plain text, to be read in a shell: |u| is a norm there and coef_ a name, where
reStructuredText would see a substitution and a link.
"""

import inspect
import re

# Public in the code because other rooms use them; CONTRIBUTING.md tells of them.
INTERNAL = {
    "background", "bends", "check_parameters", "coordinates", "cube", "dense_rows",
    "derivative_bounds", "encode", "encode_training", "features_of", "first_index", "fit_sample",
    "gaussian_scale", "group_at", "group_derivatives", "group_gram", "group_slope", "learned",
    "learned_anova", "length_slopes", "lighter", "moved_to", "origin", "pooled", "refuse_axes",
    "relative_slope", "restored", "restrict", "stretched", "with_lengths", "with_metric", "write",
    "write_gradient",
}  # fmt: skip
MARKUP = re.compile(r"[|*]|(?<=\w)_(?!\w)")


def _skip(app, what, name, member, skip, options):
    if what == "module":
        return None
    function = getattr(member, "__func__", member)
    ours = (getattr(function, "__module__", None) or "").startswith("quadfeat")
    return None if ours and inspect.isfunction(function) and name not in INTERNAL else True


def _escaped(line):
    """Markup of a line of text, except in `code`, made letters."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        part if part.startswith("`") else MARKUP.sub(lambda match: "\\" + match[0], part)
        for part in parts
    )


def _plain(app, what, name, item, options, lines):
    code = False
    for i, line in enumerate(lines):
        code = line.lstrip().startswith(">>>") or (code and bool(line.strip()))
        if not code:
            field, colon, rest = line.partition(" : ")  # a parameter: its name is not text
            lines[i] = f"{field}{colon}{_escaped(rest)}" if colon else _escaped(line)


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _plain, priority=400)  # before numpydoc's
    return {"parallel_read_safe": True}
