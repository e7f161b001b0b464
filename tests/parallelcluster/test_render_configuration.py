"""A cluster rendered as ParallelCluster's configuration: complete, without empty values, and valid."""

from collections.abc import Iterator
from typing import Any, cast

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.parallelcluster import schema_at
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.parallelcluster.overrides import TYPED_KEYS, Place
from llm_fleet.spec.parallelcluster import SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue
from llm_fleet.spec.slurm_database import Accounting
from llm_fleet_local.parallelcluster.client import Oracle
from tests.parallelcluster.clusters import (
    GROUP,
    HOOKS,
    POLICIES,
    POLICY,
    SUBNET,
    cluster,
    cluster_of_everything,
    group,
    subnet,
)

OF_THE_CONSTRUCT = {
    "HeadNode/CustomActions",
    "HeadNode/Iam/AdditionalIamPolicies",
    "HeadNode/SharedStorageEfsSettings/Encrypted",
    "Scheduling/SlurmQueues[]/CustomActions",
    "Scheduling/SlurmQueues[]/Iam/AdditionalIamPolicies",
    "LoginNodes/Pools[]/CustomActions",
    "LoginNodes/Pools[]/Iam/AdditionalIamPolicies",
    "Monitoring/Logs/CloudWatch/DeletionPolicy",
    "Imds/ImdsSupport",
    "DeploymentSettings/DefaultUserHome",
}
"""Rendered keys without an attribute."""
NEVER_TOGETHER = {
    "Scheduling/SlurmSettings/CustomSlurmSettingsIncludeFile",
    "Scheduling/SlurmSettings/ExternalSlurmdbd",
    "Scheduling/SlurmSettings/MungeKeySecretArn",
    "Scheduling/SlurmQueues[]/Networking/PlacementGroup/Name",
    "Scheduling/SlurmQueues[]/Networking/PlacementGroup/Id",
    "Scheduling/SlurmQueues[]/ComputeResources[]/Networking/PlacementGroup/Id",
}
"""Typed keys that exclude another key of `cluster_of_everything`; `Id` is ParallelCluster's older name of `Name`."""


DATABASE = Accounting(
    endpoint="db.example.com",
    password_secret="arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf",
    database_name="train",
)


@pytest.fixture
def trainium() -> Queue:
    return Queue.trainium("trn1", max_count=16, subnets=[subnet()])


