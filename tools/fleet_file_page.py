"""Writes docs/fleet-file.md from the fleet file's JSON Schema, so that the page cannot say anything else."""

from collections.abc import Iterator
from typing import Any

from llm_fleet.config.schema import fleet_schema

HEAD = """# The fleet file

Everything that a fleet file can say. Only `fleet`, `region`, `network` and, of each cluster, `kind` and `groups` must
be there; whatever else is left out has the default that its line names. Sizes, rates and times are text with their
units. Unknown keys are refused with the nearest right one, and every mistake in a file is told at once.

`llm-fleet validate FILE` reads a file without an AWS account; `llm-fleet schema` prints the JSON Schema from which an
editor completes keys. [`examples/hyperpod-full.yaml`](../examples/hyperpod-full.yaml) has every key in its place. This
page is generated from the schema (`make golden`) and checked by a test.
"""


def page() -> str:
    """Return the whole page."""
    schema = fleet_schema()
    sections = [_section(path, node) for path, node in _mappings("", schema, schema["$defs"])]
    return "\n".join([HEAD, *sections])


def _mappings(path: str, node: dict[str, Any], definitions: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each mapping of the file with its path, the outer ones first."""
    yield path, node
    for key, value in node["properties"].items():
        here = f"{path}.{key}" if path else key
        for name, suffix in _inner(value):
            yield from _mappings(here + suffix, definitions[name], definitions)


def _inner(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the definitions that a value refers to, with what stands for a name or an index in the path."""
    places: list[tuple[dict[str, Any], str]] = [
        (value, ""),
        (value.get("additionalProperties") or {}, ".NAME"),
        (value.get("items") or {}, "[]"),
    ]
    for place, suffix in places:
        for arm in [place, *place.get("anyOf", [])]:
            name = arm.get("$ref", "").rpartition("/")[2]
            if name.endswith("Config"):
                yield name, suffix


def _section(path: str, node: dict[str, Any]) -> str:
    title = f"## `{path}`" if path else "## At the top"
    rows = [f"| `{key}` | {_cell(value['description'])} |" for key, value in node["properties"].items()]
    return "\n".join([title, "", "| key | what it is |", "|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
