"""Partial instances of types: how the members of a record that is still being written become attributes.

A plan is a list of nodes, tuples ``(kind, ...)``, of which the first stands for the type itself:

- ``("any",)``: what JSON has; ``("text",)``: a string that grows;
- ``("list", node)`` and ``("map", node)``: a list and a dict that grow;
- ``("object", make, members)``: an instance that ``make`` makes, and by the names in JSON the attributes and their nodes;
- ``("whole", convert)``: nothing until the value is complete, then ``convert(json)``.
"""

from __future__ import annotations

import copy
import dataclasses
import reprlib
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

from tokenline._models import typed_of
from tokenline._tokenline import Plan

_KEPT = "__tokenline_partial__"
_UNIONS = (Union, types.UnionType)
_LISTS = (list, Sequence)
_DICTS = (dict, Mapping)


def plan_of(model: Any) -> Plan:
    """The plan of a model: a type, or an adapter of pydantic's. It is kept with the type until pydantic rebuilds it."""
    built = getattr(model, "__pydantic_validator__", None) or getattr(model, "validator", None)
    kept = getattr(model, "__dict__", {}).get(_KEPT)
    if kept is not None and kept[0] is built:
        known: Plan = kept[1]
        return known
    planned = Plan(_Planner().nodes_of(model))
    try:
        setattr(model, _KEPT, (built, planned))
    except (AttributeError, TypeError):
        # Such as of `list[A]`.
        pass
    return planned


class _Planner:
    def __init__(self) -> None:
        self._nodes: list[tuple[Any, ...]] = []
        self._known: dict[Any, int] = {}

    def nodes_of(self, model: Any) -> list[tuple[Any, ...]]:
        adapted = getattr(model, "_type", model) if hasattr(model, "core_schema") else model
        self._node(adapted, None, is_root=True)
        return self._nodes

    def nodes_of_function(self, function: Any) -> list[tuple[Any, ...]]:
        """Its arguments by their names."""
        at = self._add(())
        hints = _hints(function) or {}
        hints.pop("return", None)
        named = _named(hints, _core_aliases(function), None)
        nodes = {name: (attribute, self._node(of, None)) for name, attribute, of, _ in named}
        self._nodes[at] = ("object", _empty_dict, nodes) if nodes else ("any",)
        return self._nodes

    def _add(self, node: tuple[Any, ...]) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _node(self, of: Any, config: Any, *, metadata: tuple[Any, ...] = (), is_root: bool = False) -> int:
        """The node of a type, with the configuration of the type around it."""
        given = (of, metadata)
        of, metadata = _plain(of, metadata)
        known = _hashable((of, metadata))
        if known is not None and known in self._known:
            return self._known[known]
        if _changes_input(metadata):
            return self._add(("any",)) if is_root else self._whole(*given, config)
        members = _members_of(of)
        if members is not None:
            # A type may refer to itself.
            at = self._add(())
            if known is not None:
                self._known[known] = at
            make, fields, own = members
            nodes = {
                name: (attribute, self._node(annotation, own, metadata=tuple(more)))
                for name, attribute, annotation, more in fields
            }
            self._nodes[at] = ("object", make, nodes)
            return at
        origin, arguments = typing.get_origin(of), typing.get_args(of)
        if origin in _LISTS or of is list:
            return self._growing("list", arguments[0] if arguments else Any, config, known)
        if (origin in _DICTS and _plain(arguments[0], ())[0] in (str, Any)) or of is dict:
            return self._growing("map", arguments[1] if arguments else Any, config, known)
        if of is str:
            return self._add(("text",))
        if of is Any or of is object or is_root:
            return self._add(("any",))
        return self._whole(*given, config)

    def _growing(self, kind: str, of: Any, config: Any, key: Any) -> int:
        at = self._add(())
        if key is not None:
            self._known[key] = at
        self._nodes[at] = (kind, self._node(of, config))
        return at

    def _whole(self, of: Any, metadata: tuple[Any, ...], config: Any) -> int:
        return self._add(("whole", _converter(of, metadata, config)))


