"""The base class of all descriptions: constructor argument, mapping of the fleet file, and input of the rules.

Each part of a fleet is described once, as a subclass of `Spec`:

    class WarmPool(Spec):
        '''Instances that are kept for the next job.'''

        keep_alive_seconds: Annotated[Seconds, SHORTHAND, Field(alias="keep", examples=["30 min"])]
        '''How long they are kept after the job's end.'''
        cap_seconds: Annotated[Seconds, Field(alias="cap")] = training_job_fact("warm_pool")["cap_seconds"]
        '''Maximum of `keep`. Default: `1 h`.'''

- **Python** writes `WarmPool(keep_alive_seconds=1800)`: attribute names, and numbers in the unit of the API. A value of
  a wrong type raises `FleetError` where it is written.
- **A fleet file** has `warm_pool: {keep: 30 min}`, or `warm_pool: 30 min` for the field with `SHORTHAND`: aliases and
  units. The loader reports errors with their line.
- **Rules** get the same object from both. The construct and the fleet file's checks call them; a `Spec` itself calls
  none. `pool.wrong("cap_seconds", Code.X, "the cap is …", "write …")` is the problem of a field, with its path and
  value.
- **Schema, editor completion and pages** are derived from the annotations, and from the docstring of each attribute.

Metadata of a field, all in `Annotated[…]`:

| metadata | effect |
|---|---|
| `Field(alias=…)` | the key in a fleet file. Default: the attribute's name |
| `Field(examples=[…])` | examples in the schema and in remedies; required for a required field |
| a `Quantity`, a `TextForm` (`spec/values.py`) | unit, or format of a string |
| `Within(limit=…, code=…, what=…)` | a range: `rules.fields.check_fields` checks it, the schema has the bounds |
| `InRequest(path, render)` | property of the API request or the template with the value; `in_request` renders it |
| `SHORTHAND` | a single value in a fleet file is short for the mapping with this key |
| an enum or `Literal` as the type | a choice of words |
| `InFile(type, read)` (`spec/values.py`) | the type in a fleet file where Python has the API's value |
| a `Reference` (`spec/references.py`) | a CDK object in Python; its id or ARN in a fleet file, or in both |
| `PYTHON_ONLY` as the alias | not a key of a fleet file, e.g. the id of a resource that a fleet creates |
| `OWN_KEY` as the alias | the key of the mapping itself, e.g. `name` |

Put an alias into `Annotated`, not after the equals sign: type checkers would take it for the argument's name.

A class can have `switch = True` (`spot: true` is short for the mapping with its defaults), `other_words` (remedies for
keys that users know from other tools), and its own `from_shorthand` if one value sets several keys.

References to other parts of a fleet (a bucket under `storage`) are not in the `Spec`: Python passes the object to the
construct. The fleet file's own subclass adds those keys, and resolves them (`fleet_file/sagemaker.py`).

Two facts determine the code. A CDK token can replace any value of a field, so in Python each field accepts one. And a
fleet file is validated as JSON, where strict typing accepts lists for tuples and words for choices.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from llm_fleet.catalog.data_file import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import AnyCode, FleetError, PathPart, Problem, is_unresolved
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.model import OWN_KEY, FleetModel, attribute_at, bare, kinds_of, metadata_of
from llm_fleet.spec.references import Reference
from llm_fleet.spec.values import InFile, Quantity, TextForm

SHORTHAND = "shorthand"
"""Metadata of the field that a single value in a fleet file sets."""
PYTHON_ONLY = "(in Python)"
"""Prefix of the alias of a field that a fleet file does not have; no unquoted key begins with it."""
_HIDDEN = "("
_PLAIN = (str, int, float)
_OF_FIELD: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Within:
    """The range of a number, as metadata of its field."""

    limit: Limit
    code: AnyCode
    what: str
    """Name in messages, in backticks if it is the key, e.g. `the volume`."""
    below: str = ""
    """The remedy for a number below the range. Default: write the nearest allowed number."""
    above: str = ""
    """The remedy for a number above the range. Default: write the nearest allowed number."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the bounds of a plain number to the schema; a string with a unit has a pattern."""
        node = handler(schema)
        for arm in node.get("anyOf", [node]):
            if arm.get("type") == "integer":
                arm |= {} if self.limit.minimum is None else {"minimum": self.limit.minimum}
                arm |= {} if self.limit.maximum is None else {"maximum": self.limit.maximum}
        return node


