"""What notebooks show: small tables, without scripts or styles from elsewhere. Also how reports and events are restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenline._tokenline import Live, Report

_MAX_ROWS = 20
_MAX_TEXT = 200
_MAX_DEPTH = 8
# Colors of the page, so that dark pages stay readable.
_TABLE = (
    '<table style="border-collapse:collapse;color:inherit;background:transparent;text-align:left">'
    '<caption style="text-align:left;caption-side:top;font-weight:bold;color:inherit">'
)
_CELL = "text-align:left;vertical-align:top;padding:2px 8px;border:1px solid rgba(128,128,128,0.5)"


def restored_report(state: dict[str, Any]) -> Report:
    """The report that was pickled with this state."""
    from tokenline._tokenline import Report

    return Report._restored(state)


def restored(kind: Any, members: tuple[Any, ...]) -> Any:
    """The event that was pickled with these members."""
    return kind._restored(*members)


def report(of: Report) -> str:
    """A report as HTML."""
    return _report("Report", of)


def stream(of: Any) -> str:
    """A stream as HTML: what it has delivered so far. Reads nothing."""
    return _report(type(of).__name__, of.report)


def live(of: Live[Any]) -> str:
    """The open record as HTML, and what came before it."""
    value = of.value
    name = "Live" if value is None else f"Live: {type(value).__name__}"
    counts = _report("Records so far", of.report)
    if value is None:
        return _table(name, [("open record", "none")]) + counts
    members = list(_members(value).items())
    rows: list[tuple[str, Any]] = members[:_MAX_ROWS]
    if len(members) > _MAX_ROWS:
        rows.append(("", f"and {len(members) - _MAX_ROWS} more"))
    return _table(name, rows) + counts


def _report(name: str, of: Report) -> str:
    rows: list[tuple[str, Any]] = [("records", of.records), ("tool calls", of.tool_calls), ("rejected", of.rejected)]
    for label, count in (("repaired", of.repaired), ("warnings", of.warnings), ("notes", of.notes)):
        if count:
            rows.append((label, count))
    complete = "yes" if of.complete else "no"
    rows.append(("complete", complete if of.ended_by is None else f"{complete} ({of.ended_by})"))
    table = _table(name, rows)
    rejects = of.rejects
    if not rejects:
        return table
    shown: list[tuple[str, str, str]] = [(f"{reject.line}:{reject.column}", reject.code, _place(reject)) for reject in rejects[:_MAX_ROWS]]
    more = of.rejected - len(shown)
    if more > 0:
        shown.append(("", "", f"and {more} more"))
    return table + _table("Rejects", shown, ("place", "code", "message"))


def _place(reject: Any) -> str:
    return f"{reject.message} (at {reject.instance_path})" if reject.instance_path else str(reject.message)


def _table(caption: str, rows: Iterable[tuple[Any, ...]], head: tuple[str, ...] = ()) -> str:
    lines = [_TABLE, escape(caption), "</caption>"]
    if head:
        lines.append("<tr>" + "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in head) + "</tr>")
    for row in rows:
        first, *others = row
        cells = "".join(f'<td style="{_CELL}">{_shown(other)}</td>' for other in others)
        lines.append(f'<tr><th scope="row" style="{_CELL}">{escape(_cut(str(first)))}</th>{cells}</tr>')
    return "".join([*lines, "</table>"])


def _members(value: Any) -> dict[str, Any]:
    """The members of a dict or an instance. Properties, which may need members that are missing, are not asked."""
    members = value if isinstance(value, Mapping) else vars(value)
    extra = getattr(value, "__pydantic_extra__", None) or {}
    return {str(name): member for name, member in [*members.items(), *extra.items()]}


def _shown(value: Any) -> str:
    return escape(_cut(value if isinstance(value, str) else _repr(value, _MAX_DEPTH)))


def _repr(value: Any, depth: int) -> str:
    """The value as text, as far as it is shown."""
    if isinstance(value, str):
        return repr(value[:_MAX_TEXT])
    if isinstance(value, (bool, int, float)) or value is None:
        return repr(value)
    if depth == 0:
        return "..."
    if isinstance(value, list):
        shown = [_repr(element, depth - 1) for element in value[:_MAX_ROWS]]
        return "[" + ", ".join(shown + ["..."] * (len(value) > _MAX_ROWS)) + "]"
    if isinstance(value, Mapping) or hasattr(value, "__dict__"):
        members = list(_members(value).items())
        shown = [f"{name}: {_repr(member, depth - 1)}" for name, member in members[:_MAX_ROWS]]
        return "{" + ", ".join(shown + ["..."] * (len(members) > _MAX_ROWS)) + "}"
    return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