def _plain(of: Any, metadata: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The type without annotations, and without ``None`` beside one type; and the annotations."""
    while True:
        if typing.get_origin(of) is typing.Annotated:
            of, metadata = of.__origin__, (*of.__metadata__, *metadata)
        elif hasattr(of, "__supertype__"):
            of = of.__supertype__
        elif hasattr(of, "__value__") and not isinstance(of, type):
            of = of.__value__
        elif typing.get_origin(of) in _UNIONS:
            others = [one for one in typing.get_args(of) if one is not type(None)]
            if len(others) != 1:
                return of, metadata
            of = others[0]
        else:
            return of, metadata


def _hashable(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _changes_input(metadata: tuple[Any, ...]) -> bool:
    """Whether validators or other annotations decide what a value becomes, so that it must be complete."""
    from pydantic.fields import FieldInfo

    plain = ("annotated_types", "pydantic.fields", "pydantic._internal._fields", "pydantic.types")
    for one in metadata:
        if isinstance(one, FieldInfo):
            if _changes_input(tuple(one.metadata)):
                return True
        elif isinstance(one, str) or type(one).__module__ in plain:
            continue
        elif hasattr(one, "__get_pydantic_core_schema__") or type(one).__module__.startswith("pydantic"):
            return True
    return False


_Members = tuple[Callable[[], Any], list[tuple[str, str, Any, tuple[Any, ...]]], Any]


def _members_of(of: Any) -> _Members | None:
    """What makes a partial instance; names in JSON, attributes, types and annotations; the configuration."""
    import pydantic
    from typing_extensions import is_typeddict

    if isinstance(of, type) and issubclass(of, pydantic.BaseModel) and not issubclass(of, pydantic.RootModel):
        return _members_of_model(of)
    if is_typeddict(of) or is_typeddict(typing.get_origin(of)):
        hints = _hints(typing.get_origin(of) or of)
        config = getattr(of, "__pydantic_config__", None)
        return None if hints is None else (_empty_dict, list(_named(hints, _core_aliases(of), config)), config)
    if isinstance(of, type) and dataclasses.is_dataclass(of):
        return _members_of_dataclass(of)
    return None


def _members_of_model(model: Any) -> _Members:
    partial = _partial_model(model)
    fields = []
    for name, field in model.model_fields.items():
        for alias in _aliases(name, field, model.model_config):
            fields.append((alias, name, field.annotation, tuple(field.metadata)))
    names = tuple(model.model_fields)
    has_extra = model.model_config.get("extra") == "allow"
    private = dict(getattr(partial, "__private_attributes__", {}))
    new, put = partial.__new__, object.__setattr__

    def make() -> tuple[Any, dict[str, Any], set[str], dict[str, Any] | None]:
        instance = new(partial)
        present: set[str] = set()
        extra: dict[str, Any] | None = {} if has_extra else None
        put(instance, "__dict__", dict.fromkeys(names))
        put(instance, "__pydantic_fields_set__", present)
        put(instance, "__pydantic_extra__", extra)
        put(instance, "__pydantic_private__", dict(_defaults(private)) if private else None)
        return instance, instance.__dict__, present, extra

    return make, fields, model.model_config


def _defaults(private: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The private attributes with a default that needs no other member."""
    from pydantic_core import PydanticUndefined

    for name, attribute in private.items():
        factory = attribute.default_factory
        if factory is None:
            if attribute.default is not PydanticUndefined:
                yield name, copy.deepcopy(attribute.default)
        elif not getattr(attribute, "default_factory_takes_validated_data", False):
            yield name, factory()


# What says how members are named and shown. Others name functions of the user, or are about validation.
_SHOWN = (
    "arbitrary_types_allowed",
    "extra",
    "frozen",
    "populate_by_name",
    "ser_json_bytes",
    "ser_json_inf_nan",
    "ser_json_temporal",
    "ser_json_timedelta",
    "serialize_by_alias",
    "validate_by_alias",
    "validate_by_name",
)
# What must not fail for want of a member.
_SAFE = (
    "__iter__",
    "__pretty__",
    "__repr__",
    "__repr_args__",
    "__repr_name__",
    "__repr_recursion__",
    "__repr_str__",
    "__rich_repr__",
    "__str__",
    "model_dump",
    "model_dump_json",
)


def _partial_model(model: Any) -> Any:
    """A subclass whose members may be missing: they are ``None`` then.

    It is made as a model of its own, and becomes a subclass after that: so it has the methods and properties of the model,
    but no validators, serializers and computed fields, which rely on all members, and ``__init_subclass__`` is not called.
    """
    import pydantic

    fields = {name: (Any, _missing_field(field)) for name, field in model.model_fields.items()}
    config: Any = {**_shown(model.model_config), "protected_namespaces": ()}
    try:
        with warnings.catch_warnings():
            # The model was warned of already, such as of a field `json`.
            warnings.simplefilter("ignore")
            # As the model, it is not directly below `BaseModel`, whose instances have another layout.
            base = pydantic.create_model("Base", __config__=config)
            partial: Any = pydantic.create_model(
                f"Partial{model.__name__}",
                __base__=base,
                __module__=model.__module__,
                __doc__=f"A `{model.__name__}` that is still being written: members that have not arrived are None.",
                **fields,  # type: ignore[call-overload]
            )
        for name in _SAFE:
            if name not in fields and hasattr(pydantic.BaseModel, name):
                setattr(partial, name, getattr(pydantic.BaseModel, name))
        partial.__private_attributes__ = dict(model.__private_attributes__)
        partial.__bases__ = (model,)
    except Exception:
        # A class whose instances have another layout, such as one with slots.
        return model
    return partial


def _missing_field(field: Any) -> Any:
    from pydantic.fields import FieldInfo

    names = ("alias", "validation_alias", "serialization_alias", "repr", "exclude")
    kept: dict[str, Any] = {name: getattr(field, name) for name in names if getattr(field, name) is not None}
    return FieldInfo(default=None, **kept)


def _shown(config: Any) -> dict[str, Any]:
    return {name: config[name] for name in _SHOWN if name in (config or {})}


def _aliases(name: str, field: Any, config: Any) -> Iterator[str]:
    """The names that a field may have in JSON."""
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    yield from _json_names(name, getattr(alias, "choices", [alias]), config)


def _json_names(name: str, aliases: Iterable[Any], config: Any) -> Iterator[str]:
    config = config or {}
    aliases = [alias for alias in aliases if alias is not None]
    found = [alias for alias in aliases if isinstance(alias, str)]
    by_alias = config.get("validate_by_alias") is not False
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    if by_alias:
        yield from found
    if (not aliases or by_name or not by_alias) and not (by_alias and name in found):
        yield name


def _core_aliases(of: Any) -> dict[str, list[Any]]:
    """The aliases of the members of a dataclass or a ``TypedDict``, and of the arguments of a function, by their names.

    pydantic knows them: they may come from annotations, defaults and the configuration.
    """
    from pydantic import TypeAdapter

    try:
        fields = _core_fields(TypeAdapter(of).core_schema, typing.get_origin(of) or of)
    except Exception:
        # It is no type for pydantic; that is said elsewhere.
        return {}
    aliases = {}
    for name, field in fields.items():
        alias = field.get("validation_alias", field.get("alias"))
        choices: list[Any] = [alias]
        if isinstance(alias, list) and all(isinstance(one, list) for one in alias):
            choices = alias
        aliases[name] = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in choices]
    return aliases


