"""Load balancers in one network and one template, because synthesis takes most of the time."""

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.service import Authentication, ClaimFormat, Front, Jwt, JwtClaim
from llm_fleet.storage.buckets import FleetKey
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/0f8e5c62-3a3e-4d6f-9f57-3f2c6c1f0d11"
FRONTS: dict[str, Front] = {
    "Plain": Front(plain_http=True),
    "Secure": Front(
        certificate_arn=CERTIFICATE,
        domain_name="chat.example.com",
        longest_answer_seconds=1800,
    ),
    "Tokens": Front(
        certificate_arn=CERTIFICATE,
        public=True,
        allowed_cidrs=("0.0.0.0/0", "203.0.113.0/24"),
        authentication=Authentication.JWT,
        jwt=Jwt(
            issuer="https://issuer.example.com",
            jwks_endpoint="https://issuer.example.com/jwks.json",
            claims=(JwtClaim(name="aud", values=("chat",), format=ClaimFormat.STRING_ARRAY),),
        ),
        requests_per_five_minutes=500,
    ),
    "Open": Front(plain_http=True, authentication=Authentication.NONE, longest_answer_seconds=20),
}


def fronts_in(stack: cdk.Stack) -> dict[str, LoadBalancerFront]:
    """Create each of `FRONTS` in `stack`, one of them with an API key."""
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], load_balancer_zone_ids=["usw2-az1"])
    )
    key = FleetKey(stack, "Key")
    made = {
        name: LoadBalancerFront(
            stack,
            name,
            network=network,
            front=front,
            server=ServerKind.TGI,
            served_name="tanuki",
            target_port=8080,
            service_name=name.lower(),
            encryption_key=key if name == "Plain" else None,
        )
        for name, front in FRONTS.items()
    }
    tasks = ec2.SecurityGroup(stack, "Tasks", vpc=network.vpc, description="tasks", allow_all_outbound=False)
    made["Plain"].allow_targets(tasks)
    return made


class Fronts:
    """The synthesized load balancers by name."""

    def __init__(self) -> None:
        self.stack = cdk.Stack(cdk.App(context=cdk_context()), "Test", env=ENVIRONMENT)
        self.made = fronts_in(self.stack)
        self.resources: dict[str, Any] = Template.from_stack(self.stack).to_json()["Resources"]

    def all(self, front: str, type: str) -> list[Mapping[str, Any]]:
        """Properties of the resources of a type in a front."""
        return [
            resource["Properties"]
            for name, resource in self.resources.items()
            if name.startswith(front) and resource["Type"].endswith(f"::{type}")
        ]

    def only(self, front: str, type: str) -> Mapping[str, Any]:
        """Properties of the only resource of a type in a front."""
        (found,) = self.all(front, type)
        return found

    def id_of(self, front: str, type: str) -> str:
        """The logical id of the only resource of a type in a front."""
        (name,) = (
            name
            for name, resource in self.resources.items()
            if name.startswith(front) and resource["Type"].endswith(f"::{type}")
        )
        return name


@pytest.fixture(scope="package")
def fronts() -> Fronts:
    return Fronts()


@pytest.fixture
def all_fronts(stack: cdk.Stack) -> cdk.Stack:
    fronts_in(stack)
    return stack