@dataclass(frozen=True, slots=True, eq=False)
class InRequest:
    """Where an API request has a field's value, e.g. `StoppingCondition.MaxRuntimeInSeconds`; metadata of the field.

    For a CloudFormation resource it is the property, in the L1 construct's spelling, e.g. `minInstanceCount`.
    """

    path: str
    render: Callable[[Any], Any] | None = None
    """Converts the value. Default: the value itself; for a description, the values of its own fields."""


_Other = TypeVar("_Other", bound="Spec")


class Spec(FleetModel):
    """The description of one part of a fleet; see the module's docstring."""

    switch: ClassVar[bool] = False
    """Whether `true` in a fleet file is short for the mapping with its defaults, and `false` for none."""
    may_be_secret: ClassVar[bool] = False
    """Whether a wrong value in its place may be a secret, which no message in Python repeats."""

    if not TYPE_CHECKING:

        def __init__(self, **given: Any) -> None:
            """Set attributes by their Python names. Raise `FleetError` for each value of a wrong type."""
            try:
                self.__pydantic_validator__.validate_python(given, self_instance=self, by_alias=False, by_name=True)
            except ValidationError as error:
                found = [_explain(type(self), each) for each in error.errors(include_url=False)]
                raise FleetError(found, subject=type(self).__name__) from None

        # Pydantic creates the nested mappings of a fleet file without this method, and reports all errors together.
        __init__.__pydantic_base_init__ = True

    def narrowed(self, to: type[_Other], /, **changes: Any) -> _Other:
        """Return the fields that `to`, another description of the same part, shares with this one, with `changes`."""
        of = {name: getattr(self, name) for name in to.model_fields if name in type(self).model_fields}
        return to.model_construct(**{**of, **changes})

    def wrong(
        self,
        field: str | tuple[PathPart, ...],
        code: AnyCode,
        message: str,
        remedy: str,
        *,
        allowed: str = "",
        value: Any = _OF_FIELD,
    ) -> Problem:
        """Return the problem of `field`: an attribute, or a path below it, e.g. `("env", "HF_TOKEN")`.

        The problem has the value at that path. Pass `value` if another value is wrong, and `None` if the value may be a
        secret or does not help.
        """
        path = (field,) if isinstance(field, str) else field
        shown = _shown_at(self, path) if value is _OF_FIELD else value
        return Problem(code=code, message=message, remedy=remedy, path=path, value=shown, allowed=allowed)

    @classmethod
    def keys(cls) -> list[str]:
        """Return every key that the mapping of a fleet file can have."""
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        return [key for key in keys if not key.startswith(_HIDDEN)]

    @classmethod
    @cache
    def shorthand_field(cls) -> str | None:
        """Return the attribute that a single value sets; `None` if no single value is allowed."""
        return next((name for name, field in cls.model_fields.items() if SHORTHAND in field.metadata), None)

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Return the mapping that `written` is short for; any other value is returned unchanged."""
        if cls.switch and isinstance(written, bool):
            return {} if written else None
        name = cls.shorthand_field()
        if name is not None and isinstance(written, _may_replace(cls.model_fields[name])):
            return written if isinstance(written, bool) else {cls.key_of(name): written}
        return written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Return the schemas of what `from_shorthand` reads, except for the field of the shorthand and the switch."""
        return [{"type": "boolean"}] if cls.switch else []

    @classmethod
    def in_python(cls) -> str:
        """Return how to create one in Python, for remedies."""
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        shorthand = cls.shorthand_field()
        names = required or ([shorthand] if shorthand and not cls.switch else [])
        return f"{cls.__name__}({', '.join(f'{name}=…' for name in names)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept a CDK token as the value of any field, in Python."""
        schema = handler(source)
        fields: Any = schema
        while fields["type"] != "model-fields":
            fields = fields["schema"]
        for field in fields["fields"].values():
            holder = field["schema"] if field["schema"]["type"] == "default" else field
            inner = holder["schema"]
            if inner["type"] == "literal" and len(inner["expected"]) == 1:
                continue  # This value decides the kind of a mapping; pydantic reads it from the schema.
            reader = _list_or_token if _is_tuple(inner) else _or_token
            holder["schema"] = core_schema.json_or_python_schema(
                json_schema=inner,
                python_schema=core_schema.no_info_wrap_validator_function(reader, _entries_or_tokens(inner)),
            )
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Leave out fields that a fleet file does not have; `fleet_file.schema` adds the shorthand."""
        reference = handler(schema)
        node = handler.resolve_ref_schema(reference)
        node["properties"] = {key: each for key, each in node["properties"].items() if not key.startswith(_HIDDEN)}
        kind = [key for key, each in node["properties"].items() if "const" in each and each.pop("default", key)]
        required = [key for key in dict.fromkeys((*kind, *node.pop("required", []))) if not key.startswith(_HIDDEN)]
        node |= {"required": required} if required else {}
        name = cls.shorthand_field()
        short = [] if name is None else [_only_form(node["properties"][cls.key_of(name)])]
        node[SHORTHAND] = [*short, *cls.shorthand_schemas()]
        return reference


def _shown_at(spec: Spec, path: tuple[PathPart, ...]) -> Any:
    """Return the value at `path` as a problem shows it: nothing for a secret, a mapping or a CDK object."""
    value: Any = spec
    for part in path:
        if isinstance(value, FleetModel):
            field = type(value).model_fields.get(str(part))
            if field is not None and any(_is_secret(each) for each in _metadata(field)):
                return None
            value = getattr(value, str(part))
        elif isinstance(value, Mapping):
            value = cast("Mapping[PathPart, Any]", value).get(part)
        else:  # An entry with a name is found by its name, any other by its index.
            value = value[part] if isinstance(part, int) else next(each for each in value if each.name == part)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        items = list(cast("Sequence[Any]", value))
        return items if all(isinstance(item, _PLAIN) for item in items) else None
    return value if isinstance(value, _PLAIN) else None


def _is_secret(metadata: Any) -> bool:
    form = metadata.form if isinstance(metadata, Reference) else metadata
    return isinstance(form, TextForm) and form.secret


def in_request(spec: Spec) -> dict[str, Any]:
    """Return the part of a request that the fields with an `InRequest`, of `spec` and of nested descriptions, define.

    A field that is `None` or an empty list is left out. A description without a path of its own adds its values to
    those of `spec`.
    """
    request: dict[str, Any] = {}
    for name, field in type(spec).model_fields.items():
        value: Any = getattr(spec, name)
        places = [each for each in field.metadata if isinstance(each, InRequest)]
        if isinstance(value, Spec) and not places:
            _merge(in_request(value), request)
        for place in places if value is not None else ():
            entry: Any = _plain(value if place.render is None else place.render(value))
            if entry is None or entry == []:
                continue
            for key in reversed(place.path.split(".")):
                entry = {key: entry}
            _merge(entry, request)
    return request


def _plain(value: Any) -> Any:
    """Return `value` in types that jsii accepts: plain strings for enums and names, mappings for descriptions."""
    if isinstance(value, Spec):
        return in_request(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(each) for each in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, str) else value


def _merge(entries: dict[str, Any], into: dict[str, Any]) -> None:
    for key, value in entries.items():
        if isinstance(into.get(key), dict):
            _merge(value, into[key])
        else:
            into[key] = value


def in_long_form(annotation: Any, written: Any, own_key: str | None = None) -> Any:
    """Return `written`, of a fleet file, with the shorthand of each `Spec` in `annotation` expanded, and its key
    added."""
    inner = bare(annotation)
    if kinds := kinds_of(inner):
        first = next(iter(kinds.values()))
        long: Any = first.from_shorthand(written) if issubclass(first, Spec) else written
        kind = cast("dict[str, Any]", long).get("kind") if isinstance(long, dict) else None
        return cast(
            "Any", in_long_form(kinds[kind], long, own_key) if isinstance(kind, str) and kind in kinds else long
        )
    if isinstance(inner, type) and issubclass(inner, FleetModel):
        mapping = inner.from_shorthand(written) if issubclass(inner, Spec) else written
        if not isinstance(mapping, dict):
            return mapping
        types = _types_in_file(inner)
        long = dict[str, Any]()
        for key, value in cast("dict[str, Any]", mapping).items():
            hidden = key in types and key.startswith(_HIDDEN) and (key, value) != (OWN_KEY, own_key)
            # In quotes if the user wrote a name that is no key of a fleet file, so that pydantic reports it as unknown.
            long[f"'{key}'" if hidden else key] = in_long_form(types.get(key), value)
        return {**long, OWN_KEY: own_key} if OWN_KEY in types and own_key is not None else long
    if isinstance(written, dict) and get_origin(inner) in (Mapping, Sequence):
        of = get_args(inner)[-1]
        return {key: in_long_form(of, each, key) for key, each in cast("dict[str, Any]", written).items()}
    if isinstance(written, list) and get_origin(inner) in (tuple, Sequence):
        return [in_long_form(get_args(inner)[0], each) for each in cast("list[Any]", written)]
    return written  # pyright: ignore[reportUnknownVariableType]


@cache
def _types_in_file(model: type[FleetModel]) -> dict[str, Any]:
    """Return the type of each key of `model` in a fleet file."""
    return {field.alias or name: in_file(field) for name, field in model.model_fields.items()}


def in_file(field: FieldInfo) -> Any:
    """Return the type of `field` in a fleet file."""
    return next((each.of for each in field.metadata if isinstance(each, InFile)), field.annotation)


def _or_token(value: Any, validate: Callable[[Any], Any]) -> Any:
    return value if is_unresolved(value) else validate(value)


def _list_or_token(value: Any, validate: Callable[[Any], Any]) -> Any:
    return _or_token(tuple(cast("list[Any]", value)) if isinstance(value, list) else value, validate)


def _entries_or_tokens(schema: Any) -> Any:
    """Return `schema`; for a mapping, it also accepts a token for each value."""
    if schema["type"] != "dict" or "values_schema" not in schema:
        return schema
    values = core_schema.no_info_wrap_validator_function(_or_token, schema["values_schema"])
    return {**schema, "values_schema": values}


def _is_tuple(schema: Any) -> bool:
    return schema["type"] == "tuple" or (schema["type"] == "nullable" and schema["schema"]["type"] == "tuple")


def _may_replace(field: FieldInfo) -> tuple[type, ...]:
    """Return the classes of values that are accepted for `field`; a bare number is accepted where its unit may be
    missing."""
    if _quantity(field) is not None:
        return (str, int, float)
    return (int,) if bare(field.annotation) is int else (str,)


def _quantity(field: FieldInfo) -> Quantity | None:
    """Return the unit of `field`, which may be optional; `None` if it has none."""
    return next((each for each in _metadata(field) if isinstance(each, Quantity)), None)


def unit_at(model: type[FleetModel], path: tuple[PathPart, ...]) -> Quantity | None:
    """Return the unit of the field at `path`, in attribute names and with kinds; `None` if it has none."""
    field = attribute_at(model, path)
    return None if field is None else _quantity(field)


def _metadata(field: FieldInfo) -> Iterator[Any]:
    """Yield the metadata of the type of `field`, which may be optional."""
    yield from field.metadata
    for arm in (field.annotation, *get_args(field.annotation)):
        yield from metadata_of(arm)


def _only_form(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one key's value, without the description of the key and without `null`."""
    arms: list[dict[str, Any]] = [arm for arm in node.get("anyOf", [node]) if arm.get("type") != "null"]
    about = {key: value for key, value in node.items() if key == "examples"}
    return {**{key: value for key, value in arms[0].items() if key not in ("title", "default")}, **about}


