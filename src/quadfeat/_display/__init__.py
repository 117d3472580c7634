"""What the user sees: the progress of a fit, and objects in a notebook.

Rule: knows no kernel; the only room beside `app` that writes to the screen.

- `progress`: `steps` and `progress` count the work of a fit; `showing` puts it on a screen.
- `screens`: a terminal, a notebook and a log file; `clock`, a duration in words.
- `html`: tables of facts as HTML, escaped, legible on light and dark pages.
"""
