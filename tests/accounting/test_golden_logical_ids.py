"""Logical ids are API: a changed one replaces a database in every user's account."""

import os

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet import FleetNetwork, SlurmDatabase, SlurmDatabaseSpec
from tools.synth_environment import ROOT

GOLDEN = ROOT / "tests" / "accounting" / "golden" / "logical-ids.txt"


def test_golden_logical_ids(app: cdk.App, stack: cdk.Stack, fleet_network: FleetNetwork):
    own = cdk.Stack(app, "Accounting", env=cdk.Environment(account=stack.account, region=stack.region))
    SlurmDatabase(own, "Aurora", SlurmDatabaseSpec(standby=True), network=fleet_network)
    SlurmDatabase(own, "Mysql", SlurmDatabaseSpec(engine="mysql"), network=fleet_network)
    listed = "".join(
        f"{name} {resource['Type']}\n"
        for made in (own, stack)
        for name, resource in sorted(Template.from_stack(made).to_json()["Resources"].items())
        if made is own or "NetworkDatabase" in name
    )
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(listed)
    assert GOLDEN.read_text() == listed, "logical ids have changed: if this is intended, run `make golden`"
