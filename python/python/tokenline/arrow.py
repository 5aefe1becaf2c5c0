"""The Arrow kernel: a column of model output in, columns of records, tool calls and rejects out.

Takes and returns anything with the Arrow PyCapsule interface: arrays of pyarrow, Polars, DuckDB, DataFusion, Daft.

```python
import pyarrow as pa
from tokenline.arrow import extract

texts = pa.array(['Sure:\\n{"city":"Oslo"}\\n{"city":'])
row = pa.array(extract(texts))[0].as_py()
assert [record["json"] for record in row["records"]] == ['{"city":"Oslo"}']
assert [reject["code"] for reject in row["rejects"]] == ["truncated"]
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol, TypeAlias, TypedDict, Union

from tokenline._tokenline import Extracted, ExtractedStream, Extractor, OutputType
from tokenline._types import Provider

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import CallFormat, Mode, Release, Schema, Tools

__all__ = [
    "ArrowSchema",
    "ExtractOptions",
    "Extracted",
    "ExtractedStream",
    "Extractor",
    "Format",
    "LazyTableOptions",
    "OutputType",
    "TableOptions",
    "ddl",
    "duckdb_type",
    "extract",
    "output_type",
]

Format: TypeAlias = Literal["text", Provider, "openai-batch", "anthropic-batch", "bedrock-batch", "gemini-batch"]
"""The text of a response, a provider's response as a body or a recorded stream, or a line of a batch result file."""


class ArrowSchema(Protocol):
    """`pyarrow.Schema`, `polars.Schema`, and others with the Arrow PyCapsule interface."""

    def __arrow_c_schema__(self) -> object: ...


class ExtractOptions(TypedDict, total=False):
    """The keyword arguments of `extract`, and of the functions that describe its output."""

    tools: Optional[Tools]
    """Tool definitions: tool calls are read instead of records, and those that do not fit are rejected."""
    format: Format
    """The format of the texts: `text` (the default), a provider such as `openai-chat`, or a file such as `openai-batch`."""
    mode: Mode
    """`lenient` (the default) or `strict`: each line is one object."""
    items: Optional[str]
    """A JSON Pointer to the array whose elements are the records."""
    release: Release
    """When a record is released: `confirmed` (the default), `on_balance` or `at_finish`."""
    call_format: Optional[CallFormat]
    """The format of tool calls to look for in the text."""
    columns: Union[Literal["json", "typed"], ArrowSchema]
    """Records as JSON text (the default), as typed columns derived from the schema, or as the columns of an Arrow schema.

    An Arrow schema, of pyarrow or Polars, may have text, booleans, integers, floats, decimals, dates, times, timestamps,
    and lists and structs of these. Values are exact: a record with a value that its column cannot hold, such as a third
    decimal place for `decimal128(10, 2)`, is rejected as `schema_violation`. Decimals are read from numbers and strings.
    """
    line_bytes: int
    """The longest line or record, in bytes: 8 MiB by default."""
    depth: int
    """The deepest nesting of a record, in containers: 127 by default, at most 1,024."""
    pattern_steps: int
    """The most steps of the search for a pattern with look-around or a back-reference: 1,000,000 by default."""
    sse_line_bytes: int
    """The longest line of a provider's stream: 16 MiB by default."""
    sse_event_bytes: int
    """The largest event of a provider's stream: 16 MiB by default."""
    column_bytes: int
    """The most text in one output column: 2 GiB less one byte by default."""


class TableOptions(ExtractOptions, total=False):
    """The keyword arguments of `extract` for the tables of an engine.

    After the kept columns, a record has its `line` (from 1), its `start` and `end` (bytes of its text), its `completion`, and
    `json` or, as a struct of typed columns, `value`. A reject has its `line` and `column` (bytes, from 1), `start`, `end`,
    `code`, `message`, and for a schema `instance_path` and `schema_path`. In a batch, both also have the `custom_id`, the
    `http_status` and the `error` of their line. A text without records or rejects, and a null, has no rows.
    """

    keep: Union[str, Iterable[str]]
    """The columns of the input row that each row of the results has, such as its id. None by default."""
    tables: Sequence[str]
    """The tables to return: `records` and `rejects` by default.

    `tool_calls` are there with `tools`, a `call_format`, or the format of a provider or a batch. `responses` has one row
    for each text that is not null: its `status`, and in a batch its `custom_id`, `http_status`, `error` and `text`.
    """


class LazyTableOptions(TableOptions, total=False):
    """The keyword arguments of `extract` for engines that run a query each time that a result is used."""

    cache: bool
    """Extract once and keep the result, instead of once for each use of a table. `False` by default."""


def extract(
    array: Any, schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]
) -> Union[Extracted, ExtractedStream]:
    """Extracts records, tool calls and rejects from a column of model output.

    `array` is an array of text or bytes (`__arrow_c_array__`), or a stream of these (`__arrow_c_stream__`). An array is
    read at once, without the GIL; a stream while the result is read, an array at a time: `pyarrow.chunked_array` and
    `pyarrow.array` give one chunk for each. An array of pandas (`__arrow_array__`) is one or the other.

    Raises `TypeError` if it has no texts, and `ValueError` for options that contradict each other and for an array whose
    output does not fit. Faults of the texts are rejects.
    """
    return Extractor(schema, **options).extract(array)


def output_type(schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]) -> OutputType:
    """The type of what `extract` returns for these options, with `__arrow_c_schema__`."""
    return Extractor(schema, **options).output_type


def ddl(schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]) -> str:
    """The columns of what `extract` returns, as Spark's DDL. `ValueError` for columns with types that Spark does not have."""
    return Extractor(schema, **options).ddl()


def duckdb_type(schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]) -> str:
    """The type of what `extract` returns, in the words of DuckDB. `ValueError` for types that DuckDB does not have."""
    return Extractor(schema, **options).duckdb_type()
