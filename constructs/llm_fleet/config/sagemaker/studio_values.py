"""The types of single values of Studio."""

from typing import Annotated, Any

from pydantic import Field

from llm_fleet.catalog.studio import studio_facts


def _types(schema: dict[str, Any]) -> None:
    retired = studio_facts().retired_families
    schema["enum"] = sorted(name for name in studio_facts().instances if name.split(".")[1] not in retired)


StudioInstanceName = Annotated[str, Field(json_schema_extra=_types)]
"""An instance type by its `ml.` name. Which there are is for the rule to tell, and for the schema to offer."""
