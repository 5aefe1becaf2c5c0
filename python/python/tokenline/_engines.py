"""Shared by the engine adapters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from tokenline.arrow import Extractor

#: The tables that `extract` returns unless `tables` names others.
TABLES = ("records", "rejects")

#: The column of extracted structs, before they are split into tables.
EXTRACTED = "_tokenline"


class Extraction:
    """The arguments of `extract`, checked. Calling it extracts from an array, on any worker."""

    def __init__(self, schema: Any, keep: str | Iterable[str], tables: Sequence[str], options: dict[str, Any]) -> None:
        #: The columns of the input row in each table.
        self.keep = [keep] if isinstance(keep, str) else list(keep)
        self._arguments = (schema, self.keep, tables, options)
        self.extractor = Extractor(schema, **options)
        #: The type of the extracted structs.
        self.type: pa.StructType = pa.field(self.extractor.output_type).type
        #: The other columns of each table.
        self.fields = {table: self._fields(table) for table in tables}

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

    def _fields(self, table: str) -> list[str]:
        lists = {field.name: field.type for field in self.type if pa.types.is_list(field.type)}
        if table not in lists:
            raise ValueError(f"tables: there is no `{table}` with these options, only {', '.join(lists)}")
        fields = [field.name for field in lists[table].value_type]
        for name in self.keep:
            if name in fields:
                raise ValueError(f"keep: the {table} have a column `{name}` of their own; rename it in the input")
        return fields


def quoted(name: str, quote: str = '"') -> str:
    """A column name as SQL takes it: exactly, whatever characters it has."""
    return quote + name.replace(quote, quote * 2) + quote
