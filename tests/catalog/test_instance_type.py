import copy
import json
import pickle
from typing import Any

import pytest

from llm_fleet.catalog.instance_type import InstanceType, facts_of
from llm_fleet.catalog.instances import instances

CONSTANTS = [name for name in vars(InstanceType) if name.isupper()]
NEW = InstanceType.of("ml.trn9.48xlarge", network_cards=32, accelerator="neuron", accelerators=64, efa_interfaces=32)


def test_constants_are_in_the_catalog_and_have_their_facts() -> None:
    assert len(CONSTANTS) == 13
    for constant in CONSTANTS:
        value = getattr(InstanceType, constant)
        assert isinstance(value, InstanceType)
        assert value.facts == instances()[value]
    assert InstanceType.P6_B200_48XLARGE == "ml.p6-b200.48xlarge"


def test_it_is_a_plain_string() -> None:
    assert json.dumps({"type": InstanceType.TRN1_32XLARGE}) == '{"type": "ml.trn1.32xlarge"}'
    assert "ml.trn1.32xlarge" in {InstanceType.TRN1_32XLARGE}


def test_of_carries_what_it_was_told() -> None:
    facts = facts_of(NEW)
    assert facts is not None
    assert (facts.name, facts.network_cards, facts.efa_interfaces, facts.accelerators) == (NEW, 32, 32, 64)
    assert facts.vcpus is None


def test_of_replaces_the_catalogs_facts() -> None:
    told = InstanceType.of("ml.p6e-gb200.36xlarge", network_cards=17, architecture="arm64")
    facts = facts_of(told)
    assert facts is not None
    assert facts.network_cards == 17
    assert instances()["ml.p6e-gb200.36xlarge"].network_cards is None


def test_facts_survive_copies() -> None:
    for twin in (copy.copy(NEW), copy.deepcopy(NEW), pickle.loads(pickle.dumps(NEW))):
        assert twin == NEW
        assert facts_of(twin) == facts_of(NEW)


def test_facts_of_a_string() -> None:
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
def test_of_refuses_what_cannot_be(name: str, facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"trn9\.48xlarge"):
        InstanceType.of(name, **facts)
