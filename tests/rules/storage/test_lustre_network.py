"""EFA connections of nodes to a Lustre file system, and the warnings at synth."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match

from llm_fleet import (
    FleetNetwork,
    HeadNode,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    LustreDeploymentType,
    LustreFileSystem,
    LustreSpec,
    LustreStorageType,
    LustreThroughput,
    NetworkSpec,
    Os,
    ParallelCluster,
    ParallelClusterSpec,
    Queue,
)
from llm_fleet.catalog.fsx import lustre_efa, lustre_efa_interfaces, lustre_limits
from llm_fleet.catalog.hyperpod import InstanceType, instances
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.parallelcluster import oses
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_network import (
    EfaClients,
    connections,
    doubt_about_region,
    lustre_addresses,
    lustre_claim,
    why_efa_is_unused,
    why_too_many_connections,
)

CONTROLLER = EfaClients(name="controller", instance_types=["ml.m5.xlarge"], nodes=1)
UNUSED, CONNECTIONS = "no node of the cluster can use it", "which supports 1024"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("ml.trn2.48xlarge", 0),
        ("ml.trn2.3xlarge", 0),
        ("ml.p4d.24xlarge", 0),
        ("ml.g5.48xlarge", 0),
        ("ml.m5.xlarge", 0),
        ("ml.p5.48xlarge", 8),
        ("ml.p5.4xlarge", 1),
        ("ml.p5en.48xlarge", 8),
        ("ml.p6-b300.48xlarge", 16),
        ("ml.p6e-gb200.36xlarge", 8),
        ("ml.trn1.32xlarge", 2),
        ("ml.trn1n.32xlarge", 2),
        ("ml.g6.48xlarge", 1),
    ],
)
def test_the_number_of_lnet_interfaces_is_that_of_the_fsx_guide(name: str, number: int) -> None:
    assert lustre_efa_interfaces(instances()[name]) == number


def test_no_type_uses_more_efa_interfaces_than_it_has() -> None:
    for instance in instances().values():
        number = lustre_efa_interfaces(instance)
        assert instance.efa_interfaces is None or (number or 0) <= instance.efa_interfaces, instance.name


def test_a_type_newer_than_the_catalog_is_treated_as_supported_by_efa() -> None:
    newer = InstanceType.of("ml.trn9.48xlarge", network_cards=8, efa_interfaces=8).facts
    assert newer is not None
    assert lustre_efa_interfaces(newer) == 2


def workers(name: str, nodes: int, *, efa: bool = True) -> EfaClients:
    return EfaClients(name="workers", instance_types=[name], nodes=nodes, efa=efa)


@pytest.mark.parametrize(
    ("group", "unused"),
    [
        (workers("ml.trn2.48xlarge", 4), True),
        (workers("trn2.48xlarge", 4), True),
        (workers("ml.trn1.32xlarge", 4), False),
        (workers("trn1.32xlarge", 4, efa=False), True),
        (workers("ml.trn9.48xlarge", 4), False),  # unknown
        (workers(cdk.Fn.ref("Type"), 4), False),
    ],
)
def test_efa_that_no_node_can_use_causes_a_warning(group: EfaClients, unused: bool) -> None:
    assert (UNUSED in (why_efa_is_unused([CONTROLLER, group]) or "")) is unused


@pytest.mark.parametrize(
    ("system", "unused"),
    [("rhel8", True), ("rocky9", True), ("alinux2", True), ("rhel9", False), ("alinux2023", False), (None, False)],
)
def test_efa_on_an_operating_system_without_support_causes_a_warning(system: str | None, unused: bool) -> None:
    group = EfaClients(name="q", instance_types=["trn1.32xlarge"], nodes=4, system=system)
    reason = why_efa_is_unused([group]) or ""
    why = f"It supports only TCP with {system}; EFA requires one of alinux2023, rhel9, ubuntu2204, ubuntu2404"
    assert (why in reason) is unused
    assert connections([group]) == (0 if unused else 8)


def test_efa_support_is_known_for_every_operating_system_of_parallelcluster() -> None:
    named = {name for system in lustre_efa().systems for name in system.parallelcluster}
    assert set(oses()) - named == {"rhel8", "rocky8", "rocky9"}
    assert named <= set(oses())


def test_the_limit_of_connections_counts_all_groups_and_clusters() -> None:
    most = lustre_efa().connections
    assert connections([CONTROLLER, workers("ml.p5.48xlarge", 128)]) == most
    assert why_too_many_connections([workers("ml.p5.48xlarge", 128)], elsewhere=0) is None
    reason = why_too_many_connections([workers("ml.p5.48xlarge", 128)], elsewhere=2) or ""
    assert "up to 1024 EFA connections" in reason
    assert "in addition to 2 from other clusters" in reason
    assert "workers 8 on each of 128 nodes" in reason
    assert connections([workers("ml.p5.48xlarge", int(cdk.Token.as_number(cdk.Fn.ref("Count"))))]) == 0


def test_hyperpod_warns_and_connections_of_clusters_that_share_a_file_system_are_added(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=19200), network=network)

    def cluster(id: str, kind: str, count: int) -> None:
        groups = [InstanceGroup.controller("ml.m5.xlarge"), InstanceGroup.workers("w", kind, count=count)]
        HyperPodCluster(stack, id, HyperPodClusterSpec(groups=groups), network=network, lustre=lustre)

    cluster("First", "ml.trn1.32xlarge", 400)
    Annotations.from_stack(stack).has_no_warning("*", Match.string_like_regexp("EFA"))
    cluster("Second", "ml.trn1.32xlarge", 200)
    cluster("Third", "ml.trn2.48xlarge", 4)
    annotations = Annotations.from_stack(stack)
    annotations.has_warning(
        "/Test/Second", Match.string_like_regexp("up to 400 EFA connections.* in addition to 800 from other")
    )
    annotations.has_no_warning("*", Match.string_like_regexp(UNUSED))


def test_a_file_system_whose_efa_no_cluster_can_use_causes_a_warning(stack: cdk.Stack) -> None:
    """The check runs after all clusters are created, because the first can have only a controller."""
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=19200), network=network)
    trn2 = InstanceGroup.workers("w", "ml.trn2.48xlarge", count=4)
    for id, more in (("First", ()), ("Second", (trn2,))):
        groups = [InstanceGroup.controller("ml.m5.xlarge"), *more]
        HyperPodCluster(stack, id, HyperPodClusterSpec(groups=groups), network=network, lustre=lustre)
    Annotations.from_stack(stack).has_warning("/Test/Fsx", Match.string_like_regexp(f"{UNUSED}: .*trn2"))


@pytest.mark.parametrize(("system", "warned"), [(Os.RHEL8, True), (Os.RHEL9, False), (Os.UBUNTU2204, False)])
def test_parallelcluster_warns_of_a_system_without_efa_for_lustre(stack: cdk.Stack, system: Os, warned: bool) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=19200), network=network)
    head = HeadNode(instance_type="m5.2xlarge")
    queues = [Queue.trainium("trn1", max_count=4)]
    ParallelCluster(
        stack, "Train", ParallelClusterSpec(head_node=head, queues=queues, os=system), network=network, lustre=lustre
    )
    found = Annotations.from_stack(stack).find_warning("/Test/Fsx", Match.string_like_regexp(UNUSED))
    assert bool(found) is warned


def test_parallelcluster_warns_too(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=19200), network=network)
    head = HeadNode(instance_type="m5.2xlarge")
    queues = [Queue.trainium("trn1", max_count=550)]
    ParallelCluster(stack, "Train", ParallelClusterSpec(head_node=head, queues=queues), network=network, lustre=lustre)
    Annotations.from_stack(stack).has_warning("/Test/Train", Match.string_like_regexp("up to 1100 EFA connections"))


@pytest.mark.parametrize(
    ("settings", "addresses"),
    [
        ({}, 1 + 1),
        ({"storage_capacity_gib": 4800}, 2 + 1),
        ({"storage_capacity_gib": 19200}, 1 + 1),  # with EFA, one server holds as much
        ({"storage_capacity_gib": 19200, "efa_enabled": False}, 8 + 1),
        ({"storage_capacity_gib": 96000, "efa_enabled": False}, 40 + 4),  # a metadata server for each 24000 GiB
        ({"metadata_iops": 1500}, 1 + 1),
        ({"metadata_iops": 192000}, 1 + 16),
        ({"deployment_type": LustreDeploymentType.SCRATCH_1, "storage_capacity_gib": 7200}, 2 + 1),
        ({"deployment_type": LustreDeploymentType.SCRATCH_2, "storage_capacity_gib": 9600}, 4 + 1),
        (
            {
                "deployment_type": LustreDeploymentType.PERSISTENT_1,
                "storage_type": LustreStorageType.HDD,
                "storage_capacity_gib": 5400,
            },
            3 + 1,
        ),
        ({"storage_type": LustreStorageType.INTELLIGENT_TIERING, "throughput": LustreThroughput(whole=12000)}, 3 + 1),
        ({"storage_capacity_gib": -1.888154589708e289}, None),
        ({"metadata_iops": -1.888154589708e289}, None),
        ({"deployment_type": "${Token[TOKEN.42]}"}, None),
    ],
)
def test_addresses_of_a_file_system_are_counted(settings: dict[str, Any], addresses: int | None):
    assert lustre_addresses(LustreSpec(**settings)) == addresses


def test_a_claim_names_its_owner_and_its_zone():
    claim = lustre_claim(LustreSpec(storage_capacity_gib=4800), owner="storage.fsx", availability_zone_id="usw2-az4")
    assert (claim.owner, claim.what, claim.addresses) == ("storage.fsx", "FSx for Lustre", 3)
    assert claim.availability_zone_id == "usw2-az4"


def test_unknown_values_claim_the_minimum_of_addresses():
    assert lustre_claim(LustreSpec(storage_type=LustreStorageType.HDD), owner="storage.fsx").addresses == 2


@pytest.mark.parametrize(
    ("region", "settings", "doubt"),
    [
        ("sa-east-1", {}, "PERSISTENT_2 in sa-east-1"),
        ("ca-west-1", {"efa_enabled": True, "storage_capacity_gib": 19200}, "EFA in ca-west-1"),
        ("ca-west-1", {"throughput": LustreThroughput(per_tib=500)}, "250 MB/s/TiB in ca-west-1"),
    ],
)
def test_a_region_with_uncertain_support_has_a_warning(region: str, settings: dict[str, Any], doubt: str):
    spec = LustreSpec(**settings)
    assert doubt in (doubt_about_region(spec, region) or "")
    assert check_lustre(spec) == []


@pytest.mark.parametrize(
    ("region", "settings"),
    [
        (None, {}),
        ("us-west-2", {}),
        ("xx-new-1", {}),
        ("ca-west-1", {}),
        ("sa-east-1", {"deployment_type": LustreDeploymentType.PERSISTENT_1}),
    ],
)
def test_a_region_with_support_has_no_warning(region: str | None, settings: dict[str, Any]):
    assert doubt_about_region(LustreSpec(**settings), region) is None


def test_efa_is_not_the_default_in_regions_with_uncertain_support():
    assert not LustreSpec(storage_capacity_gib=19200).effective_efa("ca-west-1")
    assert LustreSpec(storage_capacity_gib=19200).effective_efa("us-west-2")


def test_the_regions_exist():
    limits = lustre_limits()
    named = (*limits.regions_without_persistent_2, *limits.regions_without_efa)
    assert set(named) <= set(regions())
    assert len(set(named)) == len(named)
