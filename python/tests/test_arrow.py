"""The Arrow kernel. pyarrow is needed here only: the package itself does without."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date, datetime, time, timezone
from decimal import Decimal, localcontext
from typing import Any, get_args

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from tokenline import SchemaValidator, arrow  # noqa: E402

TEXTS = ['Sure:\n{"city":"Oslo","people":717710}\n{"city":7}\n{"city":', None, ""]
SCHEMA = {
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city"],
}


def rows(texts: Any, schema: Any = None, **options: Any) -> list[Any]:
    found: list[Any] = pa.array(arrow.extract(texts, schema, **options)).to_pylist()
    return found


def test_records_and_rejects() -> None:
    first, null, empty = rows(pa.array(TEXTS), SCHEMA)
    assert first["status"] == "complete"
    assert first["records"] == [
        {"line": 2, "start": 6, "end": 37, "completion": "newline", "json": '{"city":"Oslo","people":717710}'}
    ]
    assert [(reject["line"], reject["code"], reject["instance_path"]) for reject in first["rejects"]] == [
        (3, "schema_violation", "/city"),
        (4, "truncated", None),
    ]
    assert null is None
    assert empty == {"status": "complete", "records": [], "rejects": []}


def test_typed_columns() -> None:
    found = rows(pa.array(TEXTS), SchemaValidator(SCHEMA), columns="typed")
    assert found[0]["records"][0]["value"] == {"city": "Oslo", "people": 717710}


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "binary", "large_binary", "binary_view", "dictionary"]
)
def test_every_kind_of_array(kind: str) -> None:
    array = pa.array(TEXTS)
    array = array.dictionary_encode() if kind == "dictionary" else array.cast(kind)
    assert rows(array) == rows(pa.array(TEXTS))
    assert rows(array.slice(1)) == rows(pa.array(TEXTS))[1:]


def test_the_type_is_known_before() -> None:
    for options in ({}, {"schema": SCHEMA, "columns": "typed"}, {"format": "openai-batch"}):
        declared = pa.field(arrow.output_type(**options)).type
        assert pa.array(arrow.extract(pa.array(TEXTS), **options)).type == declared
        assert pa.field(arrow.extract(pa.array(TEXTS), **options)).type == declared
    assert arrow.ddl().startswith("`status` STRING, `records` ARRAY<STRUCT<`line`: BIGINT,")
    assert arrow.duckdb_type().startswith('STRUCT("status" VARCHAR, "records" STRUCT("line" BIGINT,')


def test_len() -> None:
    found = arrow.extract(pa.array(TEXTS))
    assert isinstance(found, arrow.Extracted)
    assert len(found) == 3
    assert repr(found) == "Extracted(3 rows)"


def test_a_stream() -> None:
    chunks = pa.chunked_array([pa.array(TEXTS), pa.array(TEXTS[:1])])
    found = arrow.extract(chunks)
    assert isinstance(found, arrow.ExtractedStream)
    assert pa.field(found).type == pa.field(arrow.output_type()).type
    out = pa.chunked_array(found)
    assert out.to_pylist() == rows(pa.array(TEXTS + TEXTS[:1]))
    assert out.num_chunks == 2
    with pytest.raises(ValueError, match="read already"):
        pa.chunked_array(found)


def test_a_column_of_a_table_in_chunks() -> None:
    table = pa.table({"output": pa.chunked_array([TEXTS, TEXTS[:1]])})
    found = pa.array(arrow.extract(table["output"], SCHEMA))
    assert isinstance(found, pa.ChunkedArray)
    assert found.to_pylist() == rows(pa.array(TEXTS + TEXTS[:1]), SCHEMA)
    kind = found.type
    assert pa.array(arrow.extract(table["output"], SCHEMA), type=kind).type == kind


class OfPandas:
    """An array that only pyarrow knows how to read, as those of pandas."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __arrow_array__(self, type: Any = None) -> Any:
        return self.array


def test_what_pyarrow_converts() -> None:
    assert rows(OfPandas(pa.array(TEXTS))) == rows(pa.array(TEXTS))
    assert isinstance(arrow.extract(OfPandas(pa.array(TEXTS))), arrow.Extracted)
    assert rows(OfPandas(pa.chunked_array([TEXTS, TEXTS]))) == rows(pa.array(TEXTS * 2))
    with pytest.raises(TypeError, match="`array` must be an object with __arrow_c_array__ or __arrow_c_stream__, not"):
        arrow.extract(OfPandas(OfPandas(pa.array(TEXTS))))


