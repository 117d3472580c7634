"""The command `quadfeat`.

Rule: the only room that prints, and the only one that imports `experiments`.

- `main`: the entry point, errors in one sentence, and the commands demo, fit, report, predict,
  transform; `compare_command`: compare; `project_commands`: bench, reproduce, info; `cli`: what
  they share.
- `training`: `train`, from a file to a model and its score; `rows`: its rows; `holdout`: which rows
  it holds out; `targets`: numbers or classes; `scores`: scores with intervals.
- `contenders`: the models to compare, ours and others; `baselines`: those of scikit-learn.
- `comparison`: contenders on the same folds, as a table with advice; `folds`: how rows are split;
  `memory`: peak memory of a fit.
- `summary`: `FitSummary`, the results of a fit: saved beside the model, and printed.
- `report`: the page of a fit, or of a saved model on a file; `study`: its numbers;
  `curves`: predictions along single columns; `learning_curve`: score against rows and features;
  `predictions`: of any model; `kernel_words`: a kernel in words.
- `report_page`: the page as HTML; `report_curves`: its curves; `report_parts`: headings, tables and
  the like; `report_style`: how it looks.
- `model_facts`: what `info` prints about a saved model.
- `outputs`: where the command writes.
- `files`: maps, predictions and features of files, block by block.
- `progress`: progress bars.
- `demo`: maps on scikit-learn's digits; `demo_story`: its table, sentences and picture.
- `bench`: the engine timed beside its peers; its table and its picture.
- `workloads`: the workloads that `bench` measures.
- `tables`: the tables that the command prints.
"""
