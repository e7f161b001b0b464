"""The types of single values of a service."""

from typing import Annotated, Any

from pydantic import Field

from llm_fleet.catalog.neuron import neuron_instance_names
from llm_fleet.spec.values import Quantity, TextForm

_PARAMETERS = Quantity(
    noun="number of parameters", units={"parameters": 1, "M": 10**6, "B": 10**9}, example="8 B", usual="B"
)
_BODY = Quantity(noun="size", units={"bytes": 1, "KiB": 1024, "MiB": 1024**2}, example="2 MiB", usual="MiB")

_WAIT = Quantity(noun="time", units={"ms": 1, "s": 1000, "min": 60_000}, example="10 s", usual="s")

Milliseconds = Annotated[int, _WAIT]
"""Milliseconds, written as `10 s` or `800 ms`."""

ParameterCount = Annotated[int, _PARAMETERS]
"""A number of weights, written as `8 B`: billions, as in the names of models."""

BodyBytes = Annotated[int, _BODY]
"""Bytes of a request, written as `2 MiB`."""


def _instance_type_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = neuron_instance_names()


NeuronInstanceName = Annotated[str, Field(json_schema_extra=_instance_type_schema)]
"""An instance type by EC2's name. Which there are is for the rule to tell, and for the schema to offer."""

TOPIC_ARN = TextForm(
    noun="the ARN of an SNS topic",
    pattern="arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+",
    example="arn:aws:sns:us-west-2:111122223333:pager",
)

TopicArn = Annotated[str, TOPIC_ARN]
"""The ARN of an SNS topic."""