def values(kind: Any, *literals: str) -> tuple[list[Any], list[str]]:
    """The values of a column of this type, and the rejects."""
    (row,) = rows(pa.array(["".join(f'{{"v":{literal}}}\n' for literal in literals)]), columns=pa.schema([("v", kind)]))
    misfit = "does not fit its column: expected "
    return [record["value"]["v"] for record in row["records"]], [
        f"{reject['line']}: {reject['message'].removeprefix(misfit)}" for reject in row["rejects"]
    ]


def test_decimals_are_exact_or_rejected() -> None:
    for kind in (pa.decimal128(10, 2), pa.decimal256(10, 2), pa.decimal64(10, 2)):
        found, rejects = values(kind, "0.1", '"0.10"', "1e3", "-0.0", "null", "0.005", "123456789", '"x"', "[]")
        assert found == [Decimal("0.10"), Decimal("0.10"), Decimal(1000), Decimal(0), None]
        expected = "a decimal of at most 8 digits before the point and 2 after it"
        assert rejects == [f"{line}: {expected}" for line in (6, 7, 8, 9)]
    digits = "9" * 76
    assert values(pa.decimal256(76, 20), f'"{digits[:56]}.{digits[56:]}"')[0] == [Decimal(f"{digits[:56]}.{digits[56:]}")]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_decimal_is_exact_or_rejected(value: Decimal, is_text: bool) -> None:
    found, rejects = values(pa.decimal128(12, 3), f'"{value}"' if is_text else str(value))
    with localcontext() as context:
        context.prec = 400
        fits = value.quantize(Decimal("0.001")) == value and abs(value) < 10**9
    assert (found, len(rejects)) == (([value], 0) if fits else ([], 1))


def test_dates_and_times_are_exact_or_rejected() -> None:
    found, rejects = values(pa.date32(), '"2024-02-29"', '"2023-02-29"', '"2024-02-29T00:00:00Z"')
    assert found == [date(2024, 2, 29)]
    assert rejects == ["2: a date, as in RFC 3339", "3: a date, as in RFC 3339"]
    found, rejects = values(pa.time64("us"), '"12:30:00.000001"', '"12:30:00Z"', '"12:30:00.0000001"', '"12:30:00+01:00"')
    assert found == [time(12, 30, 0, 1), time(12, 30)]
    assert rejects == ["3: a time without an offset, to the microsecond", "4: a time without an offset, to the microsecond"]
    found, rejects = values(pa.timestamp("s"), '"2024-02-29T12:00:00"', '"2024-02-29T12:00:00.5"', '"2024-02-29T12:00:00Z"')
    assert found == [datetime(2024, 2, 29, 12)]
    assert len(rejects) == 2
    found, rejects = values(pa.timestamp("ms", "UTC"), '"2024-02-29T12:00:00+02:00"', '"2024-02-29T12:00:00"')
    assert found == [datetime(2024, 2, 29, 10, tzinfo=timezone.utc)]
    assert rejects == ["2: a date and time with an offset, as in RFC 3339, to the millisecond"]


def test_json_text_is_any_value() -> None:
    columns = pa.schema([("v", pa.json_(pa.utf8()))])
    found = pa.array(arrow.extract(pa.array(['{"v":{"k":[1, 2.50]}}']), columns=columns))
    value = found.field("records").flatten().field("value")
    assert value.field("v").type == pa.json_(pa.utf8())
    assert value.field("v").to_pylist() == ['{"k":[1, 2.50]}']


def test_columns_of_a_pydantic_model() -> None:
    class Offer(pydantic.BaseModel):
        price: Decimal
        day: date

    columns = pa.schema([pa.field("price", pa.decimal128(8, 2), nullable=False), ("day", pa.date32())])
    text = '{"price":"9.99","day":"2024-02-29"}\n{"price":1,"day":"soon"}\n{"day":"2024-02-29"}'
    (row,) = rows(pa.array([text]), Offer, columns=columns)
    assert [record["value"] for record in row["records"]] == [{"price": Decimal("9.99"), "day": date(2024, 2, 29)}]
    assert [reject["line"] for reject in row["rejects"]] == [2, 3]
    typed = pa.field(arrow.output_type(Offer, columns="typed")).type.field("records").type.value_type
    assert typed.field("value").type.field("day").type == pa.date32()


