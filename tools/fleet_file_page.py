"""Writes docs/fleet-file.md from the fleet file's JSON Schema, so that the page cannot say anything else."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.fleet_file.schema import fleet_schema
from tools.make_docs_markdown import cell

HEAD = """# The fleet file

Everything that a fleet file can say. Only `fleet`, `region`, `network` and, of each cluster, `kind` must be there, and
what its kind cannot do without: `groups`, or `head` and `queues`. Whatever else is left out has the default that its
line names. Of a service, `model` and `instance` must be there, and a `front` that names a certificate or asks for plain
HTTP. Sizes, rates and times are text with their units. Unknown keys are refused with the nearest right one, and
every mistake in a file is told at once.

`llm-fleet validate FILE` reads a file without an AWS account; `llm-fleet schema` prints the JSON Schema from which an
editor completes keys. [`hyperpod-full.yaml`](../examples/hyperpod-full.yaml),
[`parallelcluster-full.yaml`](../examples/parallelcluster-full.yaml) and
[`inference-full.yaml`](../examples/inference-full.yaml) have every key in its place. This page is generated from the
schema (`make golden`) and checked by a test.
"""


def page() -> str:
    """Return the whole page."""
    schema = fleet_schema()
    places = list(dict.fromkeys(_mappings(_Place(path="", name="", kind=""), schema, schema["$defs"])))
    nodes = {place: schema["$defs"].get(place.name, schema) for place in places}
    return "\n".join([HEAD, *(_section(_title(place, places), node) for place, node in nodes.items())])


@dataclass(frozen=True)
class _Place:
    """Where a mapping of the file stands, and which definition of the schema it follows."""

    path: str
    name: str
    kind: str = field(compare=False)
    """Of the cluster or server that it is first met in; empty outside."""


def _mappings(place: _Place, node: dict[str, Any], definitions: dict[str, Any]) -> Iterator[_Place]:
    """Yield each mapping of the file, the outer ones first."""
    yield place
    for key, value in node["properties"].items():
        here = f"{place.path}.{key}" if place.path else key
        for name, suffix in _inner(value, definitions):
            kind = definitions[name]["properties"].get("kind", {}).get("const", place.kind)
            yield from _mappings(_Place(path=here + suffix, name=name, kind=kind), definitions[name], definitions)


def _inner(value: dict[str, Any], definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the definitions that a value refers to, with what stands for a name or an index in the path."""
    entries = value.get("additionalProperties")
    places: list[tuple[dict[str, Any], str]] = [
        (value, ""),
        (entries if isinstance(entries, dict) else {}, ".NAME"),
        (value.get("items") or {}, "[]"),
    ]
    for place, suffix in places:
        for arm in _arms(place):
            name = arm.get("$ref", "").rpartition("/")[2]
            if name in definitions and "properties" in definitions[name]:
                yield name, suffix


def _arms(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield `node` and all that it may be in its place."""
    yield node
    for arm in (*node.get("anyOf", []), *node.get("oneOf", [])):
        yield from _arms(arm)


def _title(place: _Place, places: list[_Place]) -> str:
    if not place.path:
        return "## At the top"
    alike = [other for other in places if other.path == place.path]
    return f"## `{place.path}`" + (f" of `kind: {place.kind}`" if len(alike) > 1 else "")


def _section(title: str, node: dict[str, Any]) -> str:
    rows = [f"| `{key}` | {cell(value['description'])} |" for key, value in node["properties"].items()]
    return "\n".join([title, "", "| key | what it is |", "|---|---|", *rows, ""])
