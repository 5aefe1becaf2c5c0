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

from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict, Union

from tokenline._tokenline import Extracted, ExtractedStream, Extractor, OutputType

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import CallFormat, Mode, Release, Schema, Tools

__all__ = [
    "ExtractOptions",
    "Extracted",
    "ExtractedStream",
    "Extractor",
    "OutputType",
    "ddl",
    "duckdb_type",
    "extract",
    "output_type",
]


class ExtractOptions(TypedDict, total=False):
    """The keyword arguments of `extract`, and of the functions that describe its output."""

    tools: Optional[Tools]
    """Tool definitions: tool calls are read instead of records, and those that do not fit are rejected."""
    format: str
    """The format of the texts: `text` (the default), a provider such as `openai-chat`, or `openai-batch`, ..."""
    mode: Mode
    """`lenient` (the default) or `strict`: each line is one object."""
    items: Optional[str]
    """A JSON Pointer to the array whose elements are the records."""
    release: Release
    """When a record is released: `confirmed` (the default), `on_balance` or `at_finish`."""
    call_format: Optional[CallFormat]
    """The format of tool calls to look for in the text."""
    columns: Literal["json", "typed"]
    """Records as JSON text (the default), or as typed columns derived from the schema."""
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


def extract(
    array: Any, schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]
) -> Union[Extracted, ExtractedStream]:
    """Extracts records, tool calls and rejects from a column of model output.

    `array` is an array of text or bytes (`__arrow_c_array__`), or a stream of these (`__arrow_c_stream__`). An array is
    read at once, without the GIL; a stream while the result is read, an array at a time.
    """
    return Extractor(schema, **options).extract(array)


def output_type(schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]) -> OutputType:
    """The type of what `extract` returns for these options, with `__arrow_c_schema__`."""
    return Extractor(schema, **options).output_type


def ddl(schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]) -> str:
    """The columns of what `extract` returns, as Spark's DDL."""
    return Extractor(schema, **options).ddl()


def duckdb_type(schema: Optional[Schema] = None, **options: Unpack[ExtractOptions]) -> str:
    """The type of what `extract` returns, in the words of DuckDB."""
    return Extractor(schema, **options).duckdb_type()
