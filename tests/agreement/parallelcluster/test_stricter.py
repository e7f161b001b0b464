"""Errors that only llm-fleet reports are listed, and ParallelCluster accepts each of these clusters."""

import pytest

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster_queue import PlacementGroup
from llm_fleet_local.parallelcluster.client import Oracle
from tests.agreement.parallelcluster.stricter import STRICTER, Stricter
from tests.agreement.parallelcluster.test_rules_agree import parallelcluster_errors
from tests.rules.parallelcluster.shapes import TRN1, Cluster, Head, changed, with_queue, with_resource, with_storage

REJECTED_BY_EC2 = {
    "reservation id of another form",
    "address of the head node that is no Elastic IP",
}
"""ParallelCluster passes these to EC2, which rejects them; the emulated EC2 does not."""


@pytest.mark.parametrize("stricter", STRICTER, ids=str)
def test_only_llm_fleet_rejects_it(stricter: Stricter, oracle: Oracle):
    assert {problem.code for problem in check_parallelcluster(stricter.cluster)} == {stricter.code}
    assert stricter.why
    if stricter.name not in REJECTED_BY_EC2:
        assert parallelcluster_errors(oracle, stricter.cluster) == []


def test_efa_is_always_rendered_with_a_placement_group_setting(oracle: Oracle):
    """The reason why llm-fleet has no rule for EfaPlacementGroupValidator: the invalid input cannot be rendered."""
    for cluster in (
        with_queue(resources=(TRN1,)),
        with_resource(instance_types=("c5n.18xlarge",), efa=True),
        with_resource(instance_types=("c5n.18xlarge",), efa=True, placement_group=PlacementGroup(enabled=False)),
    ):
        rendered = render_configuration(cluster)
        resource = rendered["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]
        assert resource["Efa"] == {"Enabled": True}
        assert "Enabled" in resource["Networking"]["PlacementGroup"]
        del resource["Networking"]
        rejected = {finding.validator for finding in oracle.validate(rendered) if finding.level == "ERROR"}
        assert rejected == {"EfaPlacementGroupValidator"}


def test_unsupported_operating_systems_of_gb200(oracle: Oracle):
    """The emulated EC2 does not have the type, so that only ParallelCluster's validator is called."""
    name = "p6e-gb200.36xlarge"
    said = oracle.execute("InstanceTypeOSCompatibleValidator", instance_type=name, os="rhel8")
    assert [finding.level for finding in said] == ["ERROR"]
    assert oracle.execute("InstanceTypeOSCompatibleValidator", instance_type=name, os="alinux2023") == []
    newer = Ec2InstanceType.of(name, architecture="arm64", vcpus=144, memory_gib=960, threads_per_core=1)
    good = Cluster(head_node=Head(instance_type="m7g.2xlarge"), queues=with_resource(instance_types=(newer,)).queues)
    assert {each.code for each in check_parallelcluster(changed(good, os="rhel8"))} == {Code.PC_INSTANCE_OS}
    assert check_parallelcluster(good) == []


CRASHES = {
    kind.value: (with_storage(kind=kind), Code.PC_RESOURCE_ID)
    for kind in (StorageKind.FSX_OPEN_ZFS, StorageKind.FSX_ONTAP, StorageKind.FILE_CACHE)
}
"""Parts with missing values; ParallelCluster ends with a TypeError instead of a message."""


@pytest.mark.parametrize("part", CRASHES)
def test_llm_fleet_rejects_what_crashes_parallelcluster(part: str, oracle: Oracle):
    cluster, code = CRASHES[part]
    assert {problem.code for problem in check_parallelcluster(cluster)} == {code}
    with pytest.raises(RuntimeError, match="missing 1 required"):
        oracle.validate(render_configuration(cluster))
