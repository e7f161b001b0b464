"""What a service synthesizes passes every checker that a careful user would run."""

import aws_cdk as cdk
import pytest

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
from llm_fleet.spec.network import ExistingNetworkSpec
from llm_fleet.spec.service import Capacity
from tests.clean import all_findings
from tests.inference.service.conftest import CERTIFICATE, TOKEN_SECRET, ZONES


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """Two services with most of what there is, on hosts of either kind, in a VPC that exists already."""
    network = FleetNetwork.from_ids(
        stack,
        "Network",
        ExistingNetworkSpec(
            vpc_id="vpc-0123456789abcdef0",
            subnets=dict(zip(ZONES, ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"], strict=True)),
            public_subnets=dict(zip(ZONES, ["subnet-0123456789abcdef2", "subnet-0123456789abcdef3"], strict=True)),
            private_subnets=dict(zip(ZONES, ["subnet-0123456789abcdef4", "subnet-0123456789abcdef5"], strict=True)),
            vpc_cidrs=["10.0.0.0/16"],
        ),
    )
    InferenceService(
        stack,
        "Chat",
        ServiceSpec(
            model=Model(s3_uri="s3://my-models/tanuki-8b"),
            instance_type="inf2.24xlarge",
            minimum=1,
            maximum=4,
            front=Front(certificate_arn=CERTIFICATE, public=True, allowed_cidrs=("203.0.113.0/24",)),
            execute_command=True,
            alarms=Alarms(topic_arn=AlarmTopic(stack, "Calls").topic_arn),
            replace_sick_hosts=True,
        ),
        network=network,
        encryption_key=FleetKey(stack, "Key"),
    ).add_outputs()
    InferenceService(
        stack,
        "Managed",
        ServiceSpec(
            model=Model(hub_id="meta-llama/Llama-3.1-8B-Instruct", token_secret_arn=TOKEN_SECRET),
            server=HuggingFaceVllmServer(),
            instance_type="inf2.24xlarge",
            hosts=Hosts(capacity=Capacity.MANAGED_INSTANCES),
            front=Front(plain_http=True, authentication=Authentication.NONE),
        ),
        network=network,
    )
    return stack


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack) -> None:
    assert all_findings(app) == []
