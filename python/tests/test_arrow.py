"""The Arrow kernel. pyarrow is needed here only: the package itself does without."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

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
