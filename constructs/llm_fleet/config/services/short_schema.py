"""Tells editors of the short forms of keys that have no `Spec` yet."""

from typing import Any


def or_text(schema: dict[str, Any]) -> None:
    """Let text stand for the mapping too."""
    also(schema, {"type": "string", "examples": ["s3://my-models/tanuki-8b", "meta-llama/Llama-3.1-8B-Instruct"]})


def also(schema: dict[str, Any], short: dict[str, Any]) -> None:
    """Let `short` stand beside what `schema` says."""
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], short]
        return
    long = {key: schema.pop(key) for key in ("$ref", "allOf", "oneOf", "discriminator") if key in schema}
    schema["anyOf"] = [long, short]
