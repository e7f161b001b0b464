"""The instance types of HyperPod, and their names in Python."""

import copy
import json
import pickle
from typing import Any

import pytest
from botocore.session import get_session

from llm_fleet.catalog.hyperpod import InstanceType, facts_of, instances
from tools.make_instances import TARGET, document

SMALL_EFA = {
    f"ml.{family}.{size}xlarge"
    for family, sizes in {
        "g5": (8, 12, 16, 24, 48),
        "g6": (8, 12, 16, 24, 48),
        "gr6": (8,),
        "g6e": (8, 12, 16),
        "g7e": (8, 12),
        "c5n": (9, 18),
        "c6i": (32,),
        "m6i": (32,),
        "r6i": (32,),
        "m7i": (48,),
        "r7i": (48,),
        "i3en": (12, 24),
    }.items()
    for size in sizes
}
EFA_BY_HYPERPOD_CLI = dict.fromkeys(SMALL_EFA, 1) | {
    "ml.p4d.24xlarge": 4,
    "ml.p4de.24xlarge": 4,
    "ml.p5.4xlarge": 1,
    "ml.p5.48xlarge": 32,
    "ml.p5e.48xlarge": 32,
    "ml.p5en.48xlarge": 16,
    "ml.p6-b200.48xlarge": 8,
    "ml.p6-b300.48xlarge": 16,
    "ml.trn1.32xlarge": 8,
    "ml.trn1n.32xlarge": 16,
    "ml.trn2.3xlarge": 1,
    "ml.trn2.48xlarge": 16,
    "ml.g6e.24xlarge": 2,
    "ml.g6e.48xlarge": 4,
    "ml.g7e.24xlarge": 2,
    "ml.g7e.48xlarge": 4,
    "ml.m5.xlarge": 0,
    "ml.c5n.4xlarge": 0,
    "ml.g5.4xlarge": 0,
}
"""Counts of the table in aws/sagemaker-hyperpod-cli (src/sagemaker/hyperpod/training/constants.py, 2026-06)."""


def test_names_are_those_of_the_service() -> None:
    shape: Any = get_session().get_service_model("sagemaker").shape_for("ClusterInstanceType")
    service, catalog = set(shape.enum), set(instances())
    assert service - catalog == set(), "the catalog lacks types of HyperPod: run tools/make_instances.py"
    assert catalog - service == set(), "the catalog has types that HyperPod does not offer"
    assert len(catalog) == 209


def test_the_data_file_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == document(), "run `python -m tools.make_instances`"


@pytest.mark.parametrize(("name", "efa"), sorted(EFA_BY_HYPERPOD_CLI.items()))
def test_efa_interfaces_agree_with_hyperpods_own_cli(name: str, efa: int) -> None:
    assert instances()[name].efa_interfaces == efa


@pytest.mark.parametrize(
    ("name", "cards"),
    [
        ("ml.p4d.24xlarge", 4),
        ("ml.p5.48xlarge", 32),
        ("ml.p5en.48xlarge", 16),
        ("ml.p6-b200.48xlarge", 8),
        ("ml.trn1.32xlarge", 8),
        ("ml.trn1n.32xlarge", 16),
        ("ml.trn2.48xlarge", 16),
        ("ml.m5.xlarge", 1),
    ],
)
def test_network_cards_are_those_of_ec2(name: str, cards: int) -> None:
    assert instances()[name].network_cards == cards


@pytest.mark.parametrize(
    ("name", "kind", "number"),
    [
        ("ml.trn1.32xlarge", "neuron", 16),
        ("ml.trn2.3xlarge", "neuron", 1),
        ("ml.p5.48xlarge", "gpu", 8),
        ("ml.g5.12xlarge", "gpu", 4),
        ("ml.m5.xlarge", None, 0),
    ],
)
def test_accelerators_are_those_of_ec2(name: str, kind: str | None, number: int) -> None:
    assert (instances()[name].accelerator, instances()[name].accelerators) == (kind, number)


