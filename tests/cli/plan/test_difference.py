"""Differences between two templates, and updates that fail."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.catalog.aws_api import create_only, touches
from llm_fleet.catalog.data_file import load
from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.plan.cluster_changes import hyperpod_changes, parallelcluster_changes
from llm_fleet.cli.plan.fleet_sections import retained_section
from llm_fleet.cli.plan.stack_templates import DeployedStacks, StackTemplate
from llm_fleet.cli.plan.template_changes import ChangeKind, template_changes
from llm_fleet.cli.plan.whole_plan import difference_section
from llm_fleet.cli.screen import Screen
from llm_fleet.cli.table import Table
from llm_fleet_local.aws.resources.schemas import create_only_paths, schema_of
from llm_fleet_local.aws.resources.spec import type_specs

WIDE = Screen(width=None, color=False, live=False)


def stack(**resources: Mapping[str, Any]) -> StackTemplate:
    return StackTemplate(name="s", region=None, resources=resources, paths={})


def resource(resource_type: str, *, kept: bool = False, **properties: Any) -> dict[str, Any]:
    policy = {"DeletionPolicy": "Retain"} if kept else {}
    return {"Type": resource_type, "Properties": properties, **policy}


def kinds(old: StackTemplate, new: StackTemplate) -> dict[str, tuple[ChangeKind, tuple[str, ...]]]:
    return {one.logical_id: (one.kind, one.properties) for one in template_changes(old, new)}


def test_each_kind_of_change():
    old = stack(
        Same=resource("AWS::SNS::Topic", TopicName="t"),
        Grown=resource("AWS::FSx::FileSystem", FileSystemType="LUSTRE", StorageCapacity=1200),
        Moved=resource("AWS::FSx::FileSystem", SubnetIds=["a"]),
        Gone=resource("AWS::SNS::Topic"),
        Left=resource("AWS::S3::Bucket", kept=True),
        Own=resource("Custom::Thing", A=1),
    )
    new = stack(
        Same=resource("AWS::SNS::Topic", TopicName="t"),
        Grown=resource("AWS::FSx::FileSystem", FileSystemType="LUSTRE", StorageCapacity=2400),
        Moved=resource("AWS::FSx::FileSystem", SubnetIds=["b"]),
        Own=resource("Custom::Thing", A=2),
        New=resource("AWS::SNS::Topic"),
    )
    assert kinds(old, new) == {
        "Grown": (ChangeKind.CHANGED, ("StorageCapacity",)),
        "Moved": (ChangeKind.REPLACED, ("SubnetIds[0]",)),
        "Own": (ChangeKind.UNKNOWN, ("A",)),
        "New": (ChangeKind.ADDED, ()),
        "Gone": (ChangeKind.REMOVED, ()),
        "Left": (ChangeKind.KEPT, ()),
    }


def test_a_difference_that_feature_flags_may_cause_has_a_note():
    old, new = stack(A=resource("AWS::SNS::Topic", X={"Ref": "One"})), stack(A=resource("AWS::SNS::Topic", X=2))
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = old
    text = difference_section([new], deployed, without_flags="/fleets").text(WIDE)
    assert "for CloudFormation's own answer, run `npx cdk diff` (it creates a change set and deploys nothing)" in text
    assert "there is no cdk.json in or above /fleets: the fleet was synthesized without the feature flags" in text
    assert "cdk.json" not in difference_section([new], deployed).text(WIDE)
    assert "cdk.json" not in difference_section([old], deployed, without_flags="/fleets").text(WIDE)


def test_the_heading_names_the_account_that_was_compared(monkeypatch: pytest.MonkeyPatch):
    def title(**place: str) -> str:
        return difference_section([], DeployedStacks(AwsClients(region="us-west-2"), []), **place).title

    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    heading = "Difference from the deployed stacks"
    assert title() == heading
    assert title(account="123456789012", region="us-west-2") == f"{heading} (account 123456789012, us-west-2)"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:46283")
    assert title(region="us-west-2") == f"{heading} (us-west-2, http://localhost:46283)"


def test_a_resource_of_another_type_is_replaced_and_metadata_is_not_a_change():
    old, new = stack(A=resource("AWS::SNS::Topic")), stack(A=resource("AWS::SQS::Queue"))
    assert kinds(old, new) == {"A": (ChangeKind.REPLACED, ("Type",))}
    reported = {**resource("AWS::SNS::Topic"), "Metadata": {"aws:cdk:path": "s/Topic/Resource"}}
    assert kinds(old, stack(A=reported)) == {}
    assert stack(A=reported).where("A") == "s/Topic"


def test_functions_and_lists_of_another_length_are_one_value():
    old = stack(A=resource("AWS::SNS::Topic", X={"Ref": "One"}, Y=[1, 2], Z={"In": {"Deep": [{"K": 1}]}}))
    new = stack(A=resource("AWS::SNS::Topic", X={"Ref": "Two"}, Y=[1], Z={"In": {"Deep": [{"K": 2}]}}))
    assert kinds(old, new)["A"][1] == ("X", "Y", "Z.In.Deep[0].K")


@pytest.mark.parametrize(
    ("changed", "fixed", "expected"),
    [
        ("VpcConfig.Subnets[0]", "VpcConfig", True),
        ("VpcConfig", "VpcConfig.Subnets", True),
        ("A[3].B", "A.*.B", True),
        ("A[3].C", "A.*.B", False),
        ("Name", "ClusterName", False),
    ],
)
def test_touches_compares_paths_of_properties(changed: str, fixed: str, expected: bool):
    assert touches(changed, fixed) is expected


def test_properties_that_cannot_change_are_those_of_cloudformations_schemas():
    for resource_type in load("create_only"):
        facts = create_only(resource_type)
        assert schema_of(resource_type) is not None
        assert facts is not None
        assert facts.always == tuple(sorted(".".join(path) for path in create_only_paths(resource_type)))


def group(name: str, count: int, **more: Any) -> dict[str, Any]:
    return {"InstanceGroupName": name, "InstanceCount": count, "InstanceType": "ml.m5.xlarge", **more}


def test_another_provisioning_mode_of_a_running_cluster_is_reported():
    kind = "AWS::SageMaker::Cluster"
    old, new = resource(kind, InstanceGroups=[]), resource(kind, InstanceGroups=[], NodeProvisioningMode="Continuous")
    (change,) = hyperpod_changes(stack(C=old), stack(C=new))
    assert change.group == "all groups"
    assert change.what.startswith("NodeProvisioningMode from none to Continuous: HyperPod may reject it")


def test_groups_of_a_hyperpod_cluster():
    kind = "AWS::SageMaker::Cluster"
    old = [group("controller", 1), group("a", 4), group("b", 1), group("c", 1, SlurmConfig={"NodeType": "Login"})]
    new = [group("controller", 1), group("a", 6), group("d", 2), group("c", 1, SlurmConfig={"NodeType": "Compute"})]
    changes = hyperpod_changes(stack(C=resource(kind, InstanceGroups=old)), stack(C=resource(kind, InstanceGroups=new)))
    assert [(one.group, one.what, one.refused) for one in changes] == [
        ("a", "from 4 nodes to 6 nodes", False),
        ("d", "added, with 2 nodes", False),
        ("c", "SlurmConfig.NodeType cannot change in place: give the group another name to create a new one", True),
        ("b", "removed, with its nodes, their jobs and the data on their disks", False),
    ]


def test_a_parallelcluster_is_checked_by_its_update_policies():
    def cluster(head: str, most: int) -> StackTemplate:
        configuration = {
            "Image": {"Os": "alinux2023"},
            "HeadNode": {"InstanceType": head},
            "Scheduling": {
                "Scheduler": "slurm",
                "SlurmQueues": [
                    {
                        "Name": "q",
                        "ComputeResources": [
                            {"Name": "r", "InstanceType": "c6i.large", "MinCount": 0, "MaxCount": most}
                        ],
                    }
                ],
            },
        }
        kind = "Custom::PclusterCluster"
        return stack(C=resource(kind, ClusterName="x-01234567", ClusterConfiguration=configuration))

    ((name, plan, another),) = parallelcluster_changes(cluster("m5.xlarge", 4), cluster("m5.xlarge", 8))
    assert (name, plan.passes, another) == ("x-01234567", True, False)
    ((_, refused, _),) = parallelcluster_changes(cluster("m5.xlarge", 4), cluster("c5.xlarge", 4))
    assert not refused.passes


def test_resources_that_cdk_destroy_retains_are_listed():
    section = retained_section([stack(A=resource("AWS::S3::Bucket", kept=True), B=resource("AWS::SNS::Topic"))])
    assert section.data == [
        {"stack": "s", "type": "AWS::S3::Bucket", "policy": "Retain", "where": "A", "logical_id": "A"}
    ]
    assert section.parts[1] == (
        "after `cdk destroy`, this resource remains in your account and costs money until you delete it"
    )
    member = resource("AWS::RDS::DBInstance", DBClusterIdentifier="c")
    section = retained_section([stack(A=resource("AWS::RDS::DBCluster"), B=member)])
    assert [(one["logical_id"], one["policy"]) for one in section.data] == [("A", "Snapshot")]
    two = retained_section([stack(A=resource("AWS::RDS::DBCluster"), B=resource("AWS::S3::Bucket", kept=True))])
    assert "these 2 resources (1 as a snapshot) remain in your account and cost money until" in str(two.parts[1])


@pytest.mark.parametrize(
    ("kinds", "end"),
    [
        (["EC2::Subnet"], "only 1 resource without charge, which --json lists"),
        (["EC2::Subnet", "EC2::VPC"], "only 2 resources without charge, which --json lists"),
        (
            ["EC2::Subnet", "S3::Bucket"],
            "this resource remains in your account and costs money until you delete it; also 1 resource without "
            "charge, which --json lists",
        ),
        (
            [
                "EC2::VPC",
                "KMS::Key",
                "EC2::Subnet",
                "Logs::LogGroup",
                "APS::Workspace",
                "S3::Bucket",
                "FSx::FileSystem",
            ],
            "these 5 resources remain in your account and cost money until you delete them; also 2 resources without "
            "charge, which --json lists",
        ),
    ],
)
def test_retained_resources_that_cost_money_are_in_the_table(kinds: list[str], end: str):
    resources = {f"R{number}": resource(f"AWS::{kind}", kept=True) for number, kind in enumerate(kinds)}
    section = retained_section([stack(**resources)])
    assert str(section.parts[-1]).removeprefix("after `cdk destroy`, ") == end
    listed = [one["type"].removeprefix("AWS::") for one in section.data]
    in_order = ["FSx::FileSystem", "S3::Bucket", "APS::Workspace", "Logs::LogGroup", "KMS::Key"]
    shown = [one["type"] for part in section.parts if isinstance(part, Table) for one in part.rows]
    assert shown == [f"AWS::{kind}" for kind in in_order if kind in kinds]
    assert listed == [*(kind for kind in in_order if kind in kinds), *(kind for kind in kinds if "EC2" in kind)]


def test_create_only_properties_from_the_user_guide_are_those_of_the_aws_emulator():
    facts = create_only("AWS::FSx::FileSystem")
    assert facts is not None
    assert set(facts.documented) == type_specs()["AWS::FSx::FileSystem"].replace
    for part, reported in (
        ("LustreConfiguration", {"DeploymentType": "SCRATCH_2"}),
        ("LustreConfiguration", {"CopyTagsToBackups": True}),
        ("OpenZFSConfiguration", {"RootVolumeConfiguration": {"RecordSizeKiB": 16}}),
    ):
        without, having = dict[str, Any]({part: {}}), dict[str, Any]({part: reported})
        old, new = (stack(F=resource("AWS::FSx::FileSystem", **properties)) for properties in (without, having))
        assert kinds(old, new)["F"][0] is ChangeKind.REPLACED, reported


def of_group(old: dict[str, Any], new: dict[str, Any]) -> list[Any]:
    """Return the changes of a group from `old` to `new`, in a cluster with a controller group."""
    controller = group("controller", 1, SlurmConfig={"NodeType": "Controller"})
    before, after = (resource("AWS::SageMaker::Cluster", InstanceGroups=[controller, one]) for one in (old, new))
    return list(hyperpod_changes(stack(C=before), stack(C=after)))


COMPUTE = {"SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["p"]}}


def test_a_smaller_group_and_settings_from_the_creation_of_nodes_are_reported():
    old = group("b", 1, **COMPUTE)
    (one,) = of_group(old, old | {"InstanceCount": 0})
    assert one.what.startswith("from 1 node to 0 nodes: HyperPod chooses the nodes to remove, and their jobs end")
    assert one.code == "LF1087"
    (one,) = of_group(old, old | {"InstanceCount": 2})
    assert one.code is None
    volume = [{"EbsVolumeConfig": {"VolumeSizeInGB": 100}}]
    (one,) = of_group(old, old | {"ImageId": "ami-1", "InstanceStorageConfigs": volume})
    assert one.what.startswith("ImageId, InstanceStorageConfigs (EbsVolumeConfig) changes: HyperPod may reject it")
    assert "a group with another name avoids that" in one.what
    assert one.code == "LF1087"


@pytest.mark.parametrize(
    ("change", "words", "codes"),
    [
        ({"InstanceType": "ml.c5.large"}, "InstanceType from ml.m5.xlarge to ml.c5.large: HyperPod may", "88 87"),
        ({"ThreadsPerCore": 1}, "ThreadsPerCore from none to 1: HyperPod may reject it", "88 87"),
        ({"ExecutionRole": {"Ref": "R"}}, "ExecutionRole from none to another: HyperPod may reject it", "88"),
        (
            {"InstanceType": None, "InstanceRequirements": {"InstanceTypes": ["ml.m5.xlarge"]}},
            "InstanceType from ml.m5.xlarge to none",
            "88 87",
        ),
    ],
)
def test_changes_that_some_aws_documents_forbid_may_be_rejected(change: Any, words: str, codes: str):
    old = group("b", 1, **COMPUTE)
    changes = of_group(old, {key: value for key, value in (old | change).items() if value is not None})
    assert changes[0].what.startswith(words)
    assert changes[0].what.endswith("a group with another name avoids that")
    assert " ".join(str(one.code).removeprefix("LF10") for one in changes) == codes
    assert not any(one.refused for one in changes)


def test_a_replaced_execution_role_may_be_rejected():
    role = {"Fn::GetAtt": ["Role", "Arn"]}
    cluster = resource("AWS::SageMaker::Cluster", InstanceGroups=[group("b", 1, **COMPUTE, ExecutionRole=role)])
    old, new = (stack(C=cluster, Role=resource("AWS::IAM::Role", RoleName=name)) for name in ("r1", "r2"))
    (one,) = hyperpod_changes(old, new)
    assert one.what.startswith("ExecutionRole is replaced: HyperPod may reject")
    assert (one.code, one.refused) == ("LF1088", False)


def test_an_instance_type_is_removed_only_without_running_nodes():
    def types(*names: str) -> dict[str, Any]:
        return {"InstanceGroupName": "b", "InstanceCount": 1, "InstanceRequirements": {"InstanceTypes": list(names)}}

    (one,) = of_group(types("ml.a", "ml.b"), types("ml.b", "ml.c"))
    assert one.what.startswith("without ml.a: HyperPod rejects it while nodes of such a type run")
    assert (one.code, one.refused) == ("LF1088", False)
    (one,) = of_group(types("ml.a"), types("ml.a", "ml.b"))
    assert (one.what, one.code) == ("other instance types, for new nodes only", None)


def test_only_new_nodes_mount_another_file_system():
    old = group("b", 1, **COMPUTE, InstanceStorageConfigs=[{"EbsVolumeConfig": {"VolumeSizeInGB": 100}}])
    mounts = [*old["InstanceStorageConfigs"], {"FsxOpenZfsConfig": {"DnsName": "d", "MountPath": "/home"}}]
    (one,) = of_group(old, old | {"InstanceStorageConfigs": mounts})
    assert "running nodes keep their mounts" in one.what
    assert "deploy the group with 0 nodes, which ends its jobs" in one.what
    assert one.code is None
    (one,) = of_group(
        *(one | {"SlurmConfig": {"NodeType": "Controller"}} for one in (old, old | {"InstanceStorageConfigs": mounts}))
    )
    assert one.what.endswith("it gets the new ones only in a cluster with another name")


@pytest.mark.parametrize("groups", [[], [group("head", 1)], [group("controller", 0)]])
def test_nodes_of_the_slurm_controller_cannot_be_removed(groups: list[dict[str, Any]]):
    kind, mark = "AWS::SageMaker::Cluster", {"SlurmConfig": {"NodeType": "Controller"}}
    old = stack(C=resource(kind, ClusterName="a", InstanceGroups=[group("controller", 1, **mark)]))
    groups = [one | mark for one in groups]
    changes = hyperpod_changes(old, stack(C=resource(kind, ClusterName="a", InstanceGroups=groups)))
    assert [(one.group, one.refused) for one in changes if one.code == "LF1088"] == [("controller", True)]
    assert "a cluster with another name" in changes[-1].what
    assert "LF1087" not in [one.code for one in changes]
    assert hyperpod_changes(old, stack(C=resource(kind, ClusterName="b", InstanceGroups=groups))) == ()


def test_removing_a_possible_controller_group_may_be_rejected():
    kind = "AWS::SageMaker::Cluster"
    old, new = (resource(kind, InstanceGroups=[group(name, 1)]) for name in ("a", "b"))
    changes = [one for one in hyperpod_changes(stack(C=old), stack(C=new)) if one.group == "a"]
    assert [(one.code, one.refused) for one in changes] == [("LF1087", False), ("LF1088", False)]
    assert changes[1].what.startswith("if provisioning_parameters.json has it as controller group: removed")
    api = resource(kind, InstanceGroups=[group("a", 1, SlurmConfig={"NodeType": "Controller"})])
    assert hyperpod_changes(stack(C=old), stack(C=api)) == ()


def test_resources_that_use_a_custom_resources_value_may_change_with_it():
    def bundle(text: str) -> StackTemplate:
        place = {"Fn::GetAtt": ["Own", "Prefix"]}
        return stack(Own=resource("Custom::Thing", A=text), Topic=resource("AWS::SNS::Topic", DisplayName=place))

    assert kinds(bundle("a"), bundle("b")) == {
        "Own": (ChangeKind.UNKNOWN, ("A",)),
        "Topic": (ChangeKind.CHANGED, ("DisplayName",)),
    }
