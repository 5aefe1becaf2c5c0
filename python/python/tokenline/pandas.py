"""Extraction from a column of model output in pandas.

```python
import pandas as pd
from tokenline.pandas import extract

outputs = pd.DataFrame({"id": [1, 2], "output": ['Sure:\\n{"city":"Oslo"}\\n{"city":', '{"city":"Rome"}']})
records, rejects = extract(outputs, "output", keep="id")
print(records[["id", "json"]])  # 1 {"city":"Oslo"}, 2 {"city":"Rome"}
print(rejects[["id", "line", "code"]])  # 1 3 truncated
```

The index of a result is that of the input rows, as after `explode`. Needs `pyarrow`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import pyarrow as pa

from tokenline._engines import Extraction, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tokenline._types import Schema
    from tokenline.arrow import TableOptions

#: The types with nulls that pandas has of its own.
_NUMPY_NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(),
    pa.large_string(): pd.StringDtype(),
}


def extract(
    df: pd.DataFrame | pd.Series[Any],
    column: Hashable | None = None,
    schema: Schema | None = None,
    *,
    dtype_backend: Literal["pyarrow", "numpy_nullable"] = "pyarrow",
    **options: Unpack[TableOptions],
) -> tuple[pd.DataFrame, ...]:
    """The records and the rejects of a text column, as two frames with the `keep` columns of their input row.

    Also of a `Series`, without `column`. `dtype_backend` is that of `pandas.read_parquet`: columns of Arrow, which hold
    every type exactly, or pandas's own, with Python objects for structs, lists, dates and decimals.

    `tokenline.arrow.TableOptions` has the options, and the columns of the results. Raises `ValueError` for options
    that contradict each other or the table, and `TypeError` for an unknown option and for a column without texts.
    """
    if dtype_backend not in ("pyarrow", "numpy_nullable"):
        raise ValueError(f"`dtype_backend` must be one of 'pyarrow', 'numpy_nullable', not {dtype_backend!r}")
    is_series = isinstance(df, pd.Series)
    if is_series != (column is None):
        raise TypeError("`column` must be " + ("None for a Series" if is_series else "a column of the DataFrame"))
    extraction = Extraction(schema, options)
    frame, series = (df.to_frame(), df) if is_series else (df, df[column])
    if extraction.keep and is_series:
        raise ValueError("`keep` needs a DataFrame: a Series has no other columns")
    # A column of missing values only is one of floats.
    texts = pa.nulls(len(series)) if series.isna().all() else pa.array(series, from_pandas=True)
    structs = extraction.chunks(texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts]))

    def rows(table: Table) -> pd.DataFrame:
        places, results = extraction.rows(structs, table)
        kept = frame[extraction.keep].take(places.to_numpy())
        if dtype_backend == "pyarrow":
            found = results.to_pandas(types_mapper=pd.ArrowDtype)
        else:
            found = results.to_pandas(types_mapper=_NUMPY_NULLABLE.get)
            if "value" in table.entry:
                # to_pandas makes integers of the nanoseconds in a struct.
                found["value"] = pd.Series(results["value"].to_pylist(), dtype=object)
        return pd.concat([kept, found.set_axis(kept.index)], axis=1)

    return tuple(map(rows, extraction.tables))
