"""Data: rows and archives, in and out.

The one rule: the library reads and writes files here and nowhere else (the journal of the
experiments, which appends, is the exception).

Sources, in the order in which rows pass through them:

- `readers`: the reader for a file's ending; `numpy_files` (NPY, NPZ), `tables` (CSV, Parquet) and
  `svmlight` have one each; `wanted`: the columns that a reader is to read, and the `Batch` it
  yields
- `arrays`: arrays and DataFrames; `sources`: `source`, which opens any of these, or blocks
- `blocks`: `Block`, checked rows, and the form that all blocks of a source share
- `base`: `Source`, equal blocks that every pass reads again
- `iterators`: `IteratorSource`, an iterator of blocks that can be read once
- `partitioned`: rows that stay on other machines; `MappedRows`, for any engine, and `spark_rows`
- `dask_source`: `Partitions`, a Dask collection, whose rows stay on the workers

Tables with text, dates and gaps:

- `encoder`: `TableEncoder`, tables in, numbers out; `encoder_targets`: its targets
- `column_kinds`: the kind of a column; `column_encoders`: its encoding; `encoded_units`: the
  meaning of the output columns
- `frame`: a table of any library as columns; the only file that imports narwhals
- `table_files`: CSV files of any dialect, Parquet files and folders, as Arrow tables
- `table_source`: `TableBlocks`, tables and files of them as blocks of numbers

Results of a first pass:

- `sampling`: `RowSample`, a sample that depends only on the rows' values, and its `SampledRows`
- `summary`: `Summary`, number of rows, classes and a sample; `distinct_rows`, effective numbers
- `identity`: checksums of blocks and digests of parameters, to refuse data that has changed

Output files:

- `atomic`: files that are replaced whole; `archive`: a JSON manifest and arrays in one file
- `checkpoint`: `Checkpoint`, from which an interrupted fit is resumed
- `writers`: `sink`, rows out to CSV, Parquet or NPY
"""

from .archive import read, write
from .atomic import replace, replacing, try_out
from .base import Source
from .blocks import Block
from .checkpoint import Checkpoint
from .dask_source import AnySource, Partitions, is_collection
from .encoder import TableEncoder
from .identity import parameters_fingerprint
from .iterators import IteratorSource
from .numpy_files import DAMAGED
from .partitioned import MappedRows, PartitionedRows, spark_rows
from .sampling import RowSample, SampledRows, is_table_of_counts
from .sources import is_blocks, source
from .summary import Summary, SummaryBuilder, distinct_rows, effective_share, labels_of, summarise
from .table_source import TableBlocks
from .writers import sink

__all__ = [
    "DAMAGED",
    "AnySource",
    "Block",
    "Checkpoint",
    "IteratorSource",
    "MappedRows",
    "PartitionedRows",
    "Partitions",
    "RowSample",
    "SampledRows",
    "Source",
    "Summary",
    "SummaryBuilder",
    "TableBlocks",
    "TableEncoder",
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
    "spark_rows",
    "summarise",
    "try_out",
    "write",
]
