"""Finds its way through the models by the path of a value.

Where a mapping can be of several kinds, the path has a part more than the file: the word of its `kind`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from llm_fleet.rules.problem import PathPart
from llm_fleet.spec.model import FleetModel, NamedModel

OWN_KEY = "(its key)"
KIND = "kind"
"""The key by whose word a mapping is of one of several kinds."""


class Later:
    """The type of a field, imported with the first value that it judges: `Annotated[Any, Later("module", "Name")]`.

    A fleet of one cluster has no use for the models of services and endpoints, and importing all took a tenth of its
    synth's time in Python. Functions of this module see the type itself.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    @cached_property
    def type(self) -> Any:
        """The type."""
        return getattr(import_module(self._module), self._name)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.type)

    def _judge(self, value: Any, info: core_schema.ValidationInfo[Any]) -> Any:
        """Return `value` as the type; pydantic adds the place to the errors that the type's own validator finds."""
        if info.mode == "json":  # Here a list is a tuple, and a word a choice, even in strict mode.
            return self._adapter.validate_json(json.dumps(value))
        return self._adapter.validate_python(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Judge by the type once there is a value."""
        return core_schema.with_info_plain_validator_function(self._judge)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the type, as a definition that fields refer to."""
        return handler(core_schema.definitions_schema(self._adapter.core_schema, []))


def without_kinds(model: type[FleetModel], path: tuple[PathPart, ...]) -> tuple[PathPart, ...]:
    """Return `path` without the words that tell pydantic, and the functions here, of which kind a mapping is."""
    written: list[PathPart] = []
    annotation: Any = model
    for part in path:
        if not kinds_of(annotation):
            written.append(part)
        annotation = _step(annotation, part)
    return tuple(written)


def field_at(model: type[FleetModel], path: tuple[PathPart, ...]) -> FieldInfo | None:
    """Return the field that holds the value at `path`, written in keys; `None` for an entry of a mapping or list."""
    holder = model_at(model, path[:-1])
    return _field(holder, path[-1]) if holder is not None and path else None


def model_at(model: type[FleetModel], path: tuple[PathPart, ...]) -> type[FleetModel] | None:
    """Return the model of the mapping at `path`, written in keys; `None` when it is none of ours."""
    annotation: Any = model
    for part in path:
        annotation = _step(annotation, part)
    found = bare(annotation)
    return found if _is_model(found) else None


def as_written(model: type[FleetModel], path: tuple[PathPart, ...]) -> tuple[PathPart, ...]:
    """Return `path`, which a rule gave in attribute names, in the keys of the file.

    The name of an entry is its key, which is in the path already: `OWN_KEY` follows it then.
    """
    written: list[PathPart] = []
    annotation: Any = model
    for part in path:
        if part in kinds_of(annotation):
            annotation = _step(annotation, part)
            continue
        holder = bare(annotation)
        if _is_model(holder) and issubclass(holder, NamedModel) and part == "name":
            return (*written, OWN_KEY)
        key: PathPart = holder.key_of(part) if _is_model(holder) and isinstance(part, str) else part
        written.append(key)
        annotation = _step(annotation, key)
    return tuple(written)


def kinds_at(model: type[FleetModel], path: tuple[PathPart, ...]) -> Mapping[str, type[FleetModel]]:
    """Return the models that the mapping at `path`, written in keys, may be of by their words; none where it is one."""
    annotation: Any = model
    for part in path:
        annotation = _step(annotation, part)
    return kinds_of(annotation)


@cache
def bare(annotation: Any) -> Any:
    """Return `annotation` without `Annotated` and without its `None`."""
    while True:
        origin = get_origin(annotation)
        arms = [arm for arm in get_args(annotation) if arm is not NoneType]
        if origin is Annotated and isinstance(arms[1], Later):
            annotation = arms[1].type
        elif origin is Annotated or (origin in (Union, UnionType) and len(arms) == 1):
            annotation = arms[0]
        else:
            return annotation


def metadata_of(annotation: Any) -> tuple[Any, ...]:
    """Return what stands behind the type in an `Annotated`; nothing of another annotation."""
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


@cache
def kinds_of(annotation: Any) -> Mapping[str, type[FleetModel]]:
    """Return the models that a mapping may be of by their words; nothing where it is of one kind only."""
    inner = bare(annotation)
    if get_origin(inner) not in (Union, UnionType):
        return {}
    models = [arm for arm in get_args(inner) if _is_model(arm) and KIND in arm.model_fields]
    return {get_args(model.model_fields[KIND].annotation)[0]: model for model in models}


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, FleetModel)


def _field(model: type[FleetModel], key: PathPart) -> FieldInfo | None:
    return next((field for name, field in model.model_fields.items() if (field.alias or name) == key), None)


def _step(annotation: Any, part: PathPart) -> Any:
    """Return the type of what lies under `part`."""
    inner = bare(annotation)
    if kinds := kinds_of(inner):
        return kinds.get(str(part))
    if _is_model(inner):
        field = _field(inner, part)
        return field.annotation if field is not None else None
    arguments = get_args(inner)
    if get_origin(inner) is Mapping:
        return arguments[1]
    return arguments[0] if get_origin(inner) in (tuple, Sequence) else None
