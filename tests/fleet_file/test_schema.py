"""The JSON Schema is that of the models, describes every key, and accepts what the loader accepts."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from llm_fleet.catalog.hyperpod import instances
from llm_fleet.catalog.neuron import neuron_instance_names
from llm_fleet.fleet_file.document import parse
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.fleet_file.schema import fleet_schema, schema_text

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
GOOD = [*EXAMPLES, *sorted((ROOT / "tests/data/good").glob("*.yaml"))]


@cache
def schema() -> dict[str, Any]:
    return fleet_schema()


def values_of(path: Path) -> Any:
    return parse(path.read_text(), subject=str(path)).data


def test_the_generated_schema_is_up_to_date() -> None:
    file = ROOT / "schema/fleet.schema.json"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(schema_text())
    assert file.read_text() == schema_text(), "the models have changed: run `make golden`"


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_loader_and_schema_accept_valid_files(path: Path) -> None:
    assert load_fleet(path).region
    jsonschema.Draft202012Validator(schema()).validate(values_of(path))  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_name_the_schema(path: Path) -> None:
    assert path.read_text().startswith("# yaml-language-server: $schema=../schema/fleet.schema.json\n")


@pytest.mark.parametrize(
    "change",
    [
        {"regions": "us-west-2"},
        {"network": {"az": 4}},
        {"network": None},
        {"storage": {"fsx": {"size": 4800}}},
        {"storage": {"fsx": {"size": "4800 GB"}}},
        {"clusters": {"ml": {"kind": "slurm", "groups": {}}}},
        {"clusters": {"ml": {"kind": "hyperpod", "groups": {"c": {"role": "Controller", "count": 1}}}}},
        {"clusters": {"ml": {"kind": "hyperpod", "groups": {"c": {"role": "compute", "type": "trn1", "count": 1}}}}},
    ],
)
def test_the_schema_rejects_invalid_files(change: dict[str, Any]) -> None:
    good = values_of(ROOT / "examples/hyperpod-trn1.yaml")
    assert not jsonschema.Draft202012Validator(schema()).is_valid({**good, **change})  # pyright: ignore[reportUnknownMemberType]


def test_every_key_is_described() -> None:
    silent = [f"{name}.{key}" for name, key, inner in keys() if not inner.get("description")]
    assert silent == []


def test_every_key_is_used_in_a_valid_file() -> None:
    """The examples and the test data together use the whole schema."""
    written = {key for path in GOOD for key in keys_of(values_of(path), schema())}
    assert {(name, key) for name, key, _ in keys()} - written == set()


def test_the_schema_accepts_short_forms_of_services() -> None:
    service = {"model": "s3://my-models/tanuki-8b", "server": "tgi", "instance": "inf2.xlarge", "hosts": "ec2"}
    written = {"fleet": "f", "region": "us-west-2", "network": {"az": "usw2-az1"}, "services": {"chat": service}}
    validator = jsonschema.Draft202012Validator(schema())
    validator.validate(written)  # pyright: ignore[reportUnknownMemberType]
    for key, wrong in (("model", 8), ("server", "vllm"), ("hosts", "fargate"), ("alarms", "me@example.com")):
        changed = {**written, "services": {"chat": {**service, key: wrong}}}
        assert not validator.is_valid(changed), key  # pyright: ignore[reportUnknownMemberType]


def test_the_schema_lists_instance_types() -> None:
    group = schema()["$defs"]["InstanceGroup"]["properties"]
    assert set(group["type"]["enum"]) == set(group["types"]["items"]["enum"]) == set(instances())
    assert schema()["$defs"]["ServiceConfig"]["properties"]["instance"]["enum"] == neuron_instance_names()


def keys() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, model in {"Fleet": schema(), **schema()["$defs"]}.items():
        for key, inner in model.get("properties", {}).items():
            yield name, key, inner


def keys_of(values: Any, node: dict[str, Any], name: str = "Fleet") -> Iterator[tuple[str, str]]:
    """Return the keys that `values` uses, each with its model."""
    definitions = schema()["$defs"]
    if isinstance(values, list):
        for item in values:  # pyright: ignore[reportUnknownVariableType]
            yield from keys_of(item, node.get("items", {}), name)
    if not isinstance(values, dict):
        return  # The short form of a mapping has no keys.
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        node = definitions[name]
    if "oneOf" in node:
        kinds = [definitions[arm["$ref"].rsplit("/", 1)[-1]]["properties"]["kind"]["const"] for arm in node["oneOf"]]
        yield from keys_of(values, node["oneOf"][kinds.index(values["kind"])], name)
    elif "anyOf" in node:
        node = next(arm for arm in node["anyOf"] if "const" not in arm)
        yield from keys_of(values, node, name)
    else:
        for key, value in values.items():  # pyright: ignore[reportUnknownVariableType]
            inner = node.get("properties", {}).get(key)
            if inner is not None:
                yield name, str(key)  # pyright: ignore[reportUnknownArgumentType]
            below = inner or node.get("additionalProperties")
            if isinstance(below, dict):  # Below `overrides` and similar keys, keys are those of other tools.
                yield from keys_of(value, below, name)  # pyright: ignore[reportUnknownArgumentType]
