"""What notebooks show, and the notebook among the examples."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pydantic
import pytest

import tokenline
from tokenline import JsonlParser, Live, ResponseParser, arecords, records

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_hour.ipynb"
HOSTILE = "</td></table><script>alert(1)</script><img src=x onerror='alert(2)'>&\""


class Page(HTMLParser):
    """The tags of a page, whether they match, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.values: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "|"


def page(shown: Any) -> Page:
    found = Page(shown._repr_html_())
    assert found.tags <= {"table", "caption", "tr", "th", "td"}
    assert found.names <= {"style", "scope"}
    styles = ";".join(found.values)
    # Nothing from elsewhere, and the colors of the page.
    assert not re.search(r"url|import|expression|#|black|white", styles)
    assert set(re.findall(r"(?<![-\w])(?:color|background):([^;\"]*)", styles)) <= {"inherit", "transparent"}
    return found


def test_reports_and_streams() -> None:
    stream = records('{"a":1}\n{"b":}\n' * 30, {"required": ["a"]})
    before = page(stream)
    assert before.text.startswith("Stream|records|0|")
    assert len(list(stream)) == 30
    text = page(stream).text
    assert "|records|30|tool calls|0|rejected|30|complete|yes|" in text
    assert "|2:6|malformed_json|expected a value, found" in text
    assert "and 10 more" in text
    assert page(stream.report).text == text.replace("Stream|", "Report|", 1)
    assert page(JsonlParser().report).text == "Report|records|0|tool calls|0|rejected|0|complete|no|"


def test_asynchronous_streams() -> None:
    async def read() -> str:
        stream = arecords('{"a":1}\n')
        assert [value async for value in stream] == [{"a": 1}]
        return page(stream).text

    assert asyncio.run(read()) == "AsyncStream|records|1|tool calls|0|rejected|0|complete|yes|"


def test_what_a_model_wrote_stays_text() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push(json.dumps({HOSTILE: {HOSTILE: [HOSTILE]}, "b": HOSTILE})[:-1])
    text = page(live).text
    assert HOSTILE[:60] in text
    assert text.count("alert(1)") >= 3
    schema = {"properties": {HOSTILE: {"type": "string"}}}
    stream = records(json.dumps({HOSTILE: 1}) + "\n", schema)
    assert list(stream) == []
    assert "<script>" in page(stream).text
    parser = ResponseParser("openai-chat")
    parser.push(b'data: {"error":{"message":' + json.dumps(HOSTILE).encode() + b"}}\n\n")
    parser.finish()
    list(parser)
    assert "<script>" in page(parser.report).text

    class Odd(pydantic.BaseModel):
        a: str
        b: list[str]

    Odd.__name__ = Odd.__qualname__ = HOSTILE
    odd = Live(model=Odd)
    odd.push(json.dumps({"a": HOSTILE, "b": [HOSTILE]})[:-1])
    assert "<script>" in page(odd).text


def test_much_is_cut() -> None:
    live: Live[dict[str, Any]] = Live()
    live.push('{"a":"' + "x" * 1_000_000 + '","b":[' + "[1]," * 100_000)
    assert len(live._repr_html_()) < 10_000
    live.push("[" * 100)
    assert len(live._repr_html_()) < 10_000
    many: Live[dict[str, Any]] = Live()
    many.push("{" + "".join(f'"{name}":1,' for name in range(10_000)))
    assert len(many._repr_html_()) < 20_000
    assert "and 9980 more" in page(many).text


def test_live_without_an_open_record() -> None:
    assert page(Live()).text.startswith("Live|open record|none|Records so far|records|0|")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The cells of the notebook with their outputs."""
    home = tmp_path_factory.mktemp("jupyter")
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    environment = {**os.environ, **{name: str(home / name.lower()) for name in names}}
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout", str(NOTEBOOK)]
    ran = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=120)
    assert ran.returncode == 0, ran.stderr.decode()
    cells: list[dict[str, Any]] = json.loads(ran.stdout)["cells"]
    return cells


def test_the_notebook_runs(notebook: list[dict[str, Any]]) -> None:
    outputs = [output for cell in notebook for output in cell.get("outputs", [])]
    printed = "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")
    assert "2026-017 2026-11-03 42.5\n2026-019 2026-11-20 240.0\n" in printed
    assert 'schema_violation /issued {"number": "2026-018"' in printed
    assert "\n2026-017 2026-11-03 ['Paper, 80" in printed
    assert "SourceWarning `stream` looks like a response of openai-chat, and is read as text" in printed
    tables = ["".join(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
    report, live = (Page(table).text for table in tables)
    assert "|records|2|tool calls|0|rejected|1|" in report
    assert live.startswith("Live: PartialInvoice|number|2026-017|")


def test_the_notebook_has_no_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells)
    assert tokenline.__name__ in "".join("".join(cell["source"]) for cell in cells)
