"""Types of single values: numbers with a unit, ids and ARNs.

`Annotated[int, SECONDS]` is the type of a field that is `30 min` in a fleet file and `1800` in Python; `Annotated[str,
KEY_ARN]` is a string of one format, checked in both. The JSON Schema is derived from the same object.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike, fspath
from typing import Annotated, Any, TypeVar, cast, get_args

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from llm_fleet.catalog.hyperpod import instances
from llm_fleet.catalog.neuron import neuron_instance_names
from llm_fleet.rules.codes import Code
from llm_fleet.rules.values import nearest


def wrong_value(
    code: Code, message: str, *, remedy: str, allowed: str = "", secret: bool = False
) -> PydanticCustomError:
    """Return the error to raise from a validator; `explain` converts it into a `Problem`."""
    context = {"code": code.value, "message": message, "allowed": allowed, "remedy": remedy, "secret": secret}
    return PydanticCustomError("fleet", "{message}", context)


_WRITTEN = re.compile(r"(-?\d+(?:\.\d+)?) *([A-Za-zµ][A-Za-z/]*)", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d)[,'_ ](?=\d{3}(\D|$))", re.ASCII)
_BARE = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantity:
    """A kind of quantity, with its units as multiples of the API's unit. Metadata of an `int`."""

    noun: str
    units: Mapping[str, int]
    """The first is the API's own, with the value 1."""
    example: str
    usual: str = ""
    """The unit that a user most likely means when the unit is missing. Default: the API's own."""
    twins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other units, in lower case, that users write, and the unit to suggest for each."""
    fine: int = 1
    """How many of the first unit are one unit of the Python value, as a fraction. Default: 1, whole numbers."""

    @property
    def in_python(self) -> str:
        """Unit of the number in Python."""
        return next(unit for unit, worth in self.units.items() if worth == self.fine)

    def parse(self, written: Any) -> int:
        """Return `written` in the API's unit. A bare number is an error whose remedy suggests the unit."""
        amount, unit = self._amount_and_unit(written)
        number = amount * self.units[unit]
        own = next(iter(self.units))
        if number != number.to_integral_value():
            raise wrong_value(
                Code.QUANTITY,
                f"{written} is {number.normalize():f} {own}, which is not a whole number",
                allowed=f"a whole number of {own}",
                remedy=f"write it in {own}, e.g. `{max(1, int(number))} {own}`",
            )
        return int(number)

    def text(self, number: int) -> str:
        """Return `number`, in the API's unit, in the largest unit that divides it, e.g. `28 days`."""
        fitting = [unit for unit, worth in self.units.items() if number and number % worth == 0]
        worth = max(self.units[unit] for unit in fitting) if fitting else min(self.units.values())
        amount = number // worth
        spellings = [unit for unit, each in self.units.items() if each == worth]
        plural = [unit for unit in spellings if unit.endswith("s") and unit.removesuffix("s") in spellings]
        unit = plural[0] if plural else spellings[0]
        return f"{amount} {unit.removesuffix('s') if plural and amount == 1 else unit}"

    def _amount_and_unit(self, written: Any) -> tuple[Decimal, str]:
        if isinstance(written, int | float) and not isinstance(written, bool):
            raise self._no_unit(str(written))
        if not isinstance(written, str):
            raise self._refusal(f"a {self.noun} must be text with a number and a unit", f"write e.g. `{self.example}`")
        text = written.strip()
        if _BARE.fullmatch(text):
            raise self._no_unit(text)
        match = _WRITTEN.fullmatch(text)
        if match is None and _WRITTEN.fullmatch(plain := _THOUSANDS.sub("", text)):
            remedy = f"write numbers without a thousands separator: `{plain}`"
            raise self._refusal(f"this is not a valid {self.noun}", remedy)
        if match is None:
            raise self._refusal(f"this is not a valid {self.noun}", f"write e.g. `{self.example}`")
        amount, unit = match.groups()
        if unit not in self.units:
            offer = self.twins.get(unit.casefold()) or nearest(unit, self.units) or _TWINS.get(unit.casefold())
            right = f"`{amount} {offer}`" if offer in self.units else f"`{self.example}`"
            raise self._refusal(f"{unit} is not a unit of a {self.noun} here", f"write e.g. {right}")
        return Decimal(amount), unit

    def _no_unit(self, number: str) -> Exception:
        unit = self.usual or next(iter(self.units))
        # No such value can be 0: with its unit it would be out of range.
        right = f"write `{number} {unit}`" if Decimal(number) else f"write e.g. `{self.example}`"
        return self._refusal(f"the unit of the {self.noun} is missing", right)

    def _refusal(self, message: str, remedy: str) -> Exception:
        allowed = f"a number and one of {', '.join(self.units)}, e.g. `{self.example}`"
        return wrong_value(Code.QUANTITY, message, allowed=allowed, remedy=remedy)

    def json_schema(self) -> dict[str, Any]:
        """Return the schema of the string."""
        units = "|".join(re.escape(unit) for unit in self.units)
        return {"type": "string", "pattern": rf"^\d+(\.\d+)? *({units})$", "examples": [self.example]}

    def _read(self, written: Any) -> float:
        number = self.parse(written)
        return number if self.fine == 1 else number / self.fine

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read the string with its unit from a fleet file, and the number in Python."""
        number = handler(source)
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_before_validator_function(
                self._read, core_schema.int_schema() if self.fine == 1 else core_schema.float_schema()
            ),
            python_schema=number,
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the string."""
        return self.json_schema()


