"""Shared by the adapters of engines that exchange data with pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tokenline._tables import EXTRACTED, Table, arguments, tables_of
from tokenline.arrow import Extractor

if TYPE_CHECKING:
    from tokenline._types import Schema
    from tokenline.arrow import TableOptions

__all__ = ["EXTRACTED", "Extraction", "Table", "quoted"]


class Extraction:
    """The arguments of `extract`, checked. Calling it extracts from an array, on any worker."""

    def __init__(self, schema: Schema | None, options: TableOptions) -> None:
        #: The columns of the input row in each table.
        self.keep, names, rest = arguments(options)
        self.extractor = Extractor(schema, **rest)
        #: The type of the extracted structs.
        self.type: pa.StructType = pa.field(self.extractor.output_type).type
        self.tables = tables_of(names, self.extractor, self.keep)
        self._arguments = schema, {**rest, "keep": self.keep, "tables": [table.name for table in self.tables]}

    def __reduce__(self) -> tuple[Any, ...]:
        # Each worker compiles the schema once.
        return Extraction, self._arguments

    def __call__(self, texts: pa.Array | pa.ChunkedArray) -> pa.StructArray:
        """One struct for each text, as one array."""
        if isinstance(texts, pa.Array):
            return pa.array(self.extractor.extract(texts))
        return pa.concat_arrays([self(pa.array([], pa.string())), *self.chunks(texts).chunks])

    def chunks(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """One struct for each text, in the chunks of the texts."""
        return pa.chunked_array([self(chunk) for chunk in texts.chunks], self.type)

    def rows(self, structs: pa.ChunkedArray, table: Table) -> tuple[pa.ChunkedArray, pa.Table]:
        """The rows of a table without the kept columns, and for each of them the place of its struct, from 0."""
        types = [self.type.field(name).type for name in table.row]
        if table.entry:
            types += [field.type for field in self.type.field(table.name).type.value_type]
        schema = pa.schema(list(zip([*table.row, *table.entry], types)))
        at, places, batches = 0, [], []
        for chunk in structs.chunks:
            if table.entry:
                lists = chunk.field(table.name)
                rows, entries = pc.list_parent_indices(lists), pc.list_flatten(lists).flatten()
            else:
                rows, entries = pc.indices_nonzero(chunk.is_valid()), []
            columns = [chunk.field(name).take(rows) for name in table.row]
            batches.append(pa.record_batch([*columns, *entries], schema=schema))
            places.append(pc.add(rows.cast(pa.int64()), at))
            at += len(chunk)
        return pa.chunked_array(places, pa.int64()), pa.Table.from_batches(batches, schema)


def quoted(name: str, quote: str = '"') -> str:
    """A column name as SQL takes it: exactly, whatever characters it has."""
    return quote + name.replace(quote, quote * 2) + quote
