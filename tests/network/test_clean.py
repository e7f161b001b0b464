"""Every kind of network passes every checker that a careful user would run."""

import json
from collections.abc import Callable

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks
from cfnlint.api import ManualArgs, lint
from cloudformation_validate import RegoEngine, Severity

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.storage.fleet_key import FleetKey
from tests.conftest import ENVIRONMENT
from tests.network.looking import TWO_ZONES

KINDS: dict[str, Callable[[cdk.Stack], object]] = {
    "OneAz": lambda stack: FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"]),
    "TwoAzsOwnKey": lambda stack: FleetNetwork(
        stack, "Network", availability_zone_ids=TWO_ZONES, encryption_key=FleetKey(stack, "Key", alias="alias/fleet")
    ),
    "SharedNat": lambda stack: FleetNetwork(
        stack, "Network", availability_zone_ids=TWO_ZONES, internet=InternetAccess.SHARED_NAT
    ),
    "Closed": lambda stack: FleetNetwork(
        stack,
        "Network",
        availability_zone_ids=TWO_ZONES,
        internet=InternetAccess.NONE,
        endpoint_features=list(EndpointFeature),
    ),
    "Existing": lambda stack: FleetNetwork.from_ids(
        stack,
        "Network",
        vpc_id="vpc-0123456789abcdef0",
        subnets={"usw2-az4": "subnet-0123456789abcdef0"},
    ),
}


@pytest.fixture
def networks(app: cdk.App) -> list[str]:
    """Names of stacks with a network of each kind, in one app: checkers take their time to start."""
    for name, make in KINDS.items():
        make(cdk.Stack(app, name, env=ENVIRONMENT))
    return list(KINDS)


def check_with_nag(app: cdk.App) -> None:
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
    app.synth()


def test_cdk_nag_and_the_cdks_own_validator_find_nothing(app: cdk.App, networks: list[str]):
    cdk.Validations.of(app).add_plugins(cdk.CloudFormationValidatePlugin())
    check_with_nag(app)


def test_cdk_nag_would_have_found_something(app: cdk.App, stack: cdk.Stack):
    ec2.CfnVPC(stack, "Careless", cidr_block="10.0.0.0/16")
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        check_with_nag(app)


def test_cfn_lint_and_cloudformation_validate_find_nothing(app: cdk.App, networks: list[str]):
    assembly = app.synth()
    for name in networks:
        made = assembly.get_stack_by_name(name)
        assert lint(json.dumps(made.template), config=ManualArgs(regions=["us-west-2"])) == []
        found = RegoEngine().validate_template(made.template_full_path).diagnostics  # pyright: ignore[reportUnknownMemberType]
        assert [f"{d.rule_id} {d.message}" for d in found if d.severity is not Severity.INFO] == []
