"""The types of single values of a service."""

from typing import Annotated, Any

from pydantic import Field

from llm_fleet.catalog.neuron import neuron_instance_names
from llm_fleet.spec.values import Quantity

_BODY = Quantity(noun="size", units={"bytes": 1, "KiB": 1024, "MiB": 1024**2}, example="2 MiB", usual="MiB")

BodyBytes = Annotated[int, _BODY]
"""Bytes of a request, written as `2 MiB`."""


def _instance_type_schema(schema: dict[str, Any]) -> None:
    schema["enum"] = neuron_instance_names()


NeuronInstanceName = Annotated[str, Field(json_schema_extra=_instance_type_schema)]
"""An instance type by EC2's name. Which there are is for the rule to tell, and for the schema to offer."""