def test_facts_of_the_launch_posts_types() -> None:
    controller, worker = instances()["ml.m5.xlarge"], instances()["ml.trn1.32xlarge"]
    assert (controller.vcpus, controller.memory_gib, controller.threads_per_core) == (4, 16, 2)
    assert (worker.vcpus, worker.memory_gib, worker.architecture) == (128, 512, "x86_64")


def test_unknown_facts_stay_unknown() -> None:
    ultra = instances()["ml.p6e-gb200.36xlarge"]
    assert (ultra.architecture, ultra.accelerators) == ("arm64", 4)
    assert ultra.efa_interfaces is None
    assert ultra.network_cards is None


def test_facts_are_plausible() -> None:
    for instance in instances().values():
        assert bool(instance.accelerator) == bool(instance.accelerators), instance
        assert instance.network_cards is None or instance.network_cards >= max(1, instance.efa_interfaces or 0), (
            instance
        )
        assert instance.threads_per_core in (1, 2), instance
        assert instance.architecture == "x86_64" or instance.threads_per_core == 1, instance


def test_families_and_sizes_are_listed() -> None:
    families = {instance.family for instance in instances().values()}
    assert {"trn1", "trn1n", "trn2", "p6-b200", "p6e-gb200", "m5"} <= families
    assert not {"inf1", "inf2"} & families


CONSTANTS = [name for name in vars(InstanceType) if name.isupper()]
NEW = InstanceType.of("ml.trn9.48xlarge", network_cards=32, accelerator="neuron", accelerators=64, efa_interfaces=32)


def test_each_constant_is_an_instance_type_of_the_catalog_with_its_facts() -> None:
    assert len(CONSTANTS) == 13
    for constant in CONSTANTS:
        value = getattr(InstanceType, constant)
        assert isinstance(value, InstanceType)
        assert value.facts == instances()[value]
    assert InstanceType.P6_B200_48XLARGE == "ml.p6-b200.48xlarge"


def test_an_instance_type_is_a_string() -> None:
    assert json.dumps({"type": InstanceType.TRN1_32XLARGE}) == '{"type": "ml.trn1.32xlarge"}'
    assert "ml.trn1.32xlarge" in {InstanceType.TRN1_32XLARGE}


def test_facts_passed_to_of_are_kept() -> None:
    facts = facts_of(NEW)
    assert facts is not None
    assert (facts.name, facts.network_cards, facts.efa_interfaces, facts.accelerators) == (NEW, 32, 32, 64)
    assert facts.vcpus is None


def test_facts_passed_to_of_replace_those_of_the_catalog() -> None:
    instance_type = InstanceType.of("ml.p6e-gb200.36xlarge", network_cards=17, architecture="arm64")
    facts = facts_of(instance_type)
    assert facts is not None
    assert facts.network_cards == 17
    assert instances()["ml.p6e-gb200.36xlarge"].network_cards is None


def test_facts_survive_copies() -> None:
    for twin in (copy.copy(NEW), copy.deepcopy(NEW), pickle.loads(pickle.dumps(NEW))):
        assert twin == NEW
        assert facts_of(twin) == facts_of(NEW)


def test_facts_of_a_plain_string_are_those_of_the_catalog() -> None:
    assert facts_of("ml.m5.xlarge") == instances()["ml.m5.xlarge"]
    assert facts_of("ml.trn9.48xlarge") is None
    assert facts_of(InstanceType("ml.trn9.48xlarge")) is None


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("trn9.48xlarge", {"network_cards": 1}),
        ("ml.trn9.48xlarge", {"network_cards": 0}),
        ("ml.trn9.48xlarge", {"network_cards": 1, "efa_interfaces": -1}),
        ("ml.trn9.48xlarge", {"network_cards": 1, "accelerator": "neuron"}),
        ("ml.trn9.48xlarge", {"network_cards": 1, "accelerators": 4}),
    ],
)
def test_of_rejects_impossible_facts(name: str, facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"trn9\.48xlarge"):
        InstanceType.of(name, **facts)
