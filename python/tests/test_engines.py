"""The adapters of the engines that are installed. `scripts/engines` installs and compares all of them."""

from __future__ import annotations

import datetime
import decimal
import importlib
import json
import os
import pickle
import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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


def pandas(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    pd = pytest.importorskip("pandas")
    from tokenline.pandas import extract

    frame = table.to_pandas(types_mapper=pd.ArrowDtype).set_axis(range(100, 100 + table.num_rows))
    found = extract(frame, column, schema, **options)
    for one in found:
        assert set(one.index) <= set(frame.index)
    return tuple(pa.Table.from_pandas(one, preserve_index=False) for one in found)


def daft(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    module = pytest.importorskip("daft")
    from tokenline.daft import extract

    frame = module.from_arrow(table)
    found = [
        [one.to_arrow() for one in extract(frame, column, schema, cache=cache, **options)] for cache in (False, True)
    ]
    assert [contents(table) for table in found[0]] == [contents(table) for table in found[1]]
    return tuple(found[0])


def ray(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    module = pytest.importorskip("ray")
    from tokenline.ray import extract

    dataset = module.data.from_arrow(table)
    for cache in (False, True):
        found = [
            pa.concat_tables(module.get(one.to_arrow_refs()))
            for one in extract(dataset, column, schema, cache=cache, **options)
        ]
    return tuple(found)


def spark(table: Any, column: str, schema: Any = None, **options: Any) -> Tables:
    sql = pytest.importorskip("pyspark.sql")
    from tokenline.spark import extract

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    # pyspark itself drops what comes after an empty batch.
    batches = [batch for batch in table.to_batches() if batch.num_rows]
    frame = session.createDataFrame(pa.Table.from_batches(batches, table.schema))
    found = [
        [one.toArrow() for one in extract(frame, column, schema, cache=cache, **options)] for cache in (False, True)
    ]
    assert [contents(table) for table in found[0]] == [contents(table) for table in found[1]]
    return tuple(found[0])


ALL = [polars, duckdb, datafusion, pandas, daft, ray, spark]
engines = pytest.mark.parametrize("engine", ALL)
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


DECLARED = [
    ("city", pa.string()),
    ("price", pa.decimal128(10, 2)),
    ("day", pa.date32()),
    ("at", pa.timestamp("us", "UTC")),
    ("tags", pa.list_(pa.string())),
]
OFFERS = [
    '{"city":"Oslo","price":"12.50","day":"2024-02-29","at":"2024-02-29T12:00:00.5Z","tags":["a",null]}\n'
    '{"city":"Rome","price":12.505}\n',
    '{"price":-1e2,"more":[]}\n{"day":"2023-02-29"}\n{"price":123456789}\n',
    None,
    '{"city":null}',
]


@engines
def test_declared_columns_are_exact(engine: Engine) -> None:
    table = pa.table({"id": range(4), "output": OFFERS})
    records, rejects = engine(table, "output", keep="id", columns=pa.schema(DECLARED))
    values = [value for _, value in sorted(zip(records["id"].to_pylist(), records["value"].to_pylist()), key=first)]
    noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000, datetime.timezone.utc)
    assert values == [
        {
            "city": "Oslo",
            "price": decimal.Decimal("12.50"),
            "day": datetime.date(2024, 2, 29),
            "at": noon,
            "tags": ["a", None],
        },
        {"city": None, "price": decimal.Decimal("-100.00"), "day": None, "at": None, "tags": None},
        {"city": None, "price": None, "day": None, "at": None, "tags": None},
    ]
    types = {field.name: field.type for field in records.schema.field("value").type}
    assert types["price"] == pa.decimal128(10, 2)
    assert types["day"] == pa.date32()
    assert pa.types.is_timestamp(types["at"])
    assert rows(rejects, "id", "line", "code", "instance_path") == [
        (0, 2, "schema_violation", "/price"),
        (1, 2, "schema_violation", "/day"),
        (1, 3, "schema_violation", "/price"),
    ]
    messages = set(rejects["message"].to_pylist())
    assert "does not fit its column: expected a decimal of at most 8 digits before the point and 2 after it" in messages


@engines
def test_columns_that_are_not_nullable_need_a_value(engine: Engine) -> None:
    columns = pa.schema([pa.field("city", pa.string(), nullable=False)])
    records, rejects = engine(pa.table({"output": OFFERS}), "output", columns=columns)
    assert [value["city"] for value in records["value"].to_pylist()] == ["Oslo", "Rome"]
    misfit = "does not fit its column: expected "
    assert sorted(rejects["message"].to_pylist()) == [
        *[misfit + "a value other than null"],
        *[misfit + "the member `city`"] * 3,
    ]


@engines
def test_dates_come_from_a_schema(engine: Engine) -> None:
    schema = {"properties": {"day": {"type": "string", "format": "date"}}}
    records, rejects = engine(pa.table({"output": OFFERS}), "output", schema, columns="typed")
    assert sorted(str(value["day"]) for value in records["value"].to_pylist()) == ["2024-02-29"] + ["None"] * 4
    assert rejects["instance_path"].to_pylist() == ["/day"]


def batch_line(name: str, status: int, body: Any) -> str:
    return json.dumps({"custom_id": name, "response": {"status_code": status, "body": body}, "error": None})


def completion(text: str) -> Any:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


BATCH = [
    batch_line("one", 200, completion('Sure:\n{"a":1}\n{"a":2}\n{"a"')),
    batch_line("two", 429, {"error": {"message": "slow down"}}),
    None,
    "no JSON",
]


@engines
def test_lines_of_a_batch_have_their_request(engine: Engine) -> None:
    table = pa.table({"id": range(4), "output": BATCH})
    names = ["records", "rejects", "responses", "tool_calls"]
    records, rejects, responses, calls = engine(table, "output", keep="id", format="openai-batch", tables=names)
    request = ["custom_id", "http_status", "error"]
    assert records.column_names == ["id", *request, "line", "start", "end", "completion", "json"]
    assert rows(records, "id", "custom_id", "http_status", "json") == [(0, "one", 200, '{"a":' + n + "}") for n in "12"]
    assert records["error"].null_count == 2
    assert rejects.column_names[:5] == ["id", *request, "line"]
    found = zip(*(rejects[name].to_pylist() for name in ["id", "code", *request]))
    assert sorted(found, key=first) == [
        (0, "truncated", "one", 200, None),
        (1, "provider_error", "two", 429, "slow down"),
        (3, "malformed_json", None, None, None),
    ]
    assert responses.column_names == ["id", "status", *request, "text"]
    found = zip(*(responses[name].to_pylist() for name in responses.column_names))
    assert sorted(found, key=first) == [
        (0, "complete", "one", 200, None, 'Sure:\n{"a":1}\n{"a":2}\n{"a"'),
        (1, "failed", "two", 429, "slow down", None),
        (3, "failed", None, None, None, None),
    ]
    assert calls.num_rows == 0
    with pytest.raises(ValueError, match="`keep`: the rejects have a column 'error' of their own; rename it"):
        engine(table.rename_columns(["error", "output"]), "output", keep="error", format="openai-batch", tables=["rejects"])


@engines
def test_responses_have_one_row_for_each_text(engine: Engine) -> None:
    table = pa.table({NAME: range(5), "output": TEXTS})
    (responses,) = engine(table, "output", keep=NAME, tables=["responses"])
    assert rows(responses, NAME, "status") == [(at, "complete") for at in (0, 1, 3, 4)]


def first(row: tuple[Any, ...]) -> Any:
    return row[0]


def cut_into_chunks(choices: random.Random, array: Any) -> Any:
    """The same values in up to five chunks, of which some may be empty."""
    cuts = sorted(choices.randrange(len(array) + 1) for _ in range(choices.randrange(5)))
    bounds = zip([0, *cuts], [*cuts, len(array)])
    return pa.chunked_array([array.slice(start, end - start) for start, end in bounds], array.type)


@engines
def test_any_chunks_of_a_column_give_the_same_tables(engine: Engine) -> None:
    choices = random.Random(11)
    texts = pa.array([choices.choice(TEXTS + OFFERS) for _ in range(40)])
    ids = pa.array(range(40))
    options: dict[str, Any] = {"keep": "id", "columns": pa.schema(DECLARED)}
    expected = [contents(found) for found in engine(pa.table({"id": ids, "output": texts}), "output", **options)]
    assert all(expected)
    for _ in range(2 if engine in (ray, spark) else 12):
        table = pa.table({"id": cut_into_chunks(choices, ids), "output": cut_into_chunks(choices, texts)})
        assert [contents(found) for found in engine(table, "output", **options)] == expected


def test_any_chunks_are_as_one_in_arrow() -> None:
    choices = random.Random(12)
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int16(), pa.string())):
        texts = pa.array([choices.choice(TEXTS + OFFERS) for _ in range(30)]).cast(kind)
        whole = pa.array(tokenline.arrow.extract(texts, columns=pa.schema(DECLARED)))
        for _ in range(20):
            chunks = cut_into_chunks(choices, texts)
            found = pa.chunked_array(tokenline.arrow.extract(chunks, columns=pa.schema(DECLARED)))
            assert found.num_chunks == chunks.num_chunks
            assert found.to_pylist() == whole.to_pylist()
            # One chunk becomes an array.
            array = pa.array(tokenline.arrow.extract(chunks, columns=pa.schema(DECLARED)))
            assert array.to_pylist() == whole.to_pylist()


