"""The command `quadfeat`.

Rule: the only room that prints, and the only one that imports `experiments`.

- `main`: the subcommands, their options, errors in one sentence, the progress bars.
- `training`: `train`, from a file to a model and its score; `rows`: what it reads; `holdout`: which
  rows it holds out; `scores`: scores with intervals; `baselines`: what a model is compared with.
- `summary`: `FitSummary`, what a fit found: saved beside the model, and printed.
- `report`: the page of a fit, or of a saved model on a file; `study`: what it shows, as numbers;
  `learning_curve`: score against rows; `report_page`, `report_style`: the page as HTML.
- `outputs`: where the command writes.
- `files`: maps, predictions and features of files, block by block.
- `progress`: progress bars.
- `demo`: maps on scikit-learn's digits; `demo_story`: its table, sentences and picture.
- `bench`: the engine timed beside its peers; its table and its picture.
- `workloads`: the workloads that `bench` measures.
- `tables`: the tables that the command prints.
"""