def test_the_formats_are_those_of_the_kernel() -> None:
    with pytest.raises(ValueError, match="`format`") as error:
        arrow.Extractor(format="?")  # type: ignore[arg-type]
    assert re.findall("'([a-z-]+)'", str(error.value)) == list(get_args(arrow.Format))


def test_one_extractor_for_many_batches_and_threads() -> None:
    extractor = arrow.Extractor(SCHEMA, columns="typed")
    expected = rows(pa.array(TEXTS), SCHEMA, columns="typed")
    found: list[bool] = []

    def run() -> None:
        for _ in range(20):
            found.append(pa.array(extractor.extract(pa.array(TEXTS))).to_pylist() == expected)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_a_provider_and_a_batch() -> None:
    body = '{"message":{"content":"{\\"a\\":1}"},"done":true}'
    (row,) = rows(pa.array([body]), format="ollama")
    assert (row["status"], row["records"][0]["json"], row["tool_calls"]) == ("complete", '{"a":1}', [])
    line = '{"custom_id":"7","response":{"status_code":500,"body":{"error":{"message":"down"}}},"error":null}'
    (row,) = rows(pa.array([line]), format="openai-batch")
    assert (row["status"], row["custom_id"], row["http_status"], row["error"]) == ("failed", "7", 500, "down")


def test_tool_calls() -> None:
    tools = [{"name": "weather", "parameters": {"properties": {"city": {"type": "string"}}}}]
    text = '{"name":"weather","parameters":{"city":"Oslo"}}\n{"name":"rain","parameters":{}}\n'
    (row,) = rows(pa.array([text]), tools=tools)
    assert [(call["name"], call["parameters"]) for call in row["tool_calls"]] == [("weather", '{"city":"Oslo"}')]
    assert [reject["code"] for reject in row["rejects"]] == ["unknown_tool"]
    assert row["records"] == []


def errors() -> Iterator[tuple[Any, dict[str, Any], type[Exception], str]]:
    texts = pa.array(TEXTS)
    yield pa.array([1]), {}, TypeError, "`array`: the input column is Int64; it must be utf8"
    yield pa.chunked_array([[1]]), {}, TypeError, "`array`: the input column is Int64"
    yield "text", {}, TypeError, "`array` must be an object with __arrow_c_array__"
    yield texts, {"format": "xml"}, ValueError, "`format` must be one of 'text', 'openai-chat'"
    yield texts, {"columns": "typed"}, ValueError, "`columns`: typed columns need a schema"
    yield texts, {"columns": "rows"}, ValueError, "`columns` must be one of 'json', 'typed', not 'rows'"
    yield texts, {"columns": 5}, TypeError, "`columns` must be 'json', 'typed' or an object with __arrow_c_schema__, not"
    yield texts, {"columns": pa.int64()}, ValueError, "`columns` must be the schema of a record, not of Int64"
    duration = pa.schema([pa.field("a", pa.struct([("b", pa.duration("s"))]))])
    yield texts, {"columns": duration}, ValueError, r"`columns`: the column `a.b` is Duration\(s\); it must be text"
    twice = pa.schema([("a", pa.string()), ("a", pa.string())])
    yield texts, {"columns": twice}, ValueError, "`columns`: two columns are named `a`"
    yield texts, {"mode": "strict", "items": "/a"}, ValueError, "`items` needs mode='lenient'"
    yield texts, {"limit": 1}, TypeError, "extract.. got an unexpected keyword argument 'limit'"
    yield texts, {"column_bytes": 8}, ValueError, "row 0 of the batch does not fit: the output column `records.json`"


@pytest.mark.parametrize(("array", "options", "kind", "message"), list(errors()))
def test_errors(array: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        arrow.extract(array, **options)


def test_an_error_within_a_stream() -> None:
    found = arrow.extract(pa.chunked_array([["{}\n"], ['{"a":12345}\n']]), column_bytes=8)
    with pytest.raises(Exception, match="row 0 of the batch does not fit"):
        pa.chunked_array(found)


def test_pyarrow_is_not_imported() -> None:
    code = "import sys, tokenline.arrow; assert not {'pyarrow', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
