"""The adapters of the engines that are light enough to install everywhere. `scripts/engines` runs all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="the engines need pyarrow")

import tokenline.arrow  # noqa: E402

NAME = 'the "id", of.A'
TEXTS = [
    'Sure:\n```json\n{"city":"Oslo"}\n{"city":NaN}\n```\n{"city":"Ro',
    "nothing here",
    None,
    "",
    '{"city":"東京"}\n{"city":1}\n',
]
SCHEMA = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
Tables = tuple[Any, ...]


def contents(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def polars(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    pl = pytest.importorskip("polars")
    from tokenline.polars import extract

    frame = pl.from_arrow(table)
    eager = extract(frame, column, schema, **options)
    lazy = pl.collect_all(extract(frame.lazy(), column, schema, **options))
    assert all(one.equals(other) for one, other in zip(eager, lazy))
    return tuple(one.to_arrow() for one in eager)


def duckdb(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    connection = pytest.importorskip("duckdb").connect()
    from tokenline.duckdb import extract

    found = [
        [
            relation.to_arrow_table()
            for relation in extract(
                connection.from_arrow(table), column, schema, connection=connection, cache=cache, **options
            )
        ]
        for cache in (False, True)
    ]
    assert [contents(table) for table in found[0]] == [contents(table) for table in found[1]]
    return tuple(found[0])


def datafusion(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    context = pytest.importorskip("datafusion").SessionContext()
    from tokenline.datafusion import extract

    frame = context.from_arrow(table)
    found = [
        [one.to_arrow_table() for one in extract(frame, column, schema, cache=cache, **options)]
        for cache in (False, True)
    ]
    assert [contents(table) for table in found[0]] == [contents(table) for table in found[1]]
    return tuple(found[0])


engines = pytest.mark.parametrize("engine", [polars, duckdb, datafusion])
Engine = Callable[..., Tables]


def rows(table: Any, *names: str) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table[name].to_pylist() for name in names)))


@engines
def test_each_row_of_both_tables_has_the_kept_columns_of_its_input(engine: Engine) -> None:
    table = pa.table({NAME: range(5), "other": [0] * 5, "output": TEXTS})
    records, rejects = engine(table, "output", keep=[NAME])
    assert records.column_names == [NAME, "line", "start", "end", "completion", "json"]
    assert rows(records, NAME, "line", "start", "end", "completion", "json") == [
        (0, 3, 14, 29, "newline", '{"city":"Oslo"}'),
        (4, 1, 0, 17, "newline", '{"city":"東京"}'),
        (4, 2, 18, 28, "newline", '{"city":1}'),
    ]
    assert rejects.column_names[1:] == [
        *("line", "column", "start", "end", "code", "message", "instance_path", "schema_path")
    ]
    assert rows(rejects, NAME, "line", "column", "code") == [(0, 4, 9, "malformed_json"), (0, 6, 12, "truncated")]


@engines
def test_a_schema_moves_records_to_the_rejects(engine: Engine) -> None:
    table = pa.table({NAME: range(5), "output": TEXTS})
    records, rejects = engine(table, "output", SCHEMA, keep=NAME)
    assert rows(records, NAME, "json") == [(0, '{"city":"Oslo"}'), (4, '{"city":"東京"}')]
    (violation,) = [reject for reject in rejects.to_pylist() if reject["code"] == "schema_violation"]
    assert (violation[NAME], violation["line"], violation["instance_path"]) == (4, 2, "/city")


@engines
def test_typed_columns_are_a_struct(engine: Engine) -> None:
    table = pa.table({NAME: range(5), "output": TEXTS})
    records, _ = engine(table, "output", SCHEMA, keep=NAME, columns="typed")
    assert rows(records, NAME, "line") == [(0, 3), (4, 1)]
    assert sorted(value["city"] for value in records["value"].to_pylist()) == ["Oslo", "東京"]


@engines
def test_many_batches_are_as_one(engine: Engine) -> None:
    texts = [f'{{"n":{number}}}\n{{"n":' + ("" if number % 7 else "}") for number in range(20_000)]
    structs = pa.array(tokenline.arrow.extract(pa.array(texts))).to_pylist()
    found = engine(pa.table({"id": range(len(texts)), "output": texts}), "output", keep="id")
    for table, names in zip(found, [("json", "line", "start"), ("code", "line", "column", "message")]):
        kind = "records" if "json" in names else "rejects"
        expected = [
            (at, *(item[name] for name in names)) for at, struct in enumerate(structs) for item in struct[kind]
        ]
        assert rows(table, "id", *names) == sorted(expected)
    assert found[0].num_rows == 20_000


@engines
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_text_comes_as_any_type_and_from_empty_tables(engine: Engine, kind: Any) -> None:
    texts = pa.array(['{"a":1}'], kind)
    assert [table.num_rows for table in engine(pa.table({"output": texts}), "output")] == [1, 0]
    assert [table.num_rows for table in engine(pa.table({"output": texts.slice(1)}), "output")] == [0, 0]


@engines
def test_other_tables_are_named(engine: Engine) -> None:
    tools = '[{"name":"weather","parameters":{"required":["city"]}}]'
    texts = ['{"name":"weather","parameters":{"city":"Oslo"}}\n{"name":"weather","parameters":{}}\n']
    table = pa.table({"id": ["a"], "output": texts})
    calls, rejects = engine(table, "output", keep="id", tables=["tool_calls", "rejects"], tools=tools)
    assert rows(calls, "id", "line", "name", "parameters") == [("a", 1, "weather", '{"city":"Oslo"}')]
    assert rows(rejects, "id", "line") == [("a", 2)]


@engines
def test_errors_name_the_argument(engine: Engine) -> None:
    table = pa.table({"line": [1], "output": ["{}"]})
    with pytest.raises(ValueError, match="`keep`: the records have a column 'line' of their own; rename it in the"):
        engine(table, "output", keep="line")
    with pytest.raises(ValueError, match="`tables`: there is no 'tool_calls' with these options, only records, rej"):
        engine(table, "output", tables=["tool_calls"])
    with pytest.raises(TypeError, match="`tables` must be a list of names, not str"):
        engine(table, "output", tables="records")


@engines
def test_tables_may_come_from_an_iterator(engine: Engine) -> None:
    table = pa.table({"output": ['{"a":1}']})
    assert [found.num_rows for found in engine(table, "output", tables=["rejects"])] == [0]


def test_a_polars_column_of_nulls() -> None:
    pl = pytest.importorskip("polars")
    from tokenline.polars import extract

    frame = pl.DataFrame({"output": [None, None]})
    assert [len(found) for found in extract(frame, "output", tables=iter(["records", "rejects"]))] == [0, 0]  # type: ignore[arg-type]


def test_duckdb_uses_the_connection_of_the_relation() -> None:
    module = pytest.importorskip("duckdb")
    from tokenline.duckdb import extract

    connection = module.connect()
    relation = connection.from_arrow(pa.table({"output": ['{"a":1}']}))
    with pytest.raises(ValueError, match="`connection` must be the one that `df` belongs to"):
        extract(relation, "output")

    def functions() -> Any:
        return connection.sql("FROM duckdb_functions() WHERE function_name LIKE 'tokenline%'").fetchall()

    for wrong in ({"keep": "nope"}, {"keep": "nope", "cache": True}):
        with pytest.raises(module.BinderException):
            extract(relation, "output", connection=connection, **wrong)
    records, _ = extract(relation, "output", connection=connection, cache=True)
    assert functions() == []
    assert records.fetchall() == [(1, 0, 7, "end_of_input", '{"a":1}')]