def _core_fields(core: Any, of: Any) -> dict[str, Any]:
    """The fields in a core schema, by their names."""
    waiting = [core]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (list, tuple)):
            waiting.extend(part)
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        # Before 2.10, a dict has no `cls`.
        if kind == "typed-dict" and part.get("cls", of) is of:
            fields: dict[str, Any] = part["fields"]
            return fields
        if kind == "dataclass" and part.get("cls") is of:
            inner = part["schema"]
            while inner.get("type") != "dataclass-args":
                inner = inner["schema"]
            return {field["name"]: field for field in inner["fields"]}
        if kind in ("arguments", "arguments-v3") and not isinstance(of, type):
            return {field["name"]: field for field in part["arguments_schema"]}
        waiting.extend(value for name, value in part.items() if name in _INNER or kind is None)
    return {}


# The members of core schemas that have others inside.
_INNER = frozenset({"arguments_schema", "choices", "definitions", "fields", "items_schema", "schema", "values_schema"})


def _members_of_dataclass(of: Any) -> _Members | None:
    hints = _hints(of)
    if hints is None:
        return None
    names = [field.name for field in dataclasses.fields(of)]
    partial = _partial_dataclass(of)
    new = object.__new__

    def make() -> tuple[Any, dict[str, Any], None, None]:
        instance = new(partial)
        instance.__dict__.update(dict.fromkeys(names))
        return instance, instance.__dict__, None, None

    config = getattr(of, "__pydantic_config__", None)
    known = {name: hints[name] for name in names if name in hints}
    return make, list(_named(known, _core_aliases(of), config)), config


