"""The command `quadfeat`.

Rule: the only room that prints, and the only one that imports `experiments`.

- `main`: the entry point, errors in one sentence, and demo, fit, report, predict, transform;
  `compare_command`: compare; `project_commands`: bench, reproduce, info; `cli`: what they share.
- `training`: `train`, from a file to a model and its score; `rows`: what it reads; `holdout`: which
  rows it holds out; `targets`: numbers or classes; `scores`: scores with intervals.
- `contenders`: the models that compete, ours and others; `baselines`: those of scikit-learn.
- `comparison`: contenders on the same folds, as a table with advice; `folds`: how rows are split;
  `memory`: how much a fit takes.
- `summary`: `FitSummary`, what a fit found: saved beside the model, and printed.
- `report`: the page of a fit, or of a saved model on a file; `study`: what it shows, as numbers;
  `curves`: predictions along single columns; `learning_curve`: score against rows and features;
  `predictions`: of any model, as these need them; `kernel_words`: a kernel as a person says it.
- `report_page`: the page as HTML; `report_curves`: its curves; `report_parts`: headings, tables and
  the like; `report_style`: how it looks.
- `model_facts`: what `info` tells of a saved model.
- `outputs`: where the command writes.
- `files`: maps, predictions and features of files, block by block.
- `progress`: progress bars.
- `demo`: maps on scikit-learn's digits; `demo_story`: its table, sentences and picture.
- `bench`: the engine timed beside its peers; its table and its picture.
- `workloads`: the workloads that `bench` measures.
- `tables`: the tables that the command prints.
"""
