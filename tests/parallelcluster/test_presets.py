"""Presets of queues: their values, what they reject, and that ParallelCluster accepts them."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet.catalog.ec2_instances import ec2_instance, ec2_instance_names
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.parallelcluster.nodes import efa_of, exclusive_of, placement_group_of
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster, check_queue
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.parallelcluster import SharedStorage
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool, RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, PlacementGroup, Queue
from llm_fleet_local.parallelcluster.client import Oracle
from tests.parallelcluster.clusters import HOOKS, OTHER_SUBNET, POLICIES, RESERVATION, cluster, subnet
from tests.rules.parallelcluster.shapes import changed

GROUP_ARN = "arn:aws:resource-groups:us-west-2:111122223333:group/reserved"
PRESETS: dict[str, Callable[[], Queue]] = {
    "trainium": lambda: Queue.trainium("work", max_count=16),
    "trainium-small": lambda: Queue.trainium("work", instance_type="trn1.2xlarge", max_count=2),
    "trainium-network": lambda: Queue.trainium("work", instance_type="trn1n.32xlarge", max_count=4),
    "trainium2": lambda: Queue.trainium("work", instance_type="trn2.48xlarge", max_count=4),
    "trainium-static": lambda: Queue.trainium("work", min_count=2, max_count=4),
    "trainium-spot": lambda: Queue.trainium("work", max_count=4, spot=True, spot_price=8.5),
    "trainium-cores": lambda: Queue.trainium("work", max_count=4, hyperthreading=False),
    "trainium-odcr": lambda: Queue.trainium(
        "work", max_count=4, capacity_reservation=CapacityReservation.id(RESERVATION)
    ),
    "trainium-own-placement": lambda: Queue.trainium(
        "work", max_count=4, placement_group=PlacementGroup.named("close")
    ),
    "trainium-without-efa": lambda: Queue.trainium(
        "work", max_count=4, efa=False, subnets=[subnet(), subnet(OTHER_SUBNET)]
    ),
    "gpu": lambda: Queue.gpu("work", instance_type="p5.48xlarge", max_count=4),
    "gpu-a100": lambda: Queue.gpu("work", instance_type="p4d.24xlarge", max_count=4),
    "gpu-small": lambda: Queue.gpu("work", instance_type="g5.2xlarge", max_count=4),
    "gpu-spot": lambda: Queue.gpu("work", instance_type="g6e.48xlarge", max_count=4, spot=True),
    "gpu-root": lambda: Queue.gpu(
        "work", instance_type="p5en.48xlarge", max_count=4, root_volume=RootVolume(size_gib=200)
    ),
    "block-trainium": lambda: Queue.capacity_block(
        "work", instance_type="trn2.48xlarge", count=4, reservation_id=RESERVATION
    ),
    "block-gpu": lambda: Queue.capacity_block(
        "work", instance_type="p5en.48xlarge", count=8, reservation_id=RESERVATION
    ),
    "cpu": lambda: Queue.cpu("work", instance_type="c5.4xlarge", max_count=10),
    "cpu-several": lambda: Queue.cpu("work", instance_type=["c5.4xlarge", "c5d.4xlarge"], max_count=10, spot=True),
    "cpu-efa": lambda: Queue.cpu("work", instance_type="c5n.18xlarge", max_count=10),
    "cpu-two-subnets": lambda: Queue.cpu(
        "work", instance_type="c5.4xlarge", max_count=10, subnets=[subnet(), subnet(OTHER_SUBNET)]
    ),
}

EXPECTED_WARNINGS = (
    "WARNING KeyPairValidator: ",
    "WARNING EfaPlacementGroupValidator: Placement group is disabled for queue 'trainium-odcr'.",
)
"""SSM sessions require no key pair, and a reservation can have its own placement group."""


def around(*queues: Queue, region: str) -> Any:
    """A cluster with `queues` and recommended settings."""
    return cluster(
        *(queue if queue.subnets else changed(queue, subnets=[subnet()]) for queue in queues),
        region=region,
        head_node=HeadNode(instance_type="m5.2xlarge", subnet=subnet(), root_volume=RootVolume(size_gib=200)),
        login_pools=[LoginPool(name="users", instance_type="m5.large")],
        shared_storage=[
            SharedStorage.lustre("fsx", file_system_id="fs-0123456789abcdef0"),
            SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0"),
        ],
    )


@pytest.mark.parametrize("name", PRESETS)
def test_our_rules_and_parallelclusters_schema_accept_presets(name: str, oracle: Oracle) -> None:
    whole = around(PRESETS[name](), region="us-east-2")
    rendered = render_configuration(whole, HOOKS, POLICIES)
    assert check_parallelcluster(whole) == []
    assert check_configuration(rendered) == []
    assert oracle.schema(rendered) == []


@pytest.mark.parametrize("second_trainium", [False, True])
def test_parallelclusters_validators_accept_presets(second_trainium: bool, oracle: Oracle) -> None:
    """All presets together in a region with their instances; the validators report only the expected warnings."""
    made = {name: make() for name, make in PRESETS.items()}
    trn2 = {name for name, queue in made.items() if queue.compute_resources[0].instance_types[0].startswith("trn2.")}
    names = trn2 if second_trainium else set(made) - trn2
    queues: list[Queue] = [changed(queue, name=name) for name, queue in made.items() if name in names]
    for number, queue in enumerate(queues):
        if queue.capacity_reservation is not None:
            queues[number] = changed(queue, capacity_reservation=CapacityReservation.id(f"cr-{number:017x}"))
    whole = around(*queues, region="us-east-2" if second_trainium else "us-west-2")
    found = oracle.validate(render_configuration(whole, HOOKS, POLICIES), "train-0123abcd")
    reported = [str(finding) for finding in found if finding.level != "INFO"]
    assert [text for text in reported if not text.startswith(EXPECTED_WARNINGS)] == []


FILE_SYSTEMS = {
    "existing": lambda: [
        SharedStorage.lustre("fsx", file_system_id="fs-0123456789abcdef0"),
        SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0"),
        SharedStorage.ontap("nas", mount_dir="/nas", volume_id="fsvol-0123456789abcdef1"),
        SharedStorage.efs(
            "efs",
            mount_dir="/efs",
            file_system_id="fs-0123456789abcdef1",
            access_point_id="fsap-0123456789abcdef0",
            iam_authorization=True,
        ),
        SharedStorage.ebs("apps", mount_dir="/apps", volume_id="vol-0123456789abcdef0"),
        SharedStorage.file_cache("cache", mount_dir="/cache", file_cache_id="fc-0123456789abcdef0"),
    ],
    "managed": lambda: [
        SharedStorage.managed_lustre("fsx", capacity_gib=4800),
        SharedStorage.managed_efs("efs", mount_dir="/efs"),
        SharedStorage.managed_ebs("apps", mount_dir="/apps", size_gib=100),
    ],
    "scratch": lambda: [
        SharedStorage.managed_lustre(
            "fsx", capacity_gib=1200, deployment_type="SCRATCH_2", throughput_mb_s_per_tib=None
        )
    ],
}


@pytest.mark.parametrize("name", FILE_SYSTEMS)
def test_parallelclusters_validators_accept_the_storage(name: str, oracle: Oracle) -> None:
    queue = Queue.trainium("trn1", max_count=4, subnets=[subnet()])
    whole = cluster(queue, shared_storage=FILE_SYSTEMS[name]())
    assert check_parallelcluster(whole) == []
    found = oracle.validate(render_configuration(whole), "train-0123abcd")
    assert [str(one) for one in found if one.level == "ERROR"] == []


def test_an_invalid_name_of_queue_and_resource_is_reported_once() -> None:
    found = check_queue(Queue.trainium("a" * 26, max_count=4))
    assert [(problem.code, problem.path) for problem in found] == [(Code.PC_NAME, ("name",))]


def test_the_preset_for_trainium() -> None:
    queue = Queue.trainium("trn1", max_count=16)
    (nodes,) = queue.compute_resources
    assert (nodes.name, list(nodes.instance_types), nodes.min_count, nodes.max_count) == (
        "trn1", ["trn1.32xlarge"], 0, 16,
    )  # fmt: skip
    assert (queue.exclusive, queue.scratch_mount_dir, queue.gpu_health_check) == (True, "/local_scratch", None)
    assert nodes.hyperthreading, "--cpus-per-task 128 needs two threads a core"
    placement = placement_group_of(queue, nodes)
    assert efa_of(nodes)
    assert placement is not None
    assert (placement.enabled, placement.name) == (True, None)


def test_a_small_trainium_has_no_efa_and_no_placement_group() -> None:
    queue = Queue.trainium("trn1", instance_type="trn1.2xlarge", max_count=1)
    (nodes,) = queue.compute_resources
    assert not efa_of(nodes)
    assert placement_group_of(queue, nodes) is None
    assert queue.scratch_mount_dir == "/local_scratch"


@pytest.mark.parametrize(("instance_type", "check"), [("p5.48xlarge", True), ("g5.2xlarge", True)])
def test_nvidia_is_checked_before_jobs(instance_type: str, check: bool) -> None:
    assert Queue.gpu("gpu", instance_type=instance_type, max_count=1).gpu_health_check is check


def test_a_capacity_block_is_static_and_placed_by_aws() -> None:
    queue = Queue.capacity_block("block", instance_type="p5.48xlarge", count=8, reservation_id=RESERVATION)
    (nodes,) = queue.compute_resources
    assert (nodes.min_count, nodes.max_count) == (8, 8)
    assert placement_group_of(queue, nodes) is None
    assert efa_of(nodes)
    assert queue.capacity_reservation == CapacityReservation.id(RESERVATION)


def test_cpu_nodes_are_shared_by_jobs() -> None:
    queue = Queue.cpu("cpu", instance_type="c5.4xlarge", max_count=4)
    assert not exclusive_of(queue)
    assert (queue.scratch_mount_dir, queue.gpu_health_check) == (None, None)


def test_reserved_capacity_has_no_placement_group() -> None:
    """Reserved instances may be outside of the placement group, and then no node would start."""
    reserved = CapacityReservation.resource_group(GROUP_ARN)
    queue = Queue.trainium("trn1", max_count=4, capacity_reservation=reserved)
    placement = placement_group_of(queue, queue.compute_resources[0])
    assert placement is not None
    assert not placement.enabled


def test_a_value_of_the_user_has_priority() -> None:
    queue = Queue.gpu(
        "gpu", instance_type="p5.48xlarge", max_count=1, exclusive=False, gpu_health_check=False,
        scratch_mount_dir="/nvme", efa=False,
    )  # fmt: skip
    assert (queue.exclusive, queue.gpu_health_check, queue.scratch_mount_dir) == (False, False, "/nvme")
    assert (exclusive_of(queue), efa_of(queue.compute_resources[0])) == (False, False)


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (lambda: Queue.trainium("work", instance_type="p5.48xlarge", max_count=1), Code.PC_PRESET_TYPE),
        (lambda: Queue.trainium("work", instance_type="inf2.48xlarge", max_count=1), Code.PC_PRESET_TYPE),
        (lambda: Queue.trainium("work", instance_type="m5.xlarge", max_count=1), Code.PC_PRESET_TYPE),
        (lambda: Queue.gpu("work", instance_type="trn1.32xlarge", max_count=1), Code.PC_PRESET_TYPE),
        (lambda: Queue.gpu("work", instance_type="m5.xlarge", max_count=1), Code.PC_PRESET_TYPE),
    ],
)
def test_a_preset_rejects_other_instances(made: Any, code: Code) -> None:
    with pytest.raises(FleetError) as caught:
        made()
    assert [problem.code for problem in caught.value.problems] == [code]


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (lambda: Queue.trainium("work", instance_type="trn1.2xlarge", max_count=1, efa=True), Code.PC_EFA_TYPE),
        (lambda: Queue.trainium("work", min_count=3, max_count=2), Code.PC_NODE_COUNT),
        (lambda: Queue.trainium("a" * 26, max_count=2), Code.PC_NAME),
        (lambda: Queue.trainium("work", max_count=2, subnets=[subnet(), subnet(OTHER_SUBNET)]), Code.PC_EFA_SUBNETS),
        (
            lambda: Queue.capacity_block("work", instance_type="inf2.48xlarge", count=2, reservation_id=RESERVATION),
            Code.PC_CAPACITY_TYPE,
        ),
        (
            lambda: Queue.capacity_block("work", instance_type="p5.48xlarge", count=0, reservation_id=RESERVATION),
            Code.PC_CAPACITY_BLOCK_COUNT,
        ),
        (
            lambda: Queue.trainium("work", max_count=2, overrides={"Networking": {"Prxy": {}}}),
            Code.PC_KEY_UNKNOWN,
        ),
    ],
)
def test_invalid_values_of_presets_are_reported(made: Any, code: Code) -> None:
    assert code in {problem.code for problem in check_queue(made())}


def test_an_unknown_option_is_rejected() -> None:
    with pytest.raises(FleetError, match="min_cuont"):
        Queue.trainium("work", max_count=1, min_cuont=1)


@pytest.mark.parametrize(
    ("instance_type", "remedy"),
    [
        ("p5.48xlarge", "use Queue.gpu"),
        ("m5.xlarge", "use Queue.cpu"),
        ("inf2.48xlarge", "create a Queue with a ComputeResource of this type"),
        ("ml.trn1.32xlarge", "write the name of EC2, without the prefix `ml.`"),
    ],
)
def test_the_wrong_preset_suggests_the_right_one(instance_type: str, remedy: str) -> None:
    with pytest.raises(FleetError) as caught:
        Queue.trainium("work", instance_type=instance_type, max_count=1)
    (problem,) = caught.value.problems
    assert (problem.remedy, problem.path) == (remedy, ("instance_type",))


def test_a_capacity_block_has_one_reservation() -> None:
    options: Any = {"capacity_reservation": CapacityReservation.id(RESERVATION)}
    with pytest.raises(TypeError, match="capacity_reservation"):
        Queue.capacity_block("work", instance_type="p5.48xlarge", count=2, reservation_id=RESERVATION, **options)


def test_every_trainium_and_gpu_type_of_the_catalog_has_its_preset() -> None:
    for name in ec2_instance_names():
        facts = ec2_instance(name)
        if name.startswith("trn"):
            Queue.trainium("work", instance_type=name, max_count=1)
        elif facts is not None and facts.accelerator == "gpu":
            Queue.gpu("work", instance_type=name, max_count=1)