_WANTED: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "True or False",
    "mapping_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a tuple",
}
"""The required type in Python, by pydantic's type of error."""


def _explain(spec: type[Spec], error: ErrorDetails) -> Problem:
    """Return the problem for one of pydantic's errors in a Python value, by attribute names."""
    path: tuple[PathPart, ...] = tuple(error["loc"])
    if path[-1:] == ("[key]",):
        path = (*path[:-2], str(path[-2]))
    given = error["input"]
    match error["type"]:
        case "fleet":
            return _of_reader(error).under(*path)
        case "missing":
            problem = Problem(
                code=Code.MISSING_KEY, message=f"`{path[-1]}` is required", remedy=f"add `{path[-1]}`", path=path
            )
        case "extra_forbidden":
            names = list((_model_at(spec, path[:-1]) or spec).model_fields)
            problem = Problem(
                code=Code.UNKNOWN_KEY,
                message=f"unknown argument `{path[-1]}`",
                allowed=", ".join(names),
                remedy=did_you_mean(str(path[-1]), names, otherwise="remove it, or use one of the allowed arguments"),
                path=path,
            )
        case _:
            field = (_model_at(spec, path[:-1]) or spec).model_fields.get(str(path[-1]))
            unit = None if field is None else _quantity(field)
            problem = _wrong_type(_annotation_at(spec, path), error["type"], given, unit).under(*path)
    return problem


