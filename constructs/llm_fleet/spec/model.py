"""Base classes of all descriptions: mappings of a fleet file, and the structure of their fields.

Where a mapping can be of several kinds, the path has one more part than the file: the value of its `kind`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, PrivateAttr, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from llm_fleet.rules.problem import PathPart


class FleetModel(BaseModel):
    """One mapping of the fleet file: strictly typed, frozen, and closed to unknown keys.

    Attributes have the names that the rules use; if a user writes another word, it is the field's alias. The docstring
    below an attribute is its description for users (`descriptions`).
    """

    model_config = ConfigDict(
        defer_build=True,
        strict=True,
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="constants",  # codespell:ignore ser
    )

    written_as: ClassVar[Mapping[str, str]] = {}
    """Keys of the file, by names that rules use and that are no fields: values derived from the key."""

    other_words: ClassVar[Mapping[str, str]] = {}
    """Remedies for unknown keys and values that users know from other tools."""

    @classmethod
    def key_of(cls, attribute: str) -> str:
        """Return the key under which a user writes `attribute`."""
        field = cls.model_fields.get(attribute)
        if field is not None:
            return field.alias or attribute
        return cls.written_as.get(attribute, attribute)

    @classmethod
    def keys(cls) -> list[str]:
        """Return every key that the mapping may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def set_directory(self, directory: Path | None) -> None:
        """Set the base directory of relative paths, that of the fleet file. The loader calls this.

        `None` if it is not known: then no file is looked for.
        """
        for value in self.__dict__.values():
            for part in _parts(value):
                part.set_directory(directory)


class WithPaths(FleetModel):
    """A mapping with relative paths: relative to the fleet file, in Python to the working directory."""

    _directory: Path | None = PrivateAttr(default=Path())

    def set_directory(self, directory: Path | None) -> None:
        """Set the base directory of relative paths in this mapping and all mappings below it."""
        self._directory = directory
        super().set_directory(directory)

    @property
    def is_placed(self) -> bool:
        """Whether the base directory of relative paths is known."""
        return self._directory is not None

    def path_of(self, written: str | PathLike[str]) -> Path:
        """Return the path `written` for the running process."""
        return (self._directory or Path()) / written


def _parts(value: Any) -> list[FleetModel]:
    """Return the mappings in the value of a field."""
    entries: list[Any] = [value]
    if isinstance(value, Mapping):
        entries = list(cast("Mapping[Any, Any]", value).values())
    elif isinstance(value, tuple):
        entries = list(cast("tuple[Any, ...]", value))
    return [each for each in entries if isinstance(each, FleetModel)]


class NamedModel(FleetModel):
    """An entry of a mapping whose key is its name, so that the name is written only once."""

    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The key of this entry."""
        return self._name

    def called(self, name: str) -> None:
        """Set the name. The mapping that holds this entry calls this after reading it."""
        self._name = name


_Entry = TypeVar("_Entry", bound=NamedModel)


def name_entries(entries: Mapping[str, _Entry]) -> Mapping[str, _Entry]:
    """Set the name of each entry to its key."""
    for name, entry in entries.items():
        entry.called(name)
    return entries


OWN_KEY = "(its key)"
KIND = "kind"
"""The key whose value decides the kind of a mapping."""


class Later:
    """The type of a field, imported with the first value that it validates: `Annotated[Any, Later("module", "Name")]`.

    A fleet of one cluster does not need the models of services and endpoints, and importing all took a tenth of its
    synthesis time in Python. Functions of this module use the type itself.
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

    def _check(self, value: Any, info: core_schema.ValidationInfo[Any]) -> Any:
        """Return `value` as the type; pydantic adds the path to errors that the type's own validator finds."""
        if info.mode == "json":  # In JSON mode a list is a tuple, and a word a choice, even in strict mode.
            return self._adapter.validate_json(json.dumps(value))
        return self._adapter.validate_python(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate with the type once there is a value."""
        return core_schema.with_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the type, as a definition that fields refer to."""
        return handler(core_schema.definitions_schema(self._adapter.core_schema, []))


def without_kinds(model: type[FleetModel], path: tuple[PathPart, ...]) -> tuple[PathPart, ...]:
    """Return `path` without the parts for the kinds of mappings, which pydantic and the functions here add."""
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
    """Return the model of the mapping at `path`, written in keys; `None` if it is no `FleetModel`."""
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


def models_on(model: type[FleetModel], path: tuple[PathPart, ...]) -> tuple[type[FleetModel], ...]:
    """Return the models from `model` to the end of `path`, which has attribute names and the kinds of mappings."""
    annotation: Any = model
    found = [model]
    for part in path:
        holder = bare(annotation)
        annotation = _step(annotation, holder.key_of(part) if _is_model(holder) and isinstance(part, str) else part)
        if _is_model(inner := bare(annotation)):
            found.append(inner)
    return tuple(found)


@cache
def models_in(annotation: Any) -> tuple[type[FleetModel], ...]:
    """Return the models in values of type `annotation`, at any depth; outer ones are first."""
    found: dict[type[FleetModel], None] = {}
    level = [annotation]
    while level:
        inner = [bare(each) for each in level]
        models = [each for each in inner if _is_model(each) and each not in found]
        found |= dict.fromkeys(models)
        level = [field.annotation for model in models for field in model.model_fields.values()]
        level += [each for outer in inner if not _is_model(outer) for each in get_args(outer)]
    return tuple(found)


def attribute_at(model: type[FleetModel], path: tuple[PathPart, ...]) -> FieldInfo | None:
    """Return the field at `path`, in attribute names and with the kinds of mappings; `None` for an entry."""
    annotation: Any = model
    field: FieldInfo | None = None
    for part in path:
        holder = bare(annotation)
        key: PathPart = holder.key_of(part) if _is_model(holder) and isinstance(part, str) else part
        field = _field(holder, key) if _is_model(holder) else None
        annotation = _step(annotation, key)
    return field


def kinds_at(model: type[FleetModel], path: tuple[PathPart, ...]) -> Mapping[str, type[FleetModel]]:
    """Return the models that the mapping at `path`, written in keys, can have, by the value of `kind`; empty if only
    one."""
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
    """Return the metadata of an `Annotated`; empty for any other annotation."""
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


@cache
def kinds_of(annotation: Any) -> Mapping[str, type[FleetModel]]:
    """Return the models that a mapping can have, by the value of `kind`; empty if there is only one."""
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
    """Return the type of the value under `part`."""
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
