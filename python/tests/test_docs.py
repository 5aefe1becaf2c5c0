"""The examples of the README and of the docs run."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tokenline
from tokenline import _types

PACKAGE = Path(__file__).parents[1]
README = (PACKAGE / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_examples_of_the_readme(block: str) -> None:
    ran = subprocess.run([sys.executable, "-W", "error", "-c", block], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    printed = ran.stdout.decode()
    # A comment beside `print` shows printed text.
    for comment in re.findall(r"print\(.*\)  # (.*)", block):
        for line in comment.split(", ..."):
            expected = line.split(", ") if re.fullmatch(r"\w+(, \w+)+", line) else [line]
            assert all(text in printed for text in expected), (expected, printed)


def test_there_are_examples() -> None:
    assert len(BLOCKS) == 12


def test_examples_of_the_docs() -> None:
    names: dict[str, Any] = dict(vars(tokenline))
    stub = (PACKAGE / "python" / "tokenline" / "_tokenline.pyi").read_text()
    runner = doctest.DocTestRunner()
    count = 0
    for text in re.findall(r'"""(.*?)"""', stub, re.DOTALL):
        # In a stub, a backslash of a docstring is written twice.
        test = doctest.DocTestParser().get_doctest(text.replace("\\\\", "\\"), dict(names), "stub", None, None)
        if test.examples:
            runner.run(test)
            count += 1
    for function in (tokenline.records, tokenline.tool_calls):
        for test in doctest.DocTestFinder().find(function, globs=dict(names)):
            runner.run(test)
            count += len(test.examples) > 0
    assert runner.summarize(verbose=False).failed == 0
    assert count == 5


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("records", _types.RecordOptions),
        ("arecords", _types.RecordOptions),
        ("responses", _types.ResponseOptions),
        ("aresponses", _types.ResponseOptions),
        ("tool_calls", _types.CallOptions),
        ("atool_calls", _types.CallOptions),
    ],
)
def test_docstrings_list_all_options(name: str, options: Any) -> None:
    text = getattr(tokenline, name).__doc__
    listed = re.search(r"Options, described in ``tokenline\._types\.(\w+)``: (.*?)\.$", text, re.DOTALL | re.MULTILINE)
    assert listed is not None
    assert listed[1] == options.__name__
    assert set(re.split(r",\s+", listed[2])) - {"model"} == set(options.__annotations__)
