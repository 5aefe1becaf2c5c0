"""Validation of files of conversations on Spark."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tokenline._tokenline import ConversationChecker

# A row for each line, with its place in its split.
_LINE = (
    "file string, size bigint, split bigint, line bigint, start bigint, length bigint, "
    "code string, rule string, message string, instance_path string, column bigint, at_end string, "
    "id binary, id_column bigint, user_id binary, messages bigint"
)
_COMPRESSED = (".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst")
_DUPLICATE = {
    "code": "duplicate_conversation_id",
    "rule": "duplicate_conversation_id",
    "message": "an earlier conversation has this id",
    "instance_path": "/conversation_id",
}
_EMPTY = {
    "code": "empty_dataset",
    "rule": "empty_dataset",
    "message": "the input contains no conversation",
    "instance_path": "",
    **dict.fromkeys(("line", "column", "start"), 0),
}


def validate_conversations(
    spark: SparkSession, path: str | Sequence[str], *, profile: str = "open", max_errors: int = 100
) -> dict[str, Any]:
    """The report of `tokenline conversations validate --input PATH --report-json REPORT`, computed by Spark.

    Each file has one conversation a line. `path` is a file, a directory or a pattern, or several of them, which form one
    dataset. Lines are read once; which lines there are and what is wrong with them, never their text, is persisted while
    this runs. A compressed file is taken to end with a line feed, and to have no byte order mark.

    ```python
    report = validate_conversations(spark, "s3a://bucket/export/*.jsonl.gz")
    print(report["valid_conversation_count"], report["errors"])
    ```
    """
    paths = [path] if isinstance(path, str) else list(path)
    files = [file for path in paths for file in sorted(map(_name, spark.read.text(path).inputFiles()))]
    lines = _checked(spark, paths, profile).persist()
    try:
        return _report(lines, files, max_errors)
    finally:
        lines.unpersist()


def _checked(spark: SparkSession, paths: list[str], profile: str) -> DataFrame:
    key = secrets.token_bytes(16)

    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        checker, split, line, start = ConversationChecker(profile, key), None, 0, 0
        for batch in batches:
            texts, *inputs = (column.to_pylist() for column in batch.columns)
            rows = []
            for text, place, (error, last, facts) in zip(texts, zip(*inputs), checker.check(texts)):
                # The lines of a split come in order, in one partition.
                if place != split:
                    split, line, start = place, 0, 0
                length = len(text) + 1
                at_end = json.dumps(last) if last != error else None
                rows.append((*place, line, start, length, *(error or (None,) * 5), at_end, *(facts or (None,) * 4)))
                line, start = line + 1, start + length
            columns = list(zip(*rows)) or [()] * len(output)
            arrays = [pa.array(values, kind) for values, kind in zip(columns, output.types)]
            yield pa.RecordBatch.from_arrays(arrays, schema=output)

    types = {"string": pa.string(), "bigint": pa.int64(), "binary": pa.binary()}
    output = pa.schema([(name, types[kind]) for name, kind in (field.split() for field in _LINE.split(","))])
    # Not CR LF, which would change the places; a carriage return at the end is allowed.
    lines = spark.read.option("lineSep", "\n").text(paths)
    place = ("_metadata.file_path", "_metadata.file_size", "_metadata.file_block_start")
    return lines.select(F.col("value").cast("binary"), *place).mapInArrow(check, _LINE)


def _report(lines: DataFrame, files: list[str], max_errors: int) -> dict[str, Any]:
    splits = lines.groupBy("file", "size", "split").agg(F.count("line"), F.sum("length")).collect()
    schema = "file string, split bigint, input bigint, lines_before bigint, bytes_before bigint"
    offsets = lines.sparkSession.createDataFrame(_offsets(files, splits), schema)
    lines = lines.join(F.broadcast(offsets), ["file", "split"])
    lines = lines.withColumn("line", F.col("lines_before") + F.col("line") + 1)
    lines = lines.withColumn("start", F.col("bytes_before") + F.col("start"))

    number = F.row_number().over(Window.partitionBy("id").orderBy("input", "line"))
    valid = lines.where("id IS NOT NULL").withColumn("number", number)
    duplicates = valid.where("number > 1").withColumn("column", F.col("id_column"))
    for name, text in _DUPLICATE.items():
        duplicates = duplicates.withColumn(name, F.lit(text))
    errors = lines.where("code IS NOT NULL").unionByName(duplicates, allowMissingColumns=True)
    listed = errors.orderBy("input", "line").limit(max_errors).collect()

    first = valid.where("number = 1").agg(
        F.count("id"), F.count_distinct("user_id"), F.sum("messages"), F.min("messages"), F.max("messages")
    )
    conversations, users, messages, fewest, most = (value or 0 for value in first.collect()[0])
    error_count = errors.count()
    non_empty = conversations + error_count
    cut_off = set(_cut_off(splits))
    found = [_line_error(_at_end(error.asDict(), cut_off)) for error in listed]
    if non_empty == 0:
        error_count = 1
        found = [_line_error({**_EMPTY, "file": " ".join(files)})][:max_errors]
    return {
        "schema_version": "1.0.0",
        "input_path": " ".join(files),
        "total_lines": sum(split[3] for split in splits),
        "non_empty_lines": non_empty,
        "valid_conversation_count": conversations,
        "invalid_line_count": non_empty - conversations,
        "unique_conversation_id_count": conversations,
        "duplicate_conversation_id_count": duplicates.count(),
        "error_count": error_count,
        "dropped_error_count": error_count - len(found),
        "is_valid": error_count == 0,
        "summary": {
            "conversation_count": conversations,
            "unique_user_count": users,
            "message_count": messages,
            "avg_turn_count": messages / conversations if conversations else 0.0,
            "min_turn_count": fewest,
            "max_turn_count": most,
        },
        "errors": found,
    }


def _files(splits: Sequence[Any]) -> Iterator[tuple[str, list[tuple[int, int, int]], bool, bool]]:
    """Each file: its splits (start, lines, bytes), whether it has a byte order mark, whether its last line is cut off.

    A byte order mark is no part of what Spark reads, and each line is taken to have a line feed.
    """
    for (file, size), group in groupby(sorted(splits), key=lambda split: split[:2]):
        parts = [part[2:] for part in group]
        # The size of a compressed file says nothing.
        unread = 0 if file.endswith(_COMPRESSED) else size - sum(length for *_, length in parts)
        yield file, parts, unread in (2, 3), unread in (-1, 2)


def _cut_off(splits: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """The files whose last line has no line feed, with the number of that line."""
    for file, parts, _, is_cut_off in _files(splits):
        if is_cut_off:
            yield file, sum(count for _, count, _ in parts)


def _at_end(error: dict[str, Any], cut_off: set[tuple[str, int]]) -> dict[str, Any]:
    """The error of a line that its file ends in, which may differ from that of a line with a line feed."""
    if error["at_end"] and (error["file"], error["line"]) in cut_off:
        names = ("code", "rule", "message", "instance_path", "column")
        error.update(zip(names, json.loads(error["at_end"])))
    return error


def _offsets(files: list[str], splits: Sequence[Any]) -> Iterator[tuple[str, int, int, int, int]]:
    """The lines and bytes before each split in its file, and the number of the file."""
    numbers = {file: number for number, file in enumerate(files)}
    for file, parts, has_mark, _ in _files(splits):
        lines, offset = 0, 3 if has_mark else 0
        for split, count, length in parts:
            yield file, split, numbers[_name(file)], lines, offset
            lines, offset = lines + count, offset + length


def _line_error(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "line_number": row["line"],
        "code": row["code"],
        "message": row["message"],
        "column": row["column"],
        "byte_offset": row["start"] + max(row["column"] - 1, 0),
        "instance_path": row["instance_path"],
        "rule": row["rule"],
        "input_path": row["file"] if row["code"] == "empty_dataset" else _name(row["file"]),
    }


def _name(file: str) -> str:
    """A local file as its users write it."""
    parts = urlsplit(file)
    return unquote(parts.path) if parts.scheme == "file" else file
