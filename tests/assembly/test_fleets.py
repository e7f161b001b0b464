"""The fleets of `fleets.yaml`: what their stacks make together is legal, and can be deleted again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.check.security_groups import new_rules
from llm_fleet.config.load import parse_fleet
from tests.assembly.assembly import Assembly
from tests.assembly.checks import EVERY_CHECK, consumers_skipped, replaced
from tests.assembly.fleets import names, synthesize, text_of


def test_there_are_thirty() -> None:
    assert len(names()) >= 30


@pytest.mark.parametrize("name", names())
def test_the_stacks_of_a_fleet_fit_together(name: str, tmp_path: Path) -> None:
    text = text_of(name)
    assembly = synthesize(text, tmp_path)
    assert {check.__name__: found for check in EVERY_CHECK if (found := check(assembly))} == {}
    asked = {(rule.group_id, rule.peer_id, rule.protocol, rule.ports) for rule in new_rules(parse_fleet(text))}
    assert asked == set(_rules_between_existing_groups(assembly)), "what `llm-fleet check` asks EC2 for"


def _rules_between_existing_groups(assembly: Assembly) -> Iterator[tuple[str, str, str, tuple[int, int] | None]]:
    for rule in assembly.resources:
        told = rule.properties
        group, peer = told.get("GroupId"), told.get("SourceSecurityGroupId")
        if rule.type == "AWS::EC2::SecurityGroupIngress" and isinstance(group, str) and isinstance(peer, str):
            ports = (told["FromPort"], told["ToPort"]) if "FromPort" in told else None
            yield group, peer, told["IpProtocol"], ports


KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"network": {"cidr": "10.8.0.0/16"}}, "monitored-network.Network1C6012B5"),
        ({"storage": {"fsx": {"key": KEY}}}, "monitored-storage.Lustre"),
        ({"storage": {"home": {"key": KEY}}}, "monitored-storage.Home"),
        ({"storage": {"slurm_database": {"key": KEY}}}, "monitored-database.Database"),
    ],
    ids=["cidr", "key of Lustre", "key of the home directories", "key of the database"],
)
def test_no_stack_goes_on_with_what_a_change_replaces(change: dict[str, Any], gone: str, tmp_path: Path) -> None:
    before = synthesize(text_of("monitored"), tmp_path / "before")
    after = synthesize(text_of("monitored", change), tmp_path / "after")
    assert any(place.startswith(gone) for place in replaced(before, after))
    assert consumers_skipped(before, after) == []
