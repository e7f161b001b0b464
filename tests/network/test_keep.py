"""What stays when the stack goes."""

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork


def kept(template: Template) -> set[str]:
    """Logical ids, without their hashes, of what is retained on deletion and on replacement."""
    resources = template.to_json()["Resources"]
    return {
        name[:-8]
        for name, resource in resources.items()
        if (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")) == ("RetainExceptOnCreate", "Retain")
    }


def test_only_the_audit_trail_is_kept_by_default(stack: cdk.Stack):
    FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"])
    assert kept(Template.from_stack(stack)) == {"NetworkFlowLogsLogGroup"}


def test_keep_keeps_what_a_file_system_stands_in_however_often_it_is_called(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4", "usw2-az1"])
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
