"""What a machine brings along, against numbers from AWS's own pages of the types."""

import gzip
import json
from importlib.resources import files

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import efa_gbps
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.machine_facts import facts_of_machines
from llm_fleet.needs.terms import MachineService


def machines(instance_type: str) -> Machines:
    return Machines(
        owner="x", path=(), service=MachineService.HYPERPOD, instance_type=instance_type, count=1, minimum=1
    )


def test_a_trn1_node():
    facts = facts_of_machines(machines("ml.trn1.32xlarge"))
    assert facts is not None
    assert (facts.vcpus, facts.accelerators, facts.accelerator_gib) == (128, 16, 512)
    assert (facts.efa_interfaces, facts.efa_gbps) == (8, 800)


def test_a_node_with_gpus_and_one_without():
    p5 = facts_of_machines(machines("ml.p5.48xlarge"))
    assert p5 is not None
    assert (p5.accelerators, p5.accelerator_gib, p5.efa_gbps) == (8, 640, 3200)
    m5 = facts_of_machines(machines("ml.m5.xlarge"))
    assert m5 is not None
    assert (m5.accelerators, m5.accelerator_gib, m5.efa_gbps) == (0, None, None)


def test_a_type_that_the_catalog_does_not_have():
    assert facts_of_machines(machines("ml.trn9.xlarge")) is None


def test_bandwidths_are_those_that_ec2_tells():
    with gzip.open(str(files("moto.ec2").joinpath("resources", "instance_types.json.gz"))) as file:
        types = json.load(file)
    told = {
        name: sum(
            card["PeakBandwidthInGbps"]
            for card in one["NetworkInfo"]["NetworkCards"]
            if "efa" in card["InterfaceTypes"]
        )
        for name, one in types.items()
        if one["NetworkInfo"].get("EfaSupported")
    }
    assert load("efa_bandwidth")["efa_gbps"] == told
    assert efa_gbps("m5.xlarge") is None