_TWINS = {
    "gb": "GiB",
    "tb": "TiB",
    "g": "GiB",
    "t": "TiB",
    "sec": "s",
    "seconds": "s",
    "m": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "d": "days",
}
"""Common spellings of units that have another name here."""

SIZE = Quantity(noun="size", units={"GiB": 1, "TiB": 1024}, example="500 GiB")

LUSTRE_SIZE = Quantity(noun="size", units={"GiB": 1, "TiB": 1000}, example="4800 GiB")
"""In FSx for Lustre 1.2 TiB means 1200 GiB: a TiB is 1000 GiB in its user guide and console."""

RECORD_SIZE = Quantity(noun="size", units={"KiB": 1, "MiB": 1024}, example="128 KiB")

RATE = Quantity(noun="throughput", units={"MB/s": 1, "GB/s": 1000}, example="320 MB/s")

SECONDS = Quantity(
    noun="time",
    units={"s": 1, "min": 60, "h": 3600, "days": 86400, "day": 86400},
    example="30 min",
)

MINUTES = Quantity(noun="time", units={"min": 1, "h": 60}, example="30 min")

DAYS = Quantity(noun="time", units={"days": 1, "day": 1}, example="30 days")

MEMORY = Quantity(noun="size", units={"MiB": 1, "GiB": 1024}, example="480 GiB", usual="GiB")

RATE_OF_VOLUME = Quantity(noun="throughput", units={"MiB/s": 1}, example="250 MiB/s")
"""EBS counts in MiB, FSx in MB."""

IDLE_TIME = Quantity(noun="time", units={"min": 1, "h": 60}, example="10 min")

WAIT = Quantity(noun="time", units={"ms": 1, "s": 1000, "min": 60_000}, example="10 s", usual="s")

WAIT_SECONDS = Quantity(noun="time", units=WAIT.units, example="10 s", usual="s", fine=1000)

BODY = Quantity(noun="size", units={"bytes": 1, "KiB": 1024, "MiB": 1024**2}, example="2 MiB", usual="MiB")

HOURS = Quantity(noun="time", units={"hours": 1, "hour": 1, "h": 1, "days": 24, "day": 24}, example="6 hours")

LIFETIME = Quantity(
    noun="time",
    units={"s": 1, "min": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400},
    example="4 hours",
    usual="hours",
)


class _Money(Quantity):
    def _no_unit(self, number: str) -> Exception:
        currency = next(iter(self.units))
        return self._refusal("the currency is missing", f"write `{number} {currency}`")


DOLLARS = _Money(noun="sum of money", units={"USD": 1}, example="200 USD")