class _Plain:
    """Its instances have the layout of those of dataclasses."""


def _partial_dataclass(of: Any) -> Any:
    """As ``_partial_model``."""
    name = f"Partial{of.__name__}"
    known: Any = getattr(of, "__pydantic_fields__", None)
    shown = reprlib.recursive_repr()(_repr_of_dataclass)
    members: dict[str, Any] = {"__module__": of.__module__, "__repr__": shown, "__str__": object.__str__}
    for field in dataclasses.fields(of):
        if known is not None and field.name in known:
            members[field.name] = _missing_field(known[field.name])
        else:
            members[field.name] = dataclasses.field(default=None, repr=field.repr)
    members["__annotations__"] = {field.name: Any for field in dataclasses.fields(of)}
    made: Any = type(name, (_Plain,), members)
    if known is None:
        made = dataclasses.dataclass(init=False, repr=False, eq=False)(made)
    else:
        import pydantic.dataclasses

        config: Any = _shown(getattr(of, "__pydantic_config__", None))
        made = pydantic.dataclasses.dataclass(made, repr=False, eq=False, config=config)
    try:
        made.__bases__ = (of,)
    except TypeError:
        # Instances with slots have no dict.
        pass
    return made


def _repr_of_dataclass(self: Any) -> str:
    shown = [f"{field.name}={getattr(self, field.name, None)!r}" for field in dataclasses.fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _empty_dict() -> tuple[Any, dict[str, Any], None, None]:
    members: dict[str, Any] = {}
    return members, members, None, None


def _named(
    hints: dict[str, Any], aliases: dict[str, list[Any]], config: Any
) -> Iterator[tuple[str, str, Any, tuple[Any, ...]]]:
    for name, of in hints.items():
        while getattr(typing.get_origin(of), "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            (of,) = typing.get_args(of)
        for alias in _json_names(name, aliases.get(name, ()), config):
            yield alias, name, of, ()


def _hints(of: Any) -> dict[str, Any] | None:
    # pydantic needs it, tokenline alone does not.
    from typing_extensions import get_type_hints

    try:
        return get_type_hints(of, include_extras=True)
    except (NameError, TypeError):
        # They refer to names that are not there.
        return None


def _converter(of: Any, metadata: tuple[Any, ...], config: Any) -> Callable[[Any], Any]:
    """The function that makes a value of a type from JSON, made when it is first needed."""
    made: list[Callable[[Any], Any]] = []

    def convert(json: Any) -> Any:
        if not made:
            made.append(_adapter(of, metadata, config).validate_json)
        return made[0](json)

    return convert


def _adapter(of: Any, metadata: tuple[Any, ...], config: Any) -> Any:
    from pydantic import PydanticUserError, TypeAdapter

    annotate: Any = typing.Annotated
    arguments = (of, *metadata)
    annotated = annotate[arguments] if metadata else of
    try:
        return TypeAdapter(annotated, config=config)
    except PydanticUserError:
        # The type has a configuration of its own.
        return TypeAdapter(annotated)


def plans_of(tools: Any) -> dict[str, Plan]:
    """The plans of the tools that are types or functions, by their names. Others have dicts."""
    plans: dict[str, Plan] = {}
    for tool in typed_of(tools):
        plans[tool.__name__] = plan_of(tool) if isinstance(tool, type) else Plan(_Planner().nodes_of_function(tool))
    return plans
