"""Models of tables: a `TableEncoder` in the model turns text, dates and gaps into numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import clone

from .._typing import Floats
from ..data.base import Source
from ..data.encoder import TableEncoder
from ..data.frame import frame, is_table
from ..data.table_files import is_table_folder
from ..data.table_source import TableBlocks, are_arrow_blocks


class EncodedModel:
    """The encoding of tables; `encoder_` exists only if the table of the fit needed one.

    Tables of numbers without gaps need none: a DataFrame gives the same model as its array.
    """

    encoder: TableEncoder | None
    encoder_: TableEncoder
    dtype: str | None
    feature_names_in_: Any
    _learns_labels: ClassVar[bool]

    def _encoded_source(self, X: Any, y: Any, sample_weight: Any) -> Source | None:
        """The source of a table that is known to need an encoder; None for all other data.

        Gaps and text in files and streams are detected when they are read.
        """
        known, given = hasattr(self, "encoder_"), self.encoder is not None
        if not (known or given or is_table(X) or is_table_folder(X) or are_arrow_blocks(X)):
            return None
        if not (known or given) and hasattr(X, "dtypes") and frame(X).is_numeric():
            return None
        tables = TableBlocks.of(X, y, sample_weight, arrays=True)
        if tables is None:
            raise ValueError(
                "an encoder takes a table, an array, a CSV or Parquet file, or blocks that can be "
                "read again; give one of these, or encoder=None"
            )
        if known:
            return tables.numbers(self.encoder_, training=True).astype(self.dtype)
        if not given and tables.is_numeric():  # an Arrow table, or a folder of Parquet files
            return tables.numbers(None, training=True).astype(self.dtype)
        return self._fit_encoder(tables)

    def _fit_encoder(self, tables: TableBlocks) -> Source:
        """Fit `encoder_`; the training rows as numbers."""
        encoder = TableEncoder() if self.encoder is None else clone(self.encoder)
        task = "classification" if self._learns_labels else "regression"
        encoder = tables.fitted(encoder.set_params(task=task))
        self.encoder_ = encoder
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        return tables.numbers(encoder, training=True).astype(self.dtype)

    def _encoded_to_predict(self, X: Any) -> Source | None:
        """The source of rows to predict, if the fit needed an encoder or X is an Arrow table."""
        if not hasattr(self, "encoder_"):
            arrow = is_table(X) and not hasattr(X, "dtypes")
            if not (arrow or is_table_folder(X) or are_arrow_blocks(X)):
                return None
            tables = TableBlocks.of(X)
            names = getattr(self, "feature_names_in_", None)
            return None if tables is None else tables.chosen(names).numbers(None, training=False)
        tables = TableBlocks.of(X, arrays=True)
        if tables is None:
            raise ValueError(
                f"the model was fitted to a table with the columns {self.encoder_.feature_names}; "
                f"give a DataFrame, an Arrow table, or a file with these columns"
            )
        return tables.numbers(self.encoder_, training=False)

    def _n_input_columns(self, n_encoded: int) -> int:
        """Columns of X, given those of the map."""
        return self.encoder_.n_features_in_ if hasattr(self, "encoder_") else n_encoded

    def _of_input_columns(self, importances: Floats) -> Floats:
        """Importances of the columns of X, from those of the columns of the map."""
        return self.encoder_.pooled(importances) if hasattr(self, "encoder_") else importances
