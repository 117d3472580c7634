"""Data: rows and archives, in and out.

Arrays, data frames, files, streams and Dask collections as blocks of rows (`source`); samples and
summaries of them; files that are written whole or not at all. The library reads and writes files
here and nowhere else.
"""

from .archive import read, write
from .atomic import replace, replacing, try_out
from .base import Source
from .blocks import Block
from .checkpoint import Checkpoint
from .dask_source import Partitions, check_seen, delayed, is_collection
from .identity import parameters_fingerprint
from .numpy_files import DAMAGED
from .sampling import Drawn, RowSample, is_table_of_counts
from .sources import is_blocks, source
from .summary import Once, Survey, Tally, distinct_rows, effective_share, labels_of, survey
from .writers import sink

__all__ = [
    "DAMAGED",
    "Block",
    "Checkpoint",
    "Drawn",
    "Once",
    "Partitions",
    "RowSample",
    "Source",
    "Survey",
    "Tally",
    "check_seen",
    "delayed",
    "distinct_rows",
    "effective_share",
    "is_blocks",
    "is_collection",
    "is_table_of_counts",
    "labels_of",
    "parameters_fingerprint",
    "read",
    "replace",
    "replacing",
    "sink",
    "source",
    "survey",
    "try_out",
    "write",
]
