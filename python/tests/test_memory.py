"""Memory does not grow with the number of records."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import psutil  # type: ignore[import-untyped]

from tokenline import JsonlParser, Live, records

PROCESS = psutil.Process()
LINE = '{"id":%d,"entity":"photosynthesis","definition":"turns light into sugar","tags":["a","b"],"weight":0.25}\n'
RECORDS = 1_000_000


def chunks(count: int) -> Iterator[str]:
    for start in range(0, count, 500):
        yield "".join(LINE % number for number in range(start, start + 500))


def test_a_million_records() -> None:
    stream = records(chunks(RECORDS), {"properties": {"id": {"type": "integer"}}})
    first = next(stream)
    assert first["id"] == 0
    for _ in range(50_000):
        next(stream)
    gc.collect()
    before = PROCESS.memory_info().rss
    count = 50_001 + sum(1 for _ in stream)
    assert count == RECORDS == stream.report.records
    gc.collect()
    grown = PROCESS.memory_info().rss - before
    assert grown < 8 * 1024 * 1024, f"{grown / 1e6:.1f} MB in {RECORDS} records"


def test_rejects_and_open_records() -> None:
    parser: JsonlParser[Any] = JsonlParser(model=dict[str, int])
    live: Live[Any] = Live()
    before = 0
    for turn in range(40):
        for number in range(2_000):
            for machine in (parser, live):
                machine.push('{"a":x}\n{"name %d":1}\n{"a":"x"}\n{"a":["' % (number + 2000 * turn))
                machine.push('y"]}\n')
                assert sum(1 for _ in machine) == 4
        if turn == 5:
            gc.collect()
            before = PROCESS.memory_info().rss
    gc.collect()
    grown = PROCESS.memory_info().rss - before
    assert grown < 8 * 1024 * 1024, f"{grown / 1e6:.1f} MB"
    assert parser.report.dropped > 100_000