def places(section: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield the place of each leaf key in `section`, as in the schema."""
    for key, value in section.items():
        place = f"{above}/{key}" if above else key
        known = schema_at(place) or schema_at(f"{place}[]")
        if known is None or known.kind != "section":
            yield place
            continue
        for item in cast("list[dict[str, Any]]", value if isinstance(value, list) else [value]):
            yield from places(item, known.place)


def short(place: str) -> str:
    """Return `place` as a prefix of the keys below it, without list markers."""
    return f"{place.replace('[]', '')}/"


def typed_places() -> set[str]:
    """All typed keys by their places in the schema, without those that only refer to other places of overrides."""
    typed = {f"{place}/{key}" if place else key for place, keys in TYPED_KEYS.items() for key in keys}
    return {key for key in typed if not any(place and short(place).startswith(short(key)) for place in Place)}


def empties(value: Any, path: str = "") -> Iterator[str]:
    if value is None or value in ({}, []):
        yield path
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from empties(inner, f"{path}/{key}")
    if isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from empties(inner, f"{path}/{index}")


def test_the_cluster_of_the_talk(trainium: Queue) -> None:
    rendered = render_configuration(cluster(trainium, head_node=HeadNode(instance_type="c5.4xlarge", subnet=subnet())))
    assert rendered == {
        "Region": "us-west-2",
        "Image": {"Os": "alinux2023"},
        "HeadNode": {
            "InstanceType": "c5.4xlarge",
            "Networking": {"SubnetId": SUBNET},
            "Ssh": {"AllowedIps": "127.0.0.1/32"},
            "LocalStorage": {"RootVolume": {"Encrypted": True}},
            "SharedStorageType": "Ebs",
            "Imds": {"Secured": True},
        },
        "Scheduling": {
            "Scheduler": "slurm",
            "ScalingStrategy": "all-or-nothing",
            "SlurmSettings": {"QueueUpdateStrategy": "DRAIN"},
            "SlurmQueues": [
                {
                    "Name": "trn1",
                    "CapacityType": "ONDEMAND",
                    "JobExclusiveAllocation": True,
                    "ComputeResources": [
                        {
                            "Name": "trn1",
                            "InstanceType": "trn1.32xlarge",
                            "MinCount": 0,
                            "MaxCount": 16,
                            "Efa": {"Enabled": True},
                            "Networking": {"PlacementGroup": {"Enabled": True}},
                        }
                    ],
                    "ComputeSettings": {
                        "LocalStorage": {
                            "RootVolume": {"Encrypted": True},
                            "EphemeralVolume": {"MountDir": "/local_scratch"},
                        }
                    },
                    "Networking": {"SubnetIds": [SUBNET]},
                }
            ],
        },
        "Monitoring": {"Logs": {"CloudWatch": {"RetentionInDays": 180, "DeletionPolicy": "Retain"}}},
        "Imds": {"ImdsSupport": "v2.0"},
    }


def test_every_attribute_is_rendered_and_every_rendered_key_is_rejected_in_overrides() -> None:
    """`TYPED_KEYS` are exactly the rendered keys, so that an override cannot set the key of an attribute."""
    written = render_configuration(cluster_of_everything(accounting=DATABASE), HOOKS, POLICIES)
    rendered = set(places(written))
    typed = typed_places()
    assert check_configuration(written) == []
    unknown = [
        place
        for place in rendered
        if not any(short(place).startswith(short(key)) for key in {*typed, *OF_THE_CONSTRUCT})
    ]
    assert unknown == []
    silent = {key for key in typed if not any(short(place).startswith(short(key)) for place in rendered)}
    assert silent == NEVER_TOGETHER


def test_every_typed_key_is_a_key_of_parallelcluster() -> None:
    assert [place for place in typed_places() if not (schema_at(place) or schema_at(f"{place}[]"))] == []


@pytest.mark.parametrize("accounting", [None, DATABASE])
def test_parallelcluster_accepts_a_cluster_with_all_attributes(oracle: Oracle, accounting: Accounting | None) -> None:
    rendered = render_configuration(cluster_of_everything(accounting=accounting), HOOKS, POLICIES)
    assert oracle.schema(rendered) == []
    assert list(empties(rendered)) == []


def as_cloudformation_passes(value: Any) -> Any:
    """Return `value` with numbers and booleans as text, as a custom resource receives it."""
    if isinstance(value, dict):
        return {key: as_cloudformation_passes(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [as_cloudformation_passes(inner) for inner in cast("list[Any]", value)]
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_parallelcluster_accepts_it_as_cloudformation_passes_it(oracle: Oracle) -> None:
    rendered = as_cloudformation_passes(render_configuration(cluster_of_everything(), HOOKS, POLICIES))
    assert oracle.schema(rendered) == []
    assert check_configuration(rendered) == []


def test_hooks_and_policies_are_rendered_for_their_nodes() -> None:
    rendered = render_configuration(cluster_of_everything(), HOOKS, POLICIES)
    nodes = [rendered["HeadNode"], rendered["Scheduling"]["SlurmQueues"][0], rendered["LoginNodes"]["Pools"][0]]
    assert [node["Iam"] for node in nodes] == [{"AdditionalIamPolicies": [{"Policy": POLICY}]}] * 3
    assert [list(node["CustomActions"]) for node in nodes] == [
        ["OnNodeConfigured", "OnNodeUpdated"],
        ["OnNodeConfigured"],
        ["OnNodeConfigured", "OnNodeUpdated"],
    ]
    assert nodes[0]["CustomActions"]["OnNodeConfigured"] == {
        "Script": "s3://scripts/train/on_node_configured.sh",
        "Args": ["s3://scripts/train/current", "HeadNode"],
    }


def test_an_external_slurmdbd_is_rendered(trainium: Queue) -> None:
    secret = "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-AbCdEf"
    outside = Accounting(slurmdbd_host="10.0.0.10", port=6819, munge_key_secret=secret)
    rendered = render_configuration(cluster(trainium, accounting=outside))
    assert rendered["Scheduling"]["SlurmSettings"] == {
        "QueueUpdateStrategy": "DRAIN",
        "ExternalSlurmdbd": {"Host": "10.0.0.10", "Port": 6819},
        "MungeKeySecretArn": secret,
    }


def test_a_shared_home_keeps_the_default_user_local(trainium: Queue) -> None:
    home = SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0")
    fsx = SharedStorage.lustre("fsx", file_system_id="fs-0123456789abcdef0")
    assert render_configuration(cluster(trainium, shared_storage=[fsx, home]))["DeploymentSettings"] == {
        "DefaultUserHome": "Local"
    }
    assert "DeploymentSettings" not in render_configuration(cluster(trainium, shared_storage=[fsx]))


def test_a_login_pool_without_a_subnet_is_in_the_subnet_of_the_head_node(trainium: Queue) -> None:
    pool = LoginPool(name="users", instance_type="m5.large")
    (rendered,) = render_configuration(cluster(trainium, login_pools=[pool]))["LoginNodes"]["Pools"]
    assert rendered["Networking"] == {"SubnetIds": [SUBNET]}


def test_overrides_are_merged_at_their_places(trainium: Queue, oracle: Oracle) -> None:
    policy = {"Policy": "arn:aws:iam::111122223333:policy/parallelcluster-mine"}
    proxy = {"Networking": {"Proxy": {"HttpProxyAddress": "https://proxy.example.com:3128"}}}
    template = {"LaunchTemplateOverrides": {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": 1}}
    rendered = render_configuration(
        cluster(
            Queue(
                name="work",
                resources=[ComputeResource(name="nodes", instance_types=["c5.4xlarge"], overrides=template)],
                subnets=[subnet()],
                overrides=proxy,
            ),
            head_node=HeadNode(
                instance_type="m5.2xlarge",
                subnet=subnet(),
                overrides={"Iam": {"AdditionalIamPolicies": [policy]}, "Imds": {"Secured": False}},
            ),
            login_pools=[LoginPool(name="users", instance_type="m5.large", overrides=proxy)],
            slurm=SlurmSettings(overrides={"Dns": {"DisableManagedDns": True}}),
            overrides={
                "Imds": {"ImdsSupport": "v1.0"},
                "DevSettings": {"Timeouts": {"HeadNodeBootstrapTimeout": 3600}},
            },
        ),
        policies=POLICIES,
    )
    queue = rendered["Scheduling"]["SlurmQueues"][0]
    assert queue["Networking"] == {"SubnetIds": [SUBNET], **proxy["Networking"]}
    assert queue["ComputeResources"][0]["LaunchTemplateOverrides"]["Version"] == 1
    assert rendered["HeadNode"]["Iam"]["AdditionalIamPolicies"] == [{"Policy": POLICY}, policy]
    assert rendered["LoginNodes"]["Pools"][0]["Networking"]["Proxy"] == proxy["Networking"]["Proxy"]
    assert rendered["Scheduling"]["SlurmSettings"]["Dns"] == {"DisableManagedDns": True}
    assert rendered["Imds"] == {"ImdsSupport": "v1.0"}
    assert oracle.schema(rendered) == []


def nodes_with(**overrides: Any) -> list[dict[str, Any]]:
    """Head node, queue and login pool, each with security groups, policies and `overrides`."""
    shared: dict[str, Any] = {"security_groups": [group()], "overrides": overrides}
    rendered = render_configuration(
        cluster(
            Queue.cpu("work", instance_type="c5.4xlarge", max_count=1, subnets=[subnet()], **shared),
            head_node=HeadNode(instance_type="m5.2xlarge", subnet=subnet(), **shared),
            login_pools=[LoginPool(name="users", instance_type="m5.large", **shared)],
        ),
        policies=POLICIES,
    )
    assert check_configuration(rendered) == []
    return [rendered["HeadNode"], rendered["Scheduling"]["SlurmQueues"][0], rendered["LoginNodes"]["Pools"][0]]


def test_security_groups_that_replace_those_of_parallelcluster_are_extended_by_ours() -> None:
    own = "sg-0123456789abcdef1"
    for nodes in nodes_with(Networking={"SecurityGroups": [own]}):
        assert nodes["Networking"]["SecurityGroups"] == [GROUP, own]
        assert "AdditionalSecurityGroups" not in nodes["Networking"]
    for nodes in nodes_with():
        assert nodes["Networking"]["AdditionalSecurityGroups"] == [GROUP]


@pytest.mark.parametrize("key", ["InstanceRole", "InstanceProfile"])
def test_a_custom_role_has_no_additional_policies(key: str) -> None:
    kind = "role" if key == "InstanceRole" else "instance-profile"
    own = {key: f"arn:aws:iam::111122223333:{kind}/mine"}
    assert [nodes["Iam"] for nodes in nodes_with(Iam=own)] == [own] * 3


def test_tokens_are_kept(trainium: Queue) -> None:
    stack = cdk.Stack()
    bucket = cdk.CfnParameter(stack, "Size", type="Number")
    storage = SharedStorage.lustre("fsx", file_system_id=bucket.value_as_string)
    rendered = render_configuration(cluster(trainium, shared_storage=[storage]))
    assert stack.resolve(rendered)["SharedStorage"][0]["FsxLustreSettings"] == {"FileSystemId": {"Ref": "Size"}}
    assert check_configuration(rendered) == []


@pytest.mark.parametrize(
    ("given", "rendered"),
    [(None, None), (False, False), (True, True)],
)
def test_exclusive_jobs_are_rendered_if_set(given: bool | None, rendered: bool | None) -> None:
    nodes = ComputeResource(name="nodes", instance_types=["c5.4xlarge"])
    configuration = render_configuration(cluster(Queue(name="work", resources=[nodes], exclusive=given)))
    assert configuration["Scheduling"]["SlurmQueues"][0].get("JobExclusiveAllocation") is rendered