def _of_reader(error: ErrorDetails) -> Problem:
    context = error.get("ctx", {})
    return Problem(
        code=Code(context["code"]),
        message=context["message"],
        allowed=context["allowed"],
        remedy=context["remedy"],
        value=None if context["secret"] else error["input"],
    )


def _wrong_type(annotation: Any, kind: str, given: Any, unit: Quantity | None) -> Problem:
    wanted_class = bare(annotation)
    code, shown = Code.WRONG_TYPE, given
    if isinstance(wanted_class, type) and issubclass(wanted_class, Enum):
        code = Code.NOT_A_CHOICE
        wanted = " or ".join(f"{wanted_class.__name__}.{member.name}" for member in wanted_class)
        remedy = f"write {wanted_class.__name__}.{next(iter(wanted_class)).name}, or another of them"
    elif isinstance(wanted_class, type) and issubclass(wanted_class, Spec):
        wanted, remedy = f"a {wanted_class.__name__}", f"write {wanted_class.in_python()}"
        shown = None if wanted_class.may_be_secret else given
    elif kinds := kinds_of(annotation):
        wanted = " or ".join(f"a {each.__name__}" for each in kinds.values())
        remedy = f"write {next(iter(kinds.values())).__name__}()"
    elif isinstance(wanted_class, type) and is_dataclass(wanted_class):
        wanted, remedy = f"a {wanted_class.__name__}", f"write {wanted_class.__name__}(…)"
    elif kind == "literal_error":
        code, wanted = Code.NOT_A_CHOICE, " or ".join(map(repr, get_args(wanted_class)))
        remedy = "write one of them"
    else:
        wanted = _WANTED.get(kind, "a value of another class")
        wanted += f" of {unit.in_python}" if unit is not None else ""
        remedy = f"write {wanted}"
    noun = "None" if given is None else f"of type {type(given).__name__}"
    return Problem(
        code=code, message=f"this must be {wanted}, but is {noun}", remedy=remedy, value=shown, allowed=wanted
    )


def _annotation_at(spec: type[Spec], path: tuple[PathPart, ...]) -> Any:
    annotation: Any = spec
    for part in path:
        inner = bare(annotation)
        if isinstance(inner, type) and issubclass(inner, FleetModel):
            field = inner.model_fields.get(str(part))
            annotation = field.annotation if field is not None else None
        else:
            arguments = get_args(inner)
            annotation = arguments[1 if get_origin(inner) is Mapping else 0] if arguments else None
    return annotation


def _model_at(spec: type[Spec], path: tuple[PathPart, ...]) -> type[FleetModel] | None:
    found = bare(_annotation_at(spec, path))
    return found if isinstance(found, type) and issubclass(found, FleetModel) else None
