"""Names and ids of networks that stay as they are."""

import html
import os
import re

import aws_cdk as cdk
import botocore.session
import pytest
from aws_cdk.assertions import Template
from botocore.model import StructureShape

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import rule_description
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import NetworkSpec
from tests.network.looking import TWO_ZONES
from tools.synth_environment import ROOT


def kept(template: Template) -> set[str]:
    """Logical ids, without their hashes, of what is retained on deletion and on replacement."""
    resources = template.to_json()["Resources"]
    return {
        name[:-8]
        for name, resource in resources.items()
        if (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")) == ("RetainExceptOnCreate", "Retain")
    }


def test_only_the_audit_trail_is_kept_by_default(stack: cdk.Stack):
    FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    assert kept(Template.from_stack(stack)) == {"NetworkFlowLogsLogGroup"}


def test_keep_keeps_what_a_file_system_stands_in_however_often_it_is_called(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    network.keep()
    network.keep()
    assert kept(Template.from_stack(stack)) == {
        "Network",
        "NetworkComputeCidr",
        "Networkusw2az1ComputeSubnet",
        "Networkusw2az4ComputeSubnet",
        "NetworkSecurityGroup",
        "NetworkSecurityGroupSelfIngress",
        "NetworkSecurityGroupSelfEgress",
        "NetworkFlowLogsLogGroup",
    }


def test_a_description_has_only_what_ec2_takes() -> None:
    model = botocore.session.get_session().get_service_model("ec2")
    shape = model.shape_for("UserIdGroupPair")
    assert isinstance(shape, StructureShape)
    member = str(shape.members["Description"].documentation)
    match = re.search(r"Allowed characters are a-z, A-Z, 0-9, spaces, and (\S+?)</p>", member)
    assert match
    marks = html.unescape(match[1])
    assert rule_description(f"aZ 09{marks}") == f"aZ 09{marks}"
    assert "Up to 255 characters" in member
    assert len(rule_description("x" * 300)) == 255
    assert rule_description("a cluster's & é") == "a cluster-s - -"


GOLDEN = ROOT / "tests" / "network" / "golden"


@pytest.mark.parametrize("internet", list(InternetAccess))
def test_golden_logical_ids(stack: cdk.Stack, internet: InternetAccess):
    FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=TWO_ZONES, internet=internet))
    resources = Template.from_stack(stack).to_json()["Resources"]
    listed = "".join(f"{name} {resource['Type']}\n" for name, resource in sorted(resources.items()))
    golden = GOLDEN / f"{internet.value}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(listed)
    assert golden.read_text() == listed, "logical ids have changed; if users are to bear it: run `make golden`"
