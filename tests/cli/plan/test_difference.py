"""What differs between two templates, and what no update can do."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.catalog.create_only import create_only, touches
from llm_fleet.catalog.data_file import load
from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.plan.deployed_stacks import DeployedStacks
from llm_fleet.cli.plan.difference_section import difference_section
from llm_fleet.cli.plan.hyperpod_changes import hyperpod_changes
from llm_fleet.cli.plan.parallelcluster_changes import parallelcluster_changes
from llm_fleet.cli.plan.retained_section import retained_section
from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.cli.plan.template_changes import ChangeKind, template_changes
from llm_fleet.cli.terminal.screen import Screen
from local_aws.resources.schemas import create_only_paths, schema_of
from local_aws.resources.spec import type_specs

WIDE = Screen(width=None, colour=False, live=False)


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


def test_a_difference_that_may_be_the_flags_says_so():
    old, new = stack(A=resource("AWS::SNS::Topic", X={"Ref": "One"})), stack(A=resource("AWS::SNS::Topic", X=2))
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = old
    text = difference_section([new], deployed, without_flags="/fleets").text(WIDE)
    assert "there is no cdk.json in or above /fleets: the fleet was synthesized without the feature flags" in text
    assert "cdk.json" not in difference_section([new], deployed).text(WIDE)
    assert "cdk.json" not in difference_section([old], deployed, without_flags="/fleets").text(WIDE)


def test_a_resource_of_another_type_is_made_anew_and_metadata_is_no_change():
    old, new = stack(A=resource("AWS::SNS::Topic")), stack(A=resource("AWS::SQS::Queue"))
    assert kinds(old, new) == {"A": (ChangeKind.REPLACED, ("Type",))}
    told = {**resource("AWS::SNS::Topic"), "Metadata": {"aws:cdk:path": "s/Topic/Resource"}}
    assert kinds(old, stack(A=told)) == {}
    assert stack(A=told).where("A") == "s/Topic"


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
def test_whether_a_change_touches_a_property(changed: str, fixed: str, expected: bool):
    assert touches(changed, fixed) is expected


def test_properties_that_cannot_change_are_those_of_cloudformations_schemas():
    for resource_type in load("create_only"):
        facts = create_only(resource_type)
        assert schema_of(resource_type) is not None
        assert facts is not None
        assert facts.always == tuple(sorted(".".join(path) for path in create_only_paths(resource_type)))


def group(name: str, count: int, **more: Any) -> dict[str, Any]:
    return {"InstanceGroupName": name, "InstanceCount": count, "InstanceType": "ml.m5.xlarge", **more}


def test_another_provisioning_mode_of_a_running_cluster_is_announced():
    kind = "AWS::SageMaker::Cluster"
    old, new = resource(kind, InstanceGroups=[]), resource(kind, InstanceGroups=[], NodeProvisioningMode="Continuous")
    (change,) = hyperpod_changes(stack(C=old), stack(C=new))
    assert change.group == "all groups"
    assert change.what.startswith("NodeProvisioningMode from none to Continuous: HyperPod may refuse it")


def test_groups_of_a_hyperpod_cluster():
    kind = "AWS::SageMaker::Cluster"
    old = [group("controller", 1), group("a", 4), group("b", 1), group("c", 1, SlurmConfig={"NodeType": "Login"})]
    new = [group("controller", 1), group("a", 6), group("d", 2), group("c", 1, SlurmConfig={"NodeType": "Compute"})]
    changes = hyperpod_changes(stack(C=resource(kind, InstanceGroups=old)), stack(C=resource(kind, InstanceGroups=new)))
    assert [(one.group, one.what, one.refused) for one in changes] == [
        ("a", "from 4 nodes to 6 nodes", False),
        ("d", "added, with 2 nodes", False),
        ("c", "SlurmConfig.NodeType cannot change in place: give the group another name, and it is made anew", True),
        ("b", "removed, with its nodes, the jobs on them and what lies on their disks", False),
    ]


def test_a_parallelcluster_is_judged_by_its_update_policies():
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


def test_what_destroy_leaves_behind():
    section = retained_section([stack(A=resource("AWS::S3::Bucket", kept=True), B=resource("AWS::SNS::Topic"))])
    assert section.data == [
        {"stack": "s", "type": "AWS::S3::Bucket", "policy": "Retain", "where": "A", "logical_id": "A"}
    ]


def test_what_the_user_guide_alone_says_is_what_the_embedded_aws_does():
    facts = create_only("AWS::FSx::FileSystem")
    assert facts is not None
    assert set(facts.documented) == type_specs()["AWS::FSx::FileSystem"].replace
    for part, told in (
        ("LustreConfiguration", {"DeploymentType": "SCRATCH_2"}),
        ("LustreConfiguration", {"CopyTagsToBackups": True}),
        ("OpenZFSConfiguration", {"RootVolumeConfiguration": {"RecordSizeKiB": 16}}),
    ):
        old, new = (stack(F=resource("AWS::FSx::FileSystem", **{part: value})) for value in ({}, told))
        assert kinds(old, new)["F"][0] is ChangeKind.REPLACED, told


def test_a_shrunk_group_is_announced_and_what_nodes_have_from_their_making():
    kind = "AWS::SageMaker::Cluster"

    def change(**more: Any) -> list[Any]:
        old, new = ([group("a", 4), group("b", 1)], [group("a", 4), group("b", 1) | more])
        return list(
            hyperpod_changes(stack(C=resource(kind, InstanceGroups=old)), stack(C=resource(kind, InstanceGroups=new)))
        )

    (one,) = change(InstanceCount=0)
    assert one.what.startswith("from 1 node to 0 nodes: HyperPod chooses the nodes that go, and jobs on them end")
    assert one.code == "LF1087"
    (one,) = change(InstanceCount=2)
    assert one.code is None
    (one,) = change(ImageId="ami-1", ThreadsPerCore=1)
    assert one.what.startswith("ImageId, ThreadsPerCore changes: HyperPod may refuse it")
    assert one.code == "LF1087"


def test_who_takes_a_value_of_a_custom_resource_may_change_with_it():
    def bundle(text: str) -> StackTemplate:
        place = {"Fn::GetAtt": ["Own", "Prefix"]}
        return stack(Own=resource("Custom::Thing", A=text), Topic=resource("AWS::SNS::Topic", DisplayName=place))

    assert kinds(bundle("a"), bundle("b")) == {
        "Own": (ChangeKind.UNKNOWN, ("A",)),
        "Topic": (ChangeKind.CHANGED, ("DisplayName",)),
    }