@engines
def test_every_kind_of_text_and_nulls(engine: Engine) -> None:
    kinds = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
    # pyspark reads neither of these from Arrow, and Ray no views.
    if engine is not spark:
        kinds.append(pa.dictionary(pa.int32(), pa.string()))
    if engine not in (spark, ray):
        kinds.append(pa.string_view())
    for kind in kinds:
        column = pa.chunked_array([pa.array(TEXTS).cast(kind), pa.nulls(2, pa.string()).cast(kind)])
        records, rejects = engine(pa.table({"id": range(7), "output": column}), "output", keep="id")
        assert (records.num_rows, rejects.num_rows) == (3, 2), kind
        nulls = pa.table({"output": pa.nulls(3, pa.string()).cast(kind)})
        assert [found.num_rows for found in engine(nulls, "output")] == [0, 0], kind


@engines
def test_a_column_without_texts_is_an_error(engine: Engine) -> None:
    with pytest.raises(Exception, match="the input column is Int64; it must be utf8"):
        engine(pa.table({"output": [1, 2]}), "output")


@engines
def test_options_are_checked_when_they_are_given(engine: Engine) -> None:
    table = pa.table({"output": ["{}"]})
    with pytest.raises(TypeError, match="unexpected keyword argument 'kep'"):
        engine(table, "output", kep="id")
    with pytest.raises(ValueError, match="`format` must be one of 'text', 'openai-chat'"):
        engine(table, "output", format="xml")
    with pytest.raises(ValueError, match="`columns`: the column `a` is Duration"):
        engine(table, "output", columns=pa.schema([("a", pa.duration("s"))]))


