"""The command `quadfeat`.

Rule: the only room that prints, and the only one that imports `experiments`.

- `main`: the subcommands, their options, errors in one sentence, the progress bars.
- `files`: fits, predictions and features of files, block by block.
- `demo`: every map on scikit-learn's digits.
- `bench`: the engine timed beside its peers; its table and its picture.
- `workloads`: the workloads that `bench` measures.
- `tables`: the tables that the command prints.
"""
