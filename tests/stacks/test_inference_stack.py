"""Stacks of services, for settings that are not in the golden templates of the examples."""

from collections.abc import Iterator
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.fleet_file.good_service import edited
from tools.synth_environment import ROOT, cdk_context

SERVERS = ROOT / "tests/data/good/inference-servers.yaml"
FULL = ROOT / "examples/inference-full.yaml"


def test_by_default_the_served_model_has_the_key_of_the_service_as_its_name():
    for model, name in (("s3://a-bucket/tanuki-8b", "chat"), ("{s3: s3://a-bucket/tanuki-8b, name: mine}", "mine")):
        fleet = parse_fleet(edited("s3://my-models/tanuki-8b", model))
        assert fleet.services["chat"].in_fleet(fleet.name, fleet.storage.buckets, {}).model.served_name == name


@pytest.fixture(scope="module")
def existing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A service in an existing network, with a model in a bucket of the fleet's own that CloudFormation names."""
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("existing")))
    stacks = FleetStacks.make(app, load_fleet(SERVERS), account="111122223333")
    assert stacks.network is None
    return dict(Template.from_stack(stacks.services["aws"]).to_json())


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each["Properties"] for each in template["Resources"].values() if each["Type"] == kind]


def test_in_an_existing_network_load_balancer_and_hosts_have_the_given_subnets(existing: dict[str, Any]):
    (balancer,) = of_type(existing, "AWS::ElasticLoadBalancingV2::LoadBalancer")
    assert balancer["Subnets"] == ["subnet-0123456789abcdef3", "subnet-0123456789abcdef4"]
    assert balancer["Scheme"] == "internet-facing"
    (hosts,) = of_type(existing, "AWS::AutoScaling::AutoScalingGroup")
    assert hosts["VPCZoneIdentifier"] == ["subnet-0123456789abcdef0"]


def test_hosts_can_use_the_key_of_a_bucket_of_the_fleet(existing: dict[str, Any]):
    allowed = [
        statement
        for policy in of_type(existing, "AWS::IAM::ManagedPolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "kms:Decrypt" in statement["Action"]
    ]
    assert any("Key961B73FD" in str(statement["Resource"]) for statement in allowed), "the storage stack's key"


def test_only_the_folder_of_the_model_can_be_read(existing: dict[str, Any]):
    reads = [statement for statement in _statements(existing) if "s3:GetObject" in statement["Action"]]
    models = [statement for statement in reads if "Bucketmodels" in str(statement["Resource"])]
    assert models
    for statement in models:
        assert "/llama-3.1-8b/*" in str(statement["Resource"])


def _statements(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for policy in of_type(template, "AWS::IAM::ManagedPolicy"):
        yield from policy["PolicyDocument"]["Statement"]
