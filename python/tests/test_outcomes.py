"""The texts that every reader gives the same outcomes, in the same words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from support import TEXTS, events

import tokenline
from tokenline import Record, Reject

CASES = json.loads((TEXTS / "outcomes.json").read_text())


def is_here(case: dict[str, Any]) -> bool:
    """Python has neither repair nor quotas, and one schema, and a text does not fail."""
    return not {"repair", "max_records", "second_schema", "end"} & set(case)


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("case", [case for case in CASES if is_here(case)], ids=lambda case: case["name"])
def test_outcomes_are_those_of_the_library(case: dict[str, Any], size: int) -> None:
    text = case["text"]
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    if case.get("reads") == "calls":
        calls = tokenline.tool_calls(chunks, tools=case["tools"])
        delivered = [f"{call.name} {compact(call.parameters)}" for call in calls]
        found: Sequence[object] = calls.report.rejects
    else:
        found = events(chunks, schema=case.get("schema"))
        delivered = [compact(event.value) for event in found if isinstance(event, Record)]
    rejected = [str(event) for event in found if isinstance(event, Reject)]
    assert (delivered, rejected) == (case["delivered"], case["rejected"])
