"""What a service synthesizes passes every checker that a careful user would run."""

import aws_cdk as cdk
import pytest

from llm_fleet import (
    AlarmTopic,
    Authentication,
    Ec2Hosts,
    FleetKey,
    FleetNetwork,
    Front,
    InferenceService,
    ManagedHosts,
    Model,
    ModelServer,
    Scaling,
)
from tests.clean import all_findings
from tests.inference.service.conftest import CERTIFICATE, TOKEN_SECRET, ZONES


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """Two services with most of what there is, on hosts of either kind, in a VPC that exists already."""
    network = FleetNetwork.from_ids(
        stack,
        "Network",
        vpc_id="vpc-0123456789abcdef0",
        subnets=dict(zip(ZONES, ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"], strict=True)),
        public_subnets=dict(zip(ZONES, ["subnet-0123456789abcdef2", "subnet-0123456789abcdef3"], strict=True)),
        private_subnets=dict(zip(ZONES, ["subnet-0123456789abcdef4", "subnet-0123456789abcdef5"], strict=True)),
        vpc_cidrs=["10.0.0.0/16"],
    )
    InferenceService(
        stack,
        "Chat",
        network=network,
        model=Model.from_s3("s3://my-models/tanuki-8b"),
        hosts=Ec2Hosts(instance_type="inf2.24xlarge"),
        scaling=Scaling(minimum=1, maximum=4),
        front=Front(certificate_arn=CERTIFICATE, public=True, allowed_cidrs=("203.0.113.0/24",)),
        encryption_key=FleetKey(stack, "Key"),
        execute_command=True,
        alarm_topic=AlarmTopic(stack, "Calls"),
        replace_sick_hosts=True,
    ).add_outputs()
    InferenceService(
        stack,
        "Managed",
        network=network,
        model=Model.from_hub("meta-llama/Llama-3.1-8B-Instruct", token_secret_arn=TOKEN_SECRET),
        server=ModelServer.hugging_face_vllm(),
        hosts=ManagedHosts(instance_type="inf2.24xlarge"),
        front=Front(plain_http=True, authentication=Authentication.NONE),
    )
    return stack


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack) -> None:
    assert all_findings(app) == []
