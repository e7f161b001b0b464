"""Logical ids are API: a changed one replaces a resource in every user's account."""

import os

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.terms import InternetAccess
from tests.network.looking import TWO_ZONES
from tools.synth_environment import ROOT

GOLDEN = ROOT / "tests" / "network" / "golden"


@pytest.mark.parametrize("internet", list(InternetAccess))
def test_golden_logical_ids(stack: cdk.Stack, internet: InternetAccess):
    FleetNetwork(stack, "Network", availability_zone_ids=TWO_ZONES, internet=internet)
    resources = Template.from_stack(stack).to_json()["Resources"]
    listed = "".join(f"{name} {resource['Type']}\n" for name, resource in sorted(resources.items()))
    golden = GOLDEN / f"{internet.value}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(listed)
    assert golden.read_text() == listed, "logical ids have changed; if users are to bear it: run `make golden`"
