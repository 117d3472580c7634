"""Learning: rows and targets to the numbers of a kernel.

- `task`: rows and targets to learn from, what is learned, and how it is searched for
- `scales`: length scales of a kernel, one or one per column, by the likelihood of a sample
- `metric`: a whole metric, from the length scales
- `given`: the numbers of a kernel whose parameters say "tuned" or "learned"
- `subsets`: the subsets of an ANOVA kernel, its weights and length scales; `screen` finds
  candidates, `cosine_basis` makes kernels of few columns ridge regressions, `subset_rows` has their
  sums over rows, `subset_prior` the most likely weights and length scales, `pruning` leaves out
  what validation rows do not need
- `families`: how well a kernel predicts rows that are left out, to compare families by
- `unrestricted`: what a kernel of all columns at once explains, for comparison
- `targets`: targets of a map as columns of numbers

The one rule: it knows kernels by what they can do (`task.Learner`), looks at a sample of rows only,
and fits no map. Which kind of kernel suits the data is up to the models.
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
