"""The instances of the examples, and their facts."""

import gzip
import json
from importlib.resources import files

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import efa_gbps
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.needs.machines import Machines, MachineService, facts_of_machines, machines_of
from tools.synth_environment import ROOT


def machines(instance_type: str) -> Machines:
    return Machines(
        owner="x", path=(), service=MachineService.HYPERPOD, instance_type=instance_type, count=1, minimum=1
    )


def test_facts_of_a_trn1_node():
    facts = facts_of_machines(machines("ml.trn1.32xlarge"))
    assert facts is not None
    assert (facts.vcpus, facts.accelerators, facts.accelerator_gib) == (128, 16, 512)
    assert (facts.efa_interfaces, facts.efa_gbps) == (8, 800)


def test_facts_of_nodes_with_and_without_gpus():
    p5 = facts_of_machines(machines("ml.p5.48xlarge"))
    assert p5 is not None
    assert (p5.accelerators, p5.accelerator_gib, p5.efa_gbps) == (8, 640, 3200)
    m5 = facts_of_machines(machines("ml.m5.xlarge"))
    assert m5 is not None
    assert (m5.accelerators, m5.accelerator_gib, m5.efa_gbps) == (0, None, None)


def test_a_type_that_the_catalog_does_not_have_is_unknown():
    assert facts_of_machines(machines("ml.trn9.xlarge")) is None


def test_bandwidths_are_those_of_ec2():
    with gzip.open(str(files("moto.ec2").joinpath("resources", "instance_types.json.gz"))) as file:
        types = json.load(file)
    bandwidths = {
        name: sum(
            card["PeakBandwidthInGbps"]
            for card in one["NetworkInfo"]["NetworkCards"]
            if "efa" in card["InterfaceTypes"]
        )
        for name, one in types.items()
        if one["NetworkInfo"].get("EfaSupported")
    }
    assert load("efa_bandwidth")["efa_gbps"] == bandwidths
    assert efa_gbps("m5.xlarge") is None


BY_HAND = {
    "hyperpod-trn1": [
        ("ml-cluster/controller-group", "hyperpod", "ml.m5.xlarge", 1, 1),
        ("ml-cluster/worker-group", "hyperpod", "ml.trn1.32xlarge", 4, 4),
    ],
    "hyperpod-full": [
        ("train/controller", "hyperpod", "ml.m5.4xlarge", 1, 1),
        ("train/login", "hyperpod", "ml.m5.xlarge", 2, 2),
        ("train/trn1", "hyperpod", "ml.trn1.32xlarge", 16, 16),
        ("train/flexible", "hyperpod", "ml.g6.12xlarge", 8, 8),
        ("train/legacy", "hyperpod", "ml.c5.4xlarge", 0, 0),
        ("small/controller", "hyperpod", "ml.m5.xlarge", 1, 1),
        ("told/controller", "hyperpod", "ml.m5.xlarge", 1, 1),  # codespell:ignore told
        ("told/trn1", "hyperpod", "ml.trn1.32xlarge", 4, 4),  # codespell:ignore told
    ],
    "parallelcluster-full": [
        ("train/head", "parallelcluster", "c5.4xlarge", 1, 1),
        ("train/people", "parallelcluster", "m5.xlarge", 2, 2),
        ("train/trn1", "parallelcluster", "trn1.32xlarge", 2, 8),
        ("train/gpu/p5", "parallelcluster", "p5.48xlarge", 0, 4),
        ("train/block", "parallelcluster", "p5.48xlarge", 4, 4),
        ("train/prepare", "parallelcluster", "c6i.8xlarge", 0, 20),
        ("train/spot/m5", "parallelcluster", "m5.8xlarge", 0, 10),
        ("small/head", "parallelcluster", "m5.xlarge", 1, 1),
        ("small/cpu", "parallelcluster", "c6i.8xlarge", 0, 20),
    ],
    "inference-full": [
        ("service chat", "ecs", "inf2.8xlarge", 2, 6),
        ("service code", "ecs", "inf2.xlarge", 2, 4),
        ("service draft", "ecs", "inf2.xlarge", 2, 2),
    ],
    "sagemaker-full": [
        ("train/controller", "hyperpod", "ml.c5.xlarge", 1, 1),
        ("train/workers", "hyperpod", "ml.g5.8xlarge", 1, 1),
        ("endpoint chat", "endpoint", "ml.g5.12xlarge", 2, 6),
        ("endpoint neuron", "endpoint", "ml.inf2.8xlarge", 1, 3),
        ("endpoint moods", "endpoint", "ml.m7i.xlarge", 1, 1),
        ("endpoint own", "endpoint", "ml.g6.xlarge", 1, 1),
        ("training job pretrain", "training-job", "ml.g5.12xlarge", 0, 2),
        ("training job tune", "training-job", "ml.g5.xlarge", 0, 1),
        ("notebook desk", "notebook", "ml.g5.xlarge", 0, 1),
        ("notebook outside", "notebook", "ml.t3.medium", 0, 1),
        ("studio", "studio", "ml.t3.medium", 0, 2),
    ],
}


@pytest.mark.parametrize("example", BY_HAND)
def test_machines_are_those_of_the_file(example: str):
    found = machines_of(load_fleet(ROOT / "examples" / f"{example}.yaml"))
    assert [(m.owner, str(m.service), m.instance_type, m.minimum, m.count) for m in found] == BY_HAND[example]


def test_capacity_and_ids_of_reservations():
    pools = {m.owner: m for m in machines_of(load_fleet(ROOT / "examples" / "parallelcluster-full.yaml"))}
    assert (str(pools["train/gpu/p5"].capacity), pools["train/gpu/p5"].capacity_id) == (
        "reservation",
        "cr-0123456789abcdef0",
    )
    assert (str(pools["train/block"].capacity), pools["train/block"].capacity_id) == (
        "capacity-block",
        "cr-0123456789abcdef1",
    )
    assert str(pools["train/prepare"].capacity) == "spot"
    assert pools["train/prepare"].availability_zone_ids == ()  # in its own subnets
    (planned,) = [m for m in machines_of(load_fleet(ROOT / "examples" / "hyperpod-full.yaml")) if m.capacity_id]
    assert planned.owner == "train/trn1"
    assert planned.capacity_id == "arn:aws:sagemaker:us-west-2:111122223333:training-plan/my-plan"
    assert planned.path == ("clusters", "train", "groups", "trn1")
