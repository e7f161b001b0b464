"""Every field of the API is either emitted by the construct, rejected by it, or named here as not Slurm's.

Compares botocore's CreateCluster with CloudFormation's resource schema, so that a gap that closes, or a new one,
fails the test.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from llm_fleet import HyperPodCluster, InstanceGroup, NetworkInterfaceType
from llm_fleet.catalog.data_file import load
from llm_fleet.spec.spec import InRequest


def service_model() -> dict[str, Any]:
    path = Path(botocore.__file__).parent / "data/sagemaker/2017-07-24/service-2.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))["shapes"]


def resource_schema() -> dict[str, Any]:
    found: Any = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-west-2", "AWS::SageMaker::Cluster")
    return found.schema


def api_paths(shapes: dict[str, Any], name: str, prefix: str = "") -> Iterator[str]:
    shape = shapes[name]
    if shape["type"] == "structure":
        for member, target in shape["members"].items():
            yield f"{prefix}{member}"
            yield from api_paths(shapes, target["shape"], f"{prefix}{member}.")
    elif shape["type"] == "list":
        yield from api_paths(shapes, shape["member"]["shape"], prefix)
    for value in shape.get("enum", ()):
        yield f"{prefix[:-1]}={value}"


def schema_paths(schema: dict[str, Any], node: dict[str, Any], prefix: str = "") -> Iterator[str]:
    if "$ref" in node:
        node = schema["definitions"][node["$ref"].rsplit("/", 1)[1]]
    for branch in (node, *node.get("oneOf", ())):
        for member, target in branch.get("properties", {}).items():
            yield f"{prefix}{member}"
            yield from schema_paths(schema, target, f"{prefix}{member}.")
    if "items" in node:
        yield from schema_paths(schema, node["items"], prefix)
    for value in node.get("enum", ()):
        yield f"{prefix[:-1]}={value}"


def test_fields_of_the_api_that_cloudformation_does_not_support() -> None:
    schema = resource_schema()
    group = "InstanceGroups."
    known = set(schema_paths(schema, schema))
    gaps = {
        path.removeprefix(group)
        for path in api_paths(service_model(), "CreateClusterRequest")
        if path.startswith(group) and path not in known
    }
    # Types and batch units are free text in the schema; the rest is what `check_cloudformation` rejects.
    free_text = ("InstanceType=", "InstanceRequirements.InstanceTypes=")
    gaps = {gap for gap in gaps if not gap.startswith(free_text) and "BatchSize.Type=" not in gap}
    assert gaps == {
        "AutoPatchConfig.DrainPolicy",
        "AutoPatchConfig.DrainPolicy.DrainTimeoutInSeconds",
        "AutoPatchConfig.DrainPolicy.OnDrainTimeout",
        "AutoPatchConfig.DrainPolicy.OnDrainTimeout=Force",
        "AutoPatchConfig.DrainPolicy.OnDrainTimeout=Skip",
        "AutoPatchConfig.IdleWaitWindowInSeconds",
        "AutoPatchConfig.PatchingStrategy=DrainFirst",
        "OnStartDeepHealthChecks=MultiNodeTrainingValidation",
    }


def test_release_is_not_for_slurm_and_patch_date_is_read_only() -> None:
    schema = resource_schema()
    release = schema["definitions"]["ClusterInstanceGroup"]["properties"]["ImageReleaseVersion"]["description"]
    assert "Supported only for EKS-orchestrated clusters" in release
    assert "/properties/InstanceGroups/*/AutoPatchConfig/PatchSchedule/NextPatchDate" in schema["readOnlyProperties"]


def test_interface_types_are_those_of_the_api() -> None:
    shapes = service_model()
    shape = shapes["ClusterNetworkInterface"]["members"]["InterfaceType"]["shape"]
    assert {kind.value for kind in NetworkInterfaceType} == set(shapes[shape]["enum"])


def test_the_pattern_of_cluster_arns_is_that_of_the_api() -> None:
    assert load("cluster_arn")["pattern"] == service_model()["ClusterArn"]["pattern"].strip("^$")


def test_every_property_of_a_group_is_rendered_or_not_for_slurm(
    make: Callable[..., HyperPodCluster], properties: Callable[[], dict[str, Any]]
) -> None:
    """The L1 construct drops unknown keys, so each key that we render must be in the schema."""
    make()
    known = set(resource_schema()["definitions"]["ClusterInstanceGroup"]["properties"])
    foreign = {"KubernetesConfig", "ImageReleaseVersion", "CurrentCount"}
    source = Path(str(HyperPodCluster.__init__.__code__.co_filename)).with_name("cluster.py").read_text()
    places = [each for field in InstanceGroup.model_fields.values() for each in field.metadata]
    declared = {each.path.partition(".")[0] for each in places if isinstance(each, InRequest)}
    rendered = {name for name in known if (lower := name[0].lower() + name[1:]) in declared or f'"{lower}"' in source}
    assert known - rendered == foreign
    for group in properties()["InstanceGroups"]:
        assert set(group) <= known
