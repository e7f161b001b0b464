"""The life cycle of every type: created, returned as requested, updated in place, deleted."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import Level
from llm_fleet_local.aws.resources.spec import type_specs
from tests.local.aws.resources.cases import CASES, Case
from tests.local.aws.resources.support import Deployer


def agrees(reported: Any, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert reported[name] == value, name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.type)
def test_life(deployer: Deployer, case: Case) -> None:
    client = deployer.client(case.service)
    if case.before:
        case.before(deployer)
    created = deployer.create(case.type, **case.properties)
    assert created.level is Level.API
    assert set(created.attributes) == set(type_specs()[case.type].attributes)
    agrees(case.reported(client, created.physical_id), case.expected)
    assert deployer.provider.exists(case.type, created.physical_id)

    now = case.properties
    if case.change:
        now = {name: value for name, value in (case.properties | case.change).items() if value is not None}
        updated = deployer.update(case.type, created, case.properties, now)
        assert updated.physical_id == created.physical_id
        agrees(case.reported(client, created.physical_id), case.changed)

    deployer.delete(case.type, created, **now)
    assert not deployer.provider.exists(case.type, created.physical_id)
    deployer.delete(case.type, created, **now)  # a missing resource is no error
