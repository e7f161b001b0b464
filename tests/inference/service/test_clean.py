"""What a service synthesizes passes every checker that a careful user would run."""

from typing import Any

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
from tests.clean import Finder, every_checker
from tests.inference.service.conftest import CERTIFICATE, TOKEN_SECRET, ZONES


@pytest.fixture
def everything(stack: cdk.Stack) -> cdk.Stack:
    """Two services with most of what there is, on hosts of either kind."""
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES)
    key: Any = FleetKey(stack, "Key")
    topic: Any = AlarmTopic(stack, "Calls")
    InferenceService(
        stack,
        "Chat",
        network=network,
        model=Model.from_s3("s3://my-models/tanuki-8b"),
        hosts=Ec2Hosts(instance_type="inf2.24xlarge"),
        scaling=Scaling(minimum=1, maximum=4),
        front=Front(certificate_arn=CERTIFICATE, public=True, allowed_cidrs=("203.0.113.0/24",)),
        encryption_key=key,
        execute_command=True,
        alarm_topic=topic,
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


@every_checker
def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack, finder: Finder) -> None:
    assert finder(app) == []
