"""Types as schemas, by pydantic. Called from the extension module, so that pydantic is imported only if needed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Optional, Tuple

from tokenline._tokenline import ToolSet

_Origin = Optional[Tuple[str, Any]]


def _adapter(argument: str, of: Any) -> Any:
    if not _is_type(of) and not hasattr(of, "core_schema"):
        expected = "a type; a JSON Schema is the `schema`" if argument == "model" else "a JSON Schema or a type"
        raise TypeError(f"`{argument}` must be {expected}, not {_name(of)}")
    return _type_adapter(argument, of)


def _type_adapter(argument: str, of: Any) -> Any:
    kind = "function" if inspect.isfunction(of) else "type"
    try:
        from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
    except ImportError:
        message = f"`{argument}` is a {kind}, {of!r}: this needs pydantic 2 (pip install pydantic)"
        raise TypeError(message) from None
    if isinstance(of, TypeAdapter):
        return of
    adapted: Any = of
    try:
        return TypeAdapter(adapted)
    except (NameError, PydanticSchemaGenerationError, PydanticUserError) as error:
        raise TypeError(f"`{argument}` is not a {kind} that pydantic reads: {error}") from error


def _is_type(of: Any) -> bool:
    # `A | B`, `list[A]`, `Annotated[...]` and `NewType` are no classes.
    marks = ("__origin__", "__args__", "__value__", "__supertype__")
    return isinstance(of, type) or of is Any or any(hasattr(of, mark) for mark in marks)


def _name(of: Any) -> str:
    return type(of).__qualname__


def _schema(argument: str, adapter: Any) -> Any:
    from pydantic import PydanticUserError

    try:
        return adapter.json_schema(mode="validation")
    except PydanticUserError as error:
        raise TypeError(f"`{argument}` has no JSON Schema: {error}") from error


def schema_of(argument: str, of: Any) -> tuple[str, _Origin]:
    """The JSON Schema of a type, as text, and its origin."""
    adapter = _adapter(argument, of)
    return json.dumps(_schema(argument, adapter)), _origin(of, adapter)


def model_of(argument: str, of: Any, has_schema: bool) -> tuple[str, bool, Callable[[bytes], Any], _Origin]:
    """The JSON Schema of a type, as text, whether records must fit it, what builds an instance of it from JSON, and
    its origin.

    They need not if the user gave another schema, and if pydantic alone knows what fits.
    """
    adapter = _adapter(argument, of)
    try:
        schema = _schema(argument, adapter)
    except TypeError:
        if not has_schema:
            raise
        schema = {}
    if not _may_be_object(schema, schema, frozenset()):
        raise TypeError(f"`{argument}` must be a type whose JSON is an object, as records are, not {of!r}")
    must_fit = not (has_schema or _exceeds_schema(adapter))
    return json.dumps(schema), must_fit, adapter.validator.validate_json, _origin(of, adapter)


def _origin(of: Any, adapter: Any) -> _Origin:
    """The attribute that pydantic replaces when it builds the type anew, as with `model_rebuild`, and its value.

    Other types, such as `list[A]` and `TypedDict`s, have none: pydantic reads their annotations each time.
    """
    name = "__pydantic_validator__" if isinstance(of, type) else "validator"
    return (name, adapter.validator) if getattr(of, name, None) is adapter.validator else None


def _may_be_object(schema: Any, root: dict[str, Any], within: frozenset[str]) -> bool:
    if not isinstance(schema, dict):
        return schema is not False
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        followed = root.get("$defs", {}).get(name, True)
        return name not in within and _may_be_object(followed, root, within | {name})
    for alternatives in ("anyOf", "oneOf"):
        if alternatives in schema:
            return any(_may_be_object(alternative, root, within) for alternative in schema[alternatives])
    kind = schema.get("type", "object")
    if "const" in schema or "enum" in schema:
        return any(isinstance(value, dict) for value in schema.get("enum", [schema.get("const")]))
    return bool(kind == "object" or "object" in kind)


def _exceeds_schema(adapter: Any) -> bool:
    """Whether pydantic reads what the JSON Schema, with one name for each member, does not allow."""
    naming = set(_naming(adapter.core_schema))
    return "path" in naming or "choice" in naming or naming == {"alias", "by_name"}


def _naming(core: Any) -> Iterator[str]:
    if isinstance(core, (list, tuple)):
        for part in core:
            yield from _naming(part)
    elif isinstance(core, dict):
        # Others are from the names of fields to their schemas.
        is_schema = isinstance(core.get("type"), str)
        if is_schema:
            alias, config = core.get("validation_alias"), core.get("config") or {}
            if alias is not None:
                yield "alias" if isinstance(alias, str) else "path"
            if callable(core.get("discriminator")):
                yield "choice"
            if config.get("populate_by_name") or config.get("validate_by_name"):
                yield "by_name"
        for name, part in core.items():
            if not (is_schema and name in _OPAQUE):
                yield from _naming(part)


# Members of core schemas that hold the user's objects.
_OPAQUE = frozenset(
    {"cls", "config", "default", "discriminator", "expected", "function", "members", "metadata", "serialization"}
)


def tools_of(argument: str, tools: Any) -> str:
    """Tool definitions as text, from a list of definitions, models and functions."""
    if isinstance(tools, type) or callable(tools) or not isinstance(tools, Iterable):
        raise TypeError(f"`{argument}` must be a ToolSet, JSON, or a list of tools, not {_name(tools)}")
    definitions = [_tool(f"{argument}[{index}]", tool) for index, tool in enumerate(tools)]
    try:
        return json.dumps(definitions)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{argument}` is not JSON: {error}") from error


def _tool(argument: str, tool: Any) -> Any:
    if isinstance(tool, dict):
        return tool
    if not isinstance(tool, type) and not inspect.isfunction(tool):
        raise TypeError(f"`{argument}` must be a dict, a model or a function, not {_name(tool)}")
    schema = _schema(argument, _type_adapter(argument, tool))
    definition = {"name": tool.__name__, "parameters": schema}
    # A model's schema has its description; that of a class without one would be inherited.
    description = inspect.getdoc(tool) if inspect.isfunction(tool) else schema.get("description")
    if description:
        definition["description"] = description
    return definition


def typed_of(tools: Any) -> tuple[Any, ...]:
    """The tools that are types or functions."""
    if isinstance(tools, ToolSet):
        typed: tuple[Any, ...] = tools._typed  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
        return typed
    # What can be read once is left to those who read the definitions.
    if isinstance(tools, (str, bytes, dict, Iterator)) or not isinstance(tools, Iterable):
        return ()
    return tuple(tool for tool in tools if isinstance(tool, type) or inspect.isfunction(tool))
