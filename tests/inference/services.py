"""Services synthesized once for all tests that read their templates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from llm_fleet import (
    Alarms,
    AlarmTopic,
    Authentication,
    FleetKey,
    FleetNetwork,
    Front,
    Hosts,
    HuggingFaceVllmServer,
    InferenceService,
    Model,
    ServiceSpec,
)
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from llm_fleet.spec.service import Capacity
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

ZONES = ["usw2-az1", "usw2-az4"]
TOKEN_SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-token-AbCdEf"
CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"

EXISTING = ExistingNetworkSpec(
    vpc="vpc-0123456789abcdef0",
    subnets=dict(zip(ZONES, ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"], strict=True)),
    public_subnets=dict(zip(ZONES, ["subnet-0123456789abcdef2", "subnet-0123456789abcdef3"], strict=True)),
    private_subnets=dict(zip(ZONES, ["subnet-0123456789abcdef4", "subnet-0123456789abcdef5"], strict=True)),
    vpc_cidrs=["10.0.0.0/16"],
)
"""An existing VPC, with far fewer constructs than a new one."""

Body = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A service with its template."""

    construct: InferenceService

    @cached_property
    def template(self) -> Body:
        return dict(Template.from_stack(cdk.Stack.of(self.construct)).to_json())

    def of_type(self, type: str) -> dict[str, Body]:
        """Resources of `type`, by logical id."""
        return {name: body for name, body in self.template["Resources"].items() if body["Type"] == type}

    def only(self, type: str, having: str = "") -> Body:
        """The only resource of `type` whose logical id contains `having`."""
        (body,) = [body for name, body in self.of_type(type).items() if having in name]
        return body

    @property
    def task(self) -> Body:
        return self.only("AWS::ECS::TaskDefinition", "ChatTask")["Properties"]

    @property
    def containers(self) -> dict[str, Body]:
        return {container["Name"]: container for container in self.task["ContainerDefinitions"]}

    @property
    def service(self) -> Body:
        (body,) = [body for body in self.of_type("AWS::ECS::Service").values() if "LoadBalancers" in body["Properties"]]
        return body

    def statements(self, role: str) -> dict[str, Body]:
        """Statements of a role of the task by their ids, from its managed policy."""
        policy = self.only("AWS::IAM::ManagedPolicy", f"ChatTask{role}Policy")
        return {each["Sid"]: each for each in policy["Properties"]["PolicyDocument"]["Statement"]}


def _network(paths: pytest.TempPathFactory, name: str) -> FleetNetwork:
    """Return a network in a stack of a new app: no stack can be added to an app after synthesis."""
    app = cdk.App(context=cdk_context(), outdir=str(paths.mktemp(name) / "cdk.out"))
    return FleetNetwork(cdk.Stack(app, name, env=ENVIRONMENT), "Network", NetworkSpec(availability_zone_ids=ZONES))


@pytest.fixture(scope="session")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The service of the talk: two inf2.xlarge, TGI, a model in S3."""
    network = _network(tmp_path_factory, "Talk")
    return Served(
        InferenceService(
            cdk.Stack.of(network),
            "Chat",
            ServiceSpec(
                name="chat",
                model=Model(s3_uri="s3://my-models/tanuki-8b"),
                instance_type="inf2.xlarge",
                front=Front(plain_http=True),
            ),
            network=network,
        )
    )


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A service with a gated model of the Hub, a KMS key, shells, scaling, and alarms with recipients."""
    network = _network(tmp_path_factory, "Hub")
    stack = cdk.Stack.of(network)
    key: kms.IKey = FleetKey(stack, "Key")
    service = InferenceService(
        stack,
        "Chat",
        ServiceSpec(
            model=Model(
                hub_id="meta-llama/Llama-3.1-8B-Instruct",
                token_secret_arn=TOKEN_SECRET,
                served_name="llama",
                revision="abc123",
            ),
            server=HuggingFaceVllmServer(),
            instance_type="inf2.24xlarge",
            minimum=2,
            maximum=6,
            front=Front(certificate_arn=CERTIFICATE, public=True, allowed_cidrs=("203.0.113.0/24",)),
            execute_command=True,
            alarms=Alarms(topic_arn=AlarmTopic(stack, "Topic").topic_arn),
            health_check_grace_seconds=7200,
            log_retention_days=90,
        ),
        network=network,
        encryption_key=key,
    )
    service.add_outputs()
    return Served(service)


@pytest.fixture(scope="session")
def managed(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A service on ECS Managed Instances; one task, without an API key, private."""
    network = _network(tmp_path_factory, "Managed")
    return Served(
        InferenceService(
            cdk.Stack.of(network),
            "Chat",
            ServiceSpec(
                model=Model(hub_id="meta-llama/Llama-3.1-8B-Instruct"),
                server=HuggingFaceVllmServer(),
                instance_type="inf2.24xlarge",
                hosts=Hosts(capacity=Capacity.MANAGED_INSTANCES),
                desired=1,
                front=Front(plain_http=True, authentication=Authentication.NONE),
            ),
            network=network,
        )
    )


MakeService = Callable[..., InferenceService]


@pytest.fixture
def make(stack: cdk.Stack) -> MakeService:
    """Create the talk's service with any argument replaced. Default: in an existing network with two AZs."""

    def make_service(id: str = "Chat", **options: Any) -> InferenceService:
        good: dict[str, Any] = {
            "model": Model(s3_uri="s3://my-models/tanuki-8b"),
            "instance_type": "inf2.xlarge",
            "front": Front(plain_http=True),
        }
        if "network" not in options:
            options["network"] = FleetNetwork.from_attributes(stack, "Network", EXISTING)
        next_to = {name: options.pop(name) for name in ("network", "encryption_key") if name in options}
        return InferenceService(stack, id, ServiceSpec(**{**good, **options}), **next_to)

    return make_service
