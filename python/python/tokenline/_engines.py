"""Shared by the adapters of engines that exchange data with pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from tokenline._tables import EXTRACTED, TABLES, columns_kept, columns_of
from tokenline.arrow import Extractor

__all__ = ["EXTRACTED", "TABLES", "Extraction", "quoted"]


class Extraction:
    """The arguments of `extract`, checked. Calling it extracts from an array, on any worker."""

    def __init__(self, schema: Any, keep: str | Iterable[str], tables: Sequence[str], options: dict[str, Any]) -> None:
        #: The columns of the input row in each table.
        self.keep = columns_kept(keep)
        self.extractor = Extractor(schema, **options)
        #: The type of the extracted structs.
        self.type: pa.StructType = pa.field(self.extractor.output_type).type
        #: The other columns of each table.
        self.fields = columns_of(tables, self.extractor, self.keep)
        self._arguments = (schema, self.keep, list(self.fields), options)

    def __reduce__(self) -> tuple[Any, ...]:
        # Each worker compiles the schema once.
        return Extraction, self._arguments

    def __call__(self, texts: pa.Array) -> pa.StructArray:
        """One struct for each text."""
        return pa.array(self.extractor.extract(texts))

    def chunks(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """One struct for each text."""
        return pa.chunked_array([self(chunk) for chunk in texts.chunks], self.type)

    def empty_table(self) -> pa.Table:
        """A table without rows, with one column of the extracted structs."""
        return pa.schema([(EXTRACTED, self.type)]).empty_table()


def quoted(name: str, quote: str = '"') -> str:
    """A column name as SQL takes it: exactly, whatever characters it has."""
    return quote + name.replace(quote, quote * 2) + quote