def test_an_extraction_is_pickled_with_its_options() -> None:
    from tokenline._engines import Extraction

    one = Extraction(SCHEMA, {"keep": "id", "tables": ["rejects"], "columns": pa.schema([("city", pa.string())])})
    other = pickle.loads(pickle.dumps(one))
    assert (other.keep, other.tables, other.type) == (["id"], one.tables, one.type)
    assert other(pa.array(TEXTS)).equals(one(pa.array(TEXTS)))
    assert other(pa.chunked_array([TEXTS[:2], TEXTS[2:]])).equals(one(pa.array(TEXTS)))
    assert len(other(pa.chunked_array([], pa.string()))) == 0


def test_columns_that_an_engine_does_not_have() -> None:
    columns = pa.schema([("at", pa.time64("us"))])
    with pytest.raises(ValueError, match=r"the column `records.value.at` is Time64\(µs\), which Spark does not have"):
        tokenline.arrow.ddl(columns=columns)
    assert '"at" TIME' in tokenline.arrow.duckdb_type(columns=columns)
    wide = pa.schema([("w", pa.decimal256(50, 2))])
    with pytest.raises(ValueError, match="which DuckDB does not have"):
        tokenline.arrow.duckdb_type(columns=wide)


if TYPE_CHECKING:
    import tokenline.daft
    import tokenline.datafusion
    import tokenline.duckdb
    import tokenline.pandas
    import tokenline.polars
    import tokenline.ray
    import tokenline.spark

    def other_options_are_type_errors(df: Any) -> None:
        """mypy reports a comment that ignores nothing."""
        tokenline.arrow.extract(df, keep="id")  # type: ignore[call-arg]
        tokenline.daft.extract(df, "output", kep="id")  # type: ignore[call-arg]
        tokenline.datafusion.extract(df, "output", kep="id")  # type: ignore[call-arg]
        tokenline.duckdb.extract(df, "output", kep="id")  # type: ignore[call-arg]
        tokenline.pandas.extract(df, "output", cache=True)  # type: ignore[call-arg]
        tokenline.polars.extract(df, "output", cache=True)  # type: ignore[call-arg]
        tokenline.ray.extract(df, "output", kep="id")  # type: ignore[call-arg]
        tokenline.spark.extract(df, "output", kep="id")  # type: ignore[call-arg]
        tokenline.polars.extract(df, "output", format="xml")  # type: ignore[arg-type]
        tokenline.polars.extract(df, "output", columns="rows")  # type: ignore[arg-type]
        tokenline.polars.extract(df, "output", columns=pa.schema([]), format="openai-batch", keep="id")


