"""Figures: one module for each figure or claim of the paper, each an `Experiment`.

- `fig1a`, `fig1b`, `fig1c`: polynomially exact, sparse and subsampled grids against random
  features; `fig1` has their common parts.
- `fig2a`: accuracy on images of digits; `fig2a_cells` tunes and fits its models.
- `fig2b`: kernel error on speech.
- `fig2c`: phone error rate; `fig2c_cells` tunes and fits its recognisers.
- `reweighting`: how many samples reweighting needs.
- `speed`: time to generate features.
- `sample_complexity` (named `theory` on the command line): the paper's bounds, evaluated.
"""
