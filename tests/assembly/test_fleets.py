"""The fleets of `fleets.yaml`: their stacks are consistent, and can be deleted again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_fleet.cli.check.network import new_rules
from llm_fleet.fleet_file.load import parse_fleet
from tests.assembly.assembly import Assembly
from tests.assembly.checks import EVERY_CHECK
from tests.assembly.fleets import names, synthesize, text_of


def test_the_table_has_thirty_fleets() -> None:
    assert len(names()) >= 30


@pytest.mark.parametrize("name", names())
def test_the_stacks_of_a_fleet_are_consistent(name: str, tmp_path: Path) -> None:
    text = text_of(name)
    assembly = synthesize(text, tmp_path)
    assert {check.__name__: found for check in EVERY_CHECK if (found := check(assembly))} == {}
    rules = new_rules(parse_fleet(text))
    queried = {(rule.side, rule.group_id, rule.peer_id, rule.protocol, rule.ports) for rule in rules}
    assert queried == set(_rules_between_existing_groups(assembly)), "what `llm-fleet check` asks EC2 for"


def _rules_between_existing_groups(assembly: Assembly) -> Iterator[tuple[str, str, str, str, tuple[int, int] | None]]:
    peers = ("SourceSecurityGroupId", "DestinationSecurityGroupId", "CidrIp")
    for rule in assembly.resources:
        side = rule.type.removeprefix("AWS::EC2::SecurityGroup").lower()
        properties = rule.properties
        group, peer = properties.get("GroupId"), next((properties[key] for key in peers if key in properties), None)
        if side in ("ingress", "egress") and isinstance(group, str) and isinstance(peer, str):
            ports = (properties["FromPort"], properties["ToPort"]) if "FromPort" in properties else None
            yield side, group, peer, properties["IpProtocol"], ports