def test_all_adapters_take_the_same_options() -> None:
    """Each has the one definition, so that an editor and mypy know them."""
    for engine in ALL:
        try:
            module = importlib.import_module(f"tokenline.{engine.__name__}")
        except ModuleNotFoundError:
            continue
        kind = "TableOptions" if engine in (polars, pandas) else "LazyTableOptions"
        assert module.extract.__annotations__["options"] == f"Unpack[{kind}]"


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


def test_a_series_of_pandas_keeps_its_index() -> None:
    pd = pytest.importorskip("pandas")
    from tokenline.pandas import extract

    series = pd.Series(TEXTS, index=list("abcde"), dtype=object)
    records, rejects = extract(series)
    assert list(zip(records.index, records["json"])) == [
        *(("a", '{"city":"Oslo"}'), ("e", '{"city":"東京"}'), ("e", '{"city":1}'))
    ]
    assert list(rejects.index) == ["a", "a"]
    parts = pd.concat([series.iloc[:2], series.iloc[2:]]).astype(pd.ArrowDtype(pa.string()))
    for other in (parts, series.astype("str"), series.astype("category"), series.astype(pd.ArrowDtype(pa.large_string()))):
        pd.testing.assert_frame_equal(extract(other)[0], records)
    assert tokenline.arrow.extract(parts.array) is not None
    assert pa.array(tokenline.arrow.extract(parts.array)).to_pylist()[0]["records"][0]["json"] == '{"city":"Oslo"}'


def test_a_pandas_column_of_nulls_or_nothing() -> None:
    pd = pytest.importorskip("pandas")
    from tokenline.pandas import extract

    for values in ([], [None, None], [float("nan")], [pd.NA, None]):
        tables = extract(pd.DataFrame({"output": values, "id": 1}), "output", keep="id", tables=["records", "responses"])
        assert [len(found) for found in tables] == [0, 0]
        assert list(tables[1].columns) == ["id", "status"]


def test_types_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    from tokenline.pandas import extract

    frame = pd.DataFrame({"id": [1, 2, 2, 3], "output": OFFERS, 5: "x"})
    for backend, integer, text in [("pyarrow", pd.ArrowDtype(pa.int64()), pd.ArrowDtype(pa.string())), *NULLABLE(pd)]:
        records, rejects, responses = extract(
            frame,
            "output",
            keep=["id", 5],  # type: ignore[list-item]
            dtype_backend=backend,
            columns=pa.schema(DECLARED),
            tables=["records", "rejects", "responses"],
        )
        assert list(records.columns[:4]) == ["id", 5, "line", "start"]
        assert (records["line"].dtype, rejects["code"].dtype, records["id"].dtype) == (integer, text, frame["id"].dtype)
        assert records["value"].iloc[0]["price"] == decimal.Decimal("12.50")
        assert list(responses.index) == [0, 1, 3]
    with pytest.raises(ValueError, match="`dtype_backend` must be one of 'pyarrow', 'numpy_nullable', not 'numpy'"):
        extract(frame, "output", dtype_backend="numpy")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`column` must be a column of the DataFrame"):
        extract(frame)
    with pytest.raises(TypeError, match="`column` must be None for a Series"):
        extract(frame["output"], "output")
    with pytest.raises(ValueError, match="`keep` needs a DataFrame"):
        extract(frame["output"], keep="id")


def NULLABLE(pd: Any) -> list[tuple[Any, Any, Any]]:
    return [("numpy_nullable", pd.Int64Dtype(), pd.StringDtype())]


def test_polars_declares_columns_of_its_own() -> None:
    pl = pytest.importorskip("polars")
    from tokenline.polars import extract

    columns = pl.Schema(
        {
            "city": pl.String(),
            "price": pl.Decimal(10, 2),
            "day": pl.Date(),
            "at": pl.Datetime("us", "UTC"),
            "tags": pl.List(pl.String()),
        }
    )
    series = pl.concat([pl.Series("output", OFFERS[:2]), pl.Series("output", OFFERS[2:])], rechunk=False)
    assert series.n_chunks() == 2
    records, rejects = extract(pl.DataFrame([series]), "output", columns=columns)
    assert records.schema["value"] == pl.Struct(dict(columns))
    assert records["value"].struct.field("price").to_list() == [decimal.Decimal("12.50"), decimal.Decimal(-100), None]
    assert len(rejects) == 3


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
