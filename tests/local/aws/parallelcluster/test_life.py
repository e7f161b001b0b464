"""A cluster's life cycle with the provider's stand-in: creation, reading, updates, rejections, deletion."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.parallelcluster.clusters import Clusters


def resized(configuration: dict[str, Any], count: int) -> dict[str, Any]:
    configuration["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]["MaxCount"] = count
    return configuration


def max_count(clusters: Clusters, name: str) -> str:
    queue = clusters.deployed(name)["ClusterConfiguration"]["Scheduling"]["SlurmQueues"][0]
    return queue["ComputeResources"][0]["MaxCount"]


def test_a_cluster_is_created_read_updated_and_deleted(clusters: Clusters):
    template = clusters.template("life-1", clusters.configuration())
    assert clusters.deploy("life", template) == "CREATE_COMPLETE", clusters.why("life")
    assert {"life", "life-1"} <= clusters.names()
    interface = {"Name": "addresses.private-ip-address", "Values": [clusters.outputs("life")["Head"]]}
    (found,) = clusters.aws.client("ec2").describe_network_interfaces(Filters=[interface])["NetworkInterfaces"]
    assert found["SubnetId"] == clusters.subnet

    with pytest.raises(ClientError, match="No updates are to be performed"):
        clusters.deploy("life", template)
    template = clusters.template("life-1", resized(clusters.configuration(), 8))
    assert clusters.deploy("life", template) == "UPDATE_COMPLETE", clusters.why("life")
    assert max_count(clusters, "life-1") == "8"

    assert clusters.destroy("life") == "DELETE_COMPLETE"
    assert not {"life", "life-1"} & clusters.names()
    left = clusters.aws.client("logs").describe_log_groups(logGroupNamePrefix="/aws/parallelcluster/life-1")[
        "logGroups"
    ]
    assert [group["retentionInDays"] for group in left] == [180]


def test_events_contain_the_word_stand_in(clusters: Clusters):
    clusters.deploy("said", clusters.template("said-1", clusters.configuration()))
    reported = {
        event["LogicalResourceId"]: event.get("ResourceStatusReason", "")
        for event in clusters.aws.events("said")
        if event["ResourceStatus"] == "CREATE_COMPLETE"
    }
    assert "STAND-IN" in reported["Provider"]
    assert "STAND-IN" in reported["Cluster"]
    assert clusters.destroy("said") == "DELETE_COMPLETE"


def test_a_rejected_change_leaves_cluster_and_stack_as_they_were(clusters: Clusters):
    clusters.deploy("kept", clusters.template("kept-1", clusters.configuration()))
    larger = resized(clusters.configuration(), 8)
    larger["HeadNode"]["InstanceType"] = "c5.4xlarge"
    assert clusters.deploy("kept", clusters.template("kept-1", larger)) == "UPDATE_ROLLBACK_COMPLETE"
    why = clusters.why("kept")
    assert "Update failure" in why
    assert '"parameter": "HeadNode.InstanceType"' in why
    assert max_count(clusters, "kept-1") == "4"
    again = clusters.template("kept-1", resized(clusters.configuration(), 8))
    assert clusters.deploy("kept", again) == "UPDATE_COMPLETE", "the stack is stuck"
    assert clusters.destroy("kept") == "DELETE_COMPLETE"


def test_a_smaller_queue_requires_a_stopped_fleet(clusters: Clusters):
    clusters.deploy("shrunk", clusters.template("shrunk-1", clusters.configuration()))
    smaller = clusters.template("shrunk-1", resized(clusters.configuration(), 2))
    assert clusters.deploy("shrunk", smaller) == "UPDATE_ROLLBACK_COMPLETE"
    assert "Stop the compute fleet" in clusters.why("shrunk")
    clusters.destroy("shrunk")


@pytest.mark.parametrize(
    ("name", "more", "version", "says"),
    [
        ("other-1", {}, "3.16.1", "Cannot update the ClusterName"),
        ("same-1", {}, "3.16.0", "only with the same ParallelCluster version (3.16.1)"),
        ("same-1", {"RollbackOnFailure": False}, "3.16.1", "<update-cluster> got unexpected arguments"),
    ],
)
def test_properties_that_no_update_can_change(
    clusters: Clusters, name: str, more: dict[str, Any], version: str, says: str, request: pytest.FixtureRequest
):
    if "same-1" not in clusters.names():
        clusters.deploy("same", clusters.template("same-1", clusters.configuration()))
    changed = clusters.template(name, resized(clusters.configuration(), 8), version=version, **more)
    assert clusters.deploy("same", changed) == "UPDATE_ROLLBACK_COMPLETE"
    assert says in clusters.why("same")


def test_the_stacks_tags_are_set_on_the_cluster(clusters: Clusters):
    configuration = clusters.configuration() | {"Tags": [{"Key": "team", "Value": "own"}]}
    tags = [{"Key": "team", "Value": "stack"}, {"Key": "cost", "Value": "7"}]
    assert clusters.deploy("tagged", clusters.template("tagged-1", configuration), Tags=tags) == "CREATE_COMPLETE"
    assert {tag["Key"]: tag["Value"] for tag in clusters.deployed("tagged-1")["ClusterConfiguration"]["Tags"]} == {
        "team": "own",
        "cost": "7",
        "parallelcluster:custom_resource": "cluster",
    }
    clusters.destroy("tagged")


def test_a_retained_cluster_remains_after_its_stack_is_deleted(clusters: Clusters):
    template = clusters.template("retained-1", clusters.configuration(), DeletionPolicy="Retain")
    assert clusters.deploy("retained", template) == "CREATE_COMPLETE"
    assert clusters.destroy("retained") == "DELETE_COMPLETE"
    assert "retained-1" in clusters.names()
    assert clusters.destroy("retained-1") == "DELETE_COMPLETE"


def test_a_subnet_cannot_be_deleted_before_its_cluster(clusters: Clusters):
    clusters.deploy("holds", clusters.template("holds-1", clusters.configuration()))
    with pytest.raises(ClientError, match="DependencyViolation"):
        clusters.aws.client("ec2").delete_subnet(SubnetId=clusters.subnet)
    clusters.destroy("holds")


def test_warnings_of_validators_can_be_read(clusters: Clusters):
    clusters.deploy("warned", clusters.template("warned-1", clusters.configuration()))
    assert [one["type"] for one in json.loads(clusters.outputs("warned")["Messages"])] == ["KeyPairValidator"]
    clusters.destroy("warned")