PARAMETERS = Quantity(
    noun="number of parameters", units={"parameters": 1, "M": 10**6, "B": 10**9}, example="8 B", usual="B"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """A format of strings. Metadata of a `str`."""

    noun: str
    pattern: str
    example: str
    secret: bool = False
    """Whether a wrong value in its place may be a secret, which no message in Python repeats."""

    def parse(self, written: Any) -> Any:
        """Return `written` if it has the format. Pydantic reports values that are not strings."""
        if not isinstance(written, str) or re.fullmatch(self.pattern, written):
            return written
        raise wrong_value(
            Code.TEXT_FORM,
            f"this is not {self.noun}",
            allowed=f"text in the format of `{self.example}`",
            remedy=f"write the complete value, e.g. `{self.example}`",
            secret=self.secret,
        )

    def json_schema(self) -> dict[str, Any]:
        """Return the schema of the string."""
        return {"type": "string", "pattern": f"^{self.pattern}$", "examples": [self.example]}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the format both in the fleet file and in Python."""
        return core_schema.no_info_before_validator_function(self.parse, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the string."""
        return self.json_schema()


_ARN = "arn:aws[a-z-]*"
KEY_ARN = TextForm(
    noun="the ARN of a KMS key",
    pattern=f"{_ARN}:kms:[a-z0-9-]+:[0-9]{{12}}:key/[A-Za-z0-9-]+",
    example="arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef",
)
"""Of the key itself: IAM policies do not support aliases, so a role could not get permission to use the key."""
ROLE_ARN = TextForm(
    noun="the ARN of an IAM role",
    pattern=f"{_ARN}:iam::[0-9]{{12}}:role/[A-Za-z0-9_+=,.@/-]+",
    example="arn:aws:iam::111122223333:role/hyperpod-nodes",
)
POLICY_ARN = TextForm(
    noun="the ARN of a managed policy",
    pattern=f"{_ARN}:iam::([0-9]{{12}}|aws):policy/[A-Za-z0-9_+=,.@/-]+",
    example="arn:aws:iam::111122223333:policy/boundary",
)
SECRET_ARN = TextForm(
    noun="the ARN of a Secrets Manager secret",
    pattern=f"{_ARN}:secretsmanager:[a-z0-9-]+:[0-9]{{12}}:secret:[A-Za-z0-9/_+=.@-]+",
    example="arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
    secret=True,
)
TOPIC_ARN = TextForm(
    noun="the ARN of an SNS topic",
    pattern="arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+",
    example="arn:aws:sns:us-west-2:111122223333:pager",
)
SUBNET_ID = TextForm(
    noun="the id of a subnet", pattern="subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})", example="subnet-0123456789abcdef0"
)
SECURITY_GROUP_ID = TextForm(noun="the id of a security group", pattern="sg-[0-9a-z]+", example="sg-0123456789abcdef0")

Gibibytes = Annotated[int, SIZE]
"""GiB, written as `500 GiB` or `1 TiB`."""

Kibibytes = Annotated[int, RECORD_SIZE]
"""KiB, written as `128 KiB` or `1 MiB`."""

LustreGibibytes = Annotated[int, LUSTRE_SIZE]
"""GiB, written as `4800 GiB` or, as in FSx, `4.8 TiB`."""

MegabytesPerSecond = Annotated[int, RATE]
"""MB/s, written as `320 MB/s` or `24 GB/s`."""

MebibytesPerSecond = Annotated[int, RATE_OF_VOLUME]
"""MiB/s, written as `250 MiB/s`."""

Mebibytes = Annotated[int, MEMORY]
"""MiB, written as `480 GiB`."""

Seconds = Annotated[int, SECONDS]
"""Seconds, written as `300 s`, `30 min`, `24 h` or `2 days`."""

Minutes = Annotated[int, MINUTES]
"""Minutes, written as `30 min` or `2 h`; CloudWatch gets metrics once a minute."""

Days = Annotated[int, DAYS]
"""Days, written as `30 days`."""

Milliseconds = Annotated[int, WAIT]
"""Milliseconds, written as `10 s` or `800 ms`."""

Hours = Annotated[int, HOURS]
"""Whole hours, written as `6 hours`."""

Dollars = Annotated[float, DOLLARS]
"""US dollars, written as `200 USD`; whole numbers in a fleet file."""

ParameterCount = Annotated[int, PARAMETERS]
"""A number of parameters of a model, written as `8 B`: billions, as in the names of models."""


WaitSeconds = Annotated[float, WAIT_SECONDS]
"""Seconds and fractions of them, written as `10 s` or `800 ms`."""

BodyBytes = Annotated[int, BODY]
"""Bytes of a request, written as `2 MiB`."""


def _instance_type_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = sorted(instances())


class AnyText:
    """Keeps a string of Python unchanged: pydantic would convert an `InstanceType` to a plain one. Metadata of a
    `str`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(
            json_schema=handler(source), python_schema=core_schema.is_instance_schema(str)
        )


InstanceTypeName = Annotated[str, AnyText(), Field(json_schema_extra=_instance_type_schema)]
"""An instance type by its `ml.` name. The schema offers the known types; a rule checks the value."""


def _neuron_instance_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = neuron_instance_names()


NeuronInstanceName = Annotated[str, Field(json_schema_extra=_neuron_instance_schema)]
"""An EC2 instance type. The schema offers the known types; a rule checks the value."""

KeyArn = Annotated[str, KEY_ARN]
"""The ARN of a KMS key."""

RoleArn = Annotated[str, ROLE_ARN]
"""The ARN of an IAM role."""

PolicyArn = Annotated[str, POLICY_ARN]
"""The ARN of a managed policy."""

SecretArn = Annotated[str, SECRET_ARN]
"""The ARN of a Secrets Manager secret."""

TopicArn = Annotated[str, TOPIC_ARN]
"""The ARN of an SNS topic."""

SecurityGroupId = Annotated[str, SECURITY_GROUP_ID]
"""The id of a security group."""

SubnetId = Annotated[str, SUBNET_ID]
"""The id of a subnet."""


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """A path: a string, in Python also a `Path`. Metadata of a `str | PathLike[str]`."""

    kept: bool = False
    """Whether a `Path` is kept; otherwise it is converted to a string."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept only a string from a fleet file."""
        text = core_schema.str_schema(strict=True)
        return core_schema.json_or_python_schema(
            json_schema=text,
            python_schema=core_schema.no_info_wrap_validator_function(self._read, text),
        )

    def _read(self, path: Any, read_text: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(path, PathLike):
            return read_text(path)
        found = cast("PathLike[str]", path)
        return found if self.kept else fspath(found)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the string."""
        return {"type": "string"}


PATH = _Path()
"""A local path."""

PATH_OR_TEXT = _Path(kept=True)
"""A local path if it is a `Path`; a string can be another value."""


@dataclass(frozen=True, slots=True, eq=False)
class InFile:
    """The type of a value in a fleet file, where Python has the API's value. Metadata of either type."""

    of: Any
    """The type in a fleet file; schema and errors list its values."""
    read: Callable[[Any], Any] | None = None
    """Converts it to Python's value. Default: unchanged."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the type for the fleet file or for Python."""
        written = handler.generate_schema(self.of)
        if self.read is not None:
            written = core_schema.no_info_after_validator_function(self.read, written)
        return core_schema.json_or_python_schema(json_schema=written, python_schema=handler(source))


class _Several:
    """A list in a fleet file; in Python a list or a tuple, kept as a tuple. Metadata of a `Sequence`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take a sequence of items that each are checked."""
        items = handler.generate_schema(tuple[get_args(source)[0], ...])
        return core_schema.json_or_python_schema(
            json_schema=items, python_schema=core_schema.no_info_before_validator_function(_as_tuple, items)
        )


def _as_tuple(given: Any) -> Any:
    return tuple(cast("list[Any]", given)) if isinstance(given, list) else given


_Item = TypeVar("_Item")
Several = Annotated[Sequence[_Item], _Several()]
"""Several values in order: `Several[str]`."""


class _Named:
    """A mapping by name in a fleet file; in Python a list or tuple of items with a `name`. Kept as a tuple."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a mapping of a fleet file; `in_long_form` has set the name of each item."""
        item = get_args(source)[0]
        by_name = core_schema.no_info_after_validator_function(_parts, handler.generate_schema(Mapping[str, item]))
        several = core_schema.no_info_before_validator_function(_as_tuple, handler.generate_schema(tuple[item, ...]))
        return core_schema.json_or_python_schema(json_schema=by_name, python_schema=several)


def _parts(by_name: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(by_name.values())


Named = Annotated[Sequence[_Item], _Named()]
"""Items that each have a name: `Named[ComputeResource]`."""
