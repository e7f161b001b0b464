"""Writes docs/fleet-file.md from the fleet file's JSON Schema."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.fleet_file.schema import fleet_schema
from tools.make_docs_markdown import cell

HEAD = """# Fleet file

All keys of a fleet file. A small one:

```yaml
# yaml-language-server: $schema=.llm-fleet.schema.json
fleet: launch-post
region: us-west-2
network: {az: usw2-az4}
clusters:
  ml-cluster:
    kind: hyperpod
    groups:
      controller-group: {role: controller, type: ml.m5.xlarge, count: 1}
      worker-group: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}
```

The line of a key that its mapping must have begins with *Required.*; some other keys are required in the cases that
their lines name, e.g. `partition` for compute groups. All other keys are optional, and their lines name the defaults
and the allowed values. Write sizes, rates and times with their units. An unknown key is an error that names the most
similar key, and all errors in a file are reported in one run.

[Specs](reference/spec-values.md) has the types of all keys and their names in Python.

`llm-fleet validate FILE` checks a file without an AWS account. `llm-fleet schema` prints the JSON Schema, which editors
use to complete keys. [`hyperpod-full.yaml`](../examples/hyperpod-full.yaml),
[`parallelcluster-full.yaml`](../examples/parallelcluster-full.yaml) and
[`inference-full.yaml`](../examples/inference-full.yaml) contain every key. This page is generated from the
schema (`make golden`) and checked by a test.
"""


def page() -> str:
    """Return the whole page."""
    schema = fleet_schema()
    places = list(dict.fromkeys(_mappings(_Place(path="", name="", kind=""), schema, schema["$defs"])))
    nodes = {place: schema["$defs"].get(place.name, schema) for place in places}
    return "\n".join([HEAD, *(_section(_title(place, places), node, schema["$defs"]) for place, node in nodes.items())])


@dataclass(frozen=True)
class _Place:
    """A mapping of the file: its path, and its definition in the schema."""

    path: str
    name: str
    kind: str = field(compare=False)
    """The kind of the first cluster or server that contains it; empty outside."""


def _mappings(place: _Place, node: dict[str, Any], definitions: dict[str, Any]) -> Iterator[_Place]:
    """Yield each mapping of the file, the outer ones first."""
    yield place
    for key, value in node["properties"].items():
        here = f"{place.path}.{key}" if place.path else key
        for name, suffix in _inner(value, definitions):
            kind = definitions[name]["properties"].get("kind", {}).get("const", place.kind)
            yield from _mappings(_Place(path=here + suffix, name=name, kind=kind), definitions[name], definitions)


def _inner(value: dict[str, Any], definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the definitions that a value refers to, with the placeholder of a name or an index in the path."""
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
    """Yield `node` and all of its alternatives."""
    yield node
    for arm in (*node.get("anyOf", []), *node.get("oneOf", [])):
        yield from _arms(arm)


def _title(place: _Place, places: list[_Place]) -> str:
    if not place.path:
        return "## Top level"
    alike = [other for other in places if other.path == place.path]
    return f"## `{place.path}`" + (f" of `kind: {place.kind}`" if len(alike) > 1 else "")


_MOST_VALUES = 10
"""A longer list, e.g. of instance types, is not part of a description."""
_DEFAULT = "Default:"


def _with_values(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the description of a key, with the values of its type that it does not name."""
    described: str = value["description"]
    places = [arm for each in (value, value.get("items") or {}) for arm in _arms(each)]
    nodes = [definitions.get(each.get("$ref", "").rpartition("/")[2], each) for each in places]
    words = [word for node in nodes for word in (*node.get("enum", []), *([node["const"]] if "const" in node else []))]
    words = list(dict.fromkeys(words))
    is_open = any(node.get("type") in ("string", "integer") and not {"enum", "const"} & set(node) for node in nodes)
    if is_open or len(words) > _MOST_VALUES or all(f"`{word}`" in described for word in words):
        return described
    names = [f"`{word}`" for word in words] + (["a mapping"] if any("properties" in node for node in nodes) else [])
    start, last = ("One or more of ", "and") if value.get("type") == "array" else ("", "or")
    listed = f"Write {names[0]}" if len(names) == 1 else f"{start}{', '.join(names[:-1])} {last} {names[-1]}"
    sentence = f"{listed}."
    before, default, after = described.partition(_DEFAULT)
    return f"{before.rstrip()} {sentence} {default}{after}".rstrip()


def _section(title: str, node: dict[str, Any], definitions: dict[str, Any]) -> str:
    required = node.get("required", [])
    rows = [
        f"| `{key}` | {'Required. ' if key in required else ''}{cell(_with_values(value, definitions))} |"
        for key, value in node["properties"].items()
    ]
    return "\n".join([title, "", "| key | description |", "|---|---|", *rows, ""])
