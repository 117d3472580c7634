"""Trust: nothing lost, nothing silent, nothing let in.

    make trust [ARGS="--quick"] [ARGS="--only files"]

One file per check; each has a function `run`, which yields the rows of one table: what was tried,
how often it failed, the worst figure and its bound. `python -m benchmarks.trust` runs the checks in
processes of their own, so that a crash of one is a failure and not the end, prints the table, and
exits with 1 if a bound is broken. A full run keeps its rows in docs/testing.jsonl, from which the
page on testing is made.

- `bad_input`: every public name with bad values, an error each that names parameter and value
- `numerics`: rules, sines, certificates, least squares and single precision against their bounds
- `determinism`: the same bits for any blocks, threads, process and hash seed
- `concurrency`: threads, child processes of every kind, Ctrl-C at any moment
- `faults`: killed processes and workers, full disks, more than fits into memory
- `files`: damaged model and data files, and models of every release
- `soak`: an hour of small fits in one process, whose memory stays flat (full runs only)
- `mutants`: code that is broken on purpose, and whether the tests see it (full runs only)

`table` holds what they share.
"""
