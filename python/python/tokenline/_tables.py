"""The tables that the engine adapters return."""

from __future__ import annotations

from collections.abc import Iterable

from tokenline.arrow import Extractor

#: The tables that `extract` returns unless `tables` names others.
TABLES = ("records", "rejects")

#: The column of extracted structs, before they are split into tables.
EXTRACTED = "_tokenline"


def columns_kept(keep: str | Iterable[str]) -> list[str]:
    """The columns of the input row in each table."""
    return [keep] if isinstance(keep, str) else list(keep)


def columns_of(tables: Iterable[str], extractor: Extractor, keep: list[str]) -> dict[str, list[str]]:
    """The other columns of each table."""
    if isinstance(tables, str):
        raise TypeError("`tables` must be a list of names, not str")
    found, wanted = extractor.tables, list(tables)
    for table in wanted:
        if table not in found:
            raise ValueError(f"`tables`: there is no {table!r} with these options, only {', '.join(found)}")
        for name in keep:
            if name in found[table]:
                message = f"`keep`: the {table} have a column {name!r} of their own; rename it in the input"
                raise ValueError(message)
    return {table: found[table] for table in wanted}
