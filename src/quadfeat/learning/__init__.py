"""Learning: rows and targets to the numbers of a kernel.

- `task`: rows and targets to learn from, the result, and the search
- `scales`: length scales of a kernel, one or one per column, by the likelihood of a sample
- `metric`: a whole metric, from the length scales
- `given`: the numbers of a kernel whose parameters say "tuned" or "learned"
- `subsets`: the subsets of an ANOVA kernel, its weights and length scales; `screen` finds
  candidates, `cosine_basis` makes kernels of few columns ridge regressions, `subset_rows` has their
  sums over rows, `subset_prior` the most likely weights and length scales, `pruning` drops subsets
  that validation rows do not need
- `families`: leave-one-out error of a kernel, to compare families
- `unrestricted`: the part that a kernel of all columns at once explains, for comparison
- `targets`: targets of a map as columns of numbers

The one rule: it uses kernels through a protocol (`task.Learner`), looks only at a sample of rows,
and fits no map. Models choose which kind of kernel suits the data.
"""

from .families import unexplained_by
from .given import learned_from, learned_kernel
from .metric import learn_metric
from .scales import learn_scale, learn_scales
from .subset_rows import SubsetRows
from .subsets import LearnedSubsets, learn_subsets, learn_weights
from .targets import target_columns
from .task import ROWS, SUBSET_ROWS, Learned, Learner, Task
from .unrestricted import unexplained_by_all

__all__ = [
    "ROWS",
    "SUBSET_ROWS",
    "Learned",
    "LearnedSubsets",
    "Learner",
    "SubsetRows",
    "Task",
    "learn_metric",
    "learn_scale",
    "learn_scales",
    "learn_subsets",
    "learn_weights",
    "learned_from",
    "learned_kernel",
    "target_columns",
    "unexplained_by",
    "unexplained_by_all",
]
