"""The tables that the engine adapters return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from tokenline.arrow import Extractor

if TYPE_CHECKING:
    from tokenline.arrow import ExtractOptions, TableOptions

__all__ = ["EXTRACTED", "Table", "arguments", "tables_of"]

#: The tables that `extract` returns unless `tables` names others.
TABLES = ("records", "rejects")

#: The table with one row for each text.
RESPONSES = "responses"

#: The columns of a batch that tell to which request an entry belongs, and what became of that.
REQUEST = ("custom_id", "http_status", "error")

#: The column of extracted structs, before they are split into tables.
EXTRACTED = "_tokenline"


class Table(NamedTuple):
    """A table of results. After the kept columns, it has `row`, then `entry`."""

    name: str
    #: Columns of the extracted struct: values of the input row.
    row: list[str]
    #: Columns of the entries in the struct's list of this name; empty if the table has one row for each struct.
    entry: list[str]


def arguments(options: TableOptions) -> tuple[list[str], Sequence[str], ExtractOptions]:
    """The columns of the input row in each table, the names of the tables, and the options of the extraction."""
    keep, names = options.get("keep", ()), options.get("tables", TABLES)
    rest = {name: value for name, value in options.items() if name not in ("keep", "tables")}
    return [keep] if isinstance(keep, str) else list(keep), names, cast("ExtractOptions", rest)


def tables_of(names: Iterable[str], extractor: Extractor, keep: list[str]) -> list[Table]:
    """The tables with these names."""
    if isinstance(names, str):
        raise TypeError("`tables` must be a list of names, not str")
    lists, of_row = extractor.tables, extractor.row_columns
    of_request = [name for name in REQUEST if name in of_row]
    found = {name: Table(name, of_request, entry) for name, entry in lists.items()}
    found[RESPONSES] = Table(RESPONSES, of_row, [])
    tables = []
    for name in names:
        if name not in found:
            raise ValueError(f"`tables`: there is no {name!r} with these options, only {', '.join(found)}")
        table = found[name]
        for kept in keep:
            if kept in table.row or kept in table.entry:
                message = f"`keep`: the {name} have a column {kept!r} of their own; rename it in the input"
                raise ValueError(message)
        tables.append(table)
    return tables
