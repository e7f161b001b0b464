"""Tells editors of the short forms of a service's keys; `short_forms` reads them."""

from typing import Any

from llm_fleet.rules.inference.terms import Capacity, ServerKind
from llm_fleet.spec.values import TOPIC_ARN


def or_text(schema: dict[str, Any]) -> None:
    """Let text stand for the mapping too."""
    also(schema, {"type": "string", "examples": ["s3://my-models/tanuki-8b", "meta-llama/Llama-3.1-8B-Instruct"]})


def or_kind(schema: dict[str, Any]) -> None:
    """Let the word of a kind stand for a server with its defaults."""
    also(schema, {"enum": [kind.value for kind in ServerKind]})


def or_capacity(schema: dict[str, Any]) -> None:
    """Let the word of a capacity stand for hosts with their defaults."""
    also(schema, {"enum": [capacity.value for capacity in Capacity]})


def or_topic(schema: dict[str, Any]) -> None:
    """Let the ARN of a topic stand for alarms with their own thresholds."""
    also(schema, TOPIC_ARN.json_schema())


def also(schema: dict[str, Any], short: dict[str, Any]) -> None:
    """Let `short` stand beside what `schema` says."""
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], short]
        return
    long = {key: schema.pop(key) for key in ("$ref", "allOf", "oneOf", "discriminator") if key in schema}
    schema["anyOf"] = [long, short]
