"""The instance type of an endpoint, as the schema offers it."""

from typing import Annotated, Any

from pydantic import Field

from llm_fleet.catalog.endpoint import endpoint_instance_names


def _names(schema: dict[str, Any]) -> None:
    schema["enum"] = list(endpoint_instance_names())


EndpointInstanceName = Annotated[str, Field(json_schema_extra=_names)]
"""An instance type by SageMaker's name. Which there are is for the rule to tell, and for the schema to offer."""
