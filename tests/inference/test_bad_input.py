"""Errors of the service construct: of single parts, and of their combination."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import (
    AwsVllmServer,
    FleetError,
    FleetNetwork,
    Front,
    InferenceService,
    InternetAccess,
    Model,
    ServiceSpec,
    SidecarImages,
)
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.codes import Code
from llm_fleet.spec.network import NetworkSpec
from tests.inference.services import ZONES, MakeService

SEVENTY = "s3://my-models/Llama-2-70b-hf"
HUB = "meta-llama/Llama-3.1-8B-Instruct"
ELSEWHERE = "arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"


# Errors in the spec itself are tested in tests/rules/inference/test_service.py.
def test_an_instance_type_that_is_a_token_is_rejected(make: MakeService):
    with pytest.raises(FleetError) as rejected:
        make(instance_type=cdk.Fn.ref("Type"))
    assert [problem.code for problem in rejected.value.problems] == [Code.HOST_WITHOUT_NEURON]


def test_all_errors_are_reported_together_and_before_any_resource_is_created(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES[:1]))
    with pytest.raises(FleetError) as rejected:
        make(
            network=network,
            name="ecs-chat",
            model=Model(s3_uri=SEVENTY),
            front=Front(certificate_arn=ELSEWHERE),
            log_retention_days=31,
            health_check_grace_seconds=0,
            neuron_health=False,
            replace_sick_hosts=True,
        )
    assert [problem.where for problem in rejected.value.problems][:1] == ["name"]
    assert {problem.code for problem in rejected.value.problems} == {
        Code.SERVICE_NAME,
        Code.MODEL_MEMORY,
        Code.FRONT_CERTIFICATE_REGION,
        Code.FRONT_ZONES,
        Code.SERVICE_LOG_DAYS,
        Code.SERVICE_GRACE,
        Code.SERVICE_SICK_HOSTS,
    }
    assert rejected.value.subject == "Test/Chat"
    assert Template.from_stack(stack).find_resources("AWS::ECS::*") == {}


def test_an_image_of_the_catalog_requires_the_region(app: cdk.App):
    stack = cdk.Stack(app, "Anywhere")
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    options: dict[str, Any] = {
        "model": Model(s3_uri="s3://my-models/tanuki-8b"),
        "instance_type": "inf2.xlarge",
        "front": Front(plain_http=True),
    }
    with pytest.raises(FleetError) as rejected:
        InferenceService(stack, "Chat", ServiceSpec(**options), network=network)
    assert [problem.code for problem in rejected.value.problems] == [Code.SERVICE_REGION]
    # An image in a public registry requires no region.
    InferenceService(stack, "Everywhere", ServiceSpec(**options, server=AwsVllmServer()), network=network)


def test_everything_that_a_closed_network_cannot_download_is_reported(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES, internet=InternetAccess.NONE))
    with pytest.raises(FleetError) as rejected:
        make(network=network, model=Model(hub_id=HUB, compiled=True), instance_type="inf2.8xlarge")
    assert [problem.where for problem in rejected.value.problems] == [
        "model.hub_id",
        "sidecar_images.collector",
        "sidecar_images.problem_detector",
    ]


def test_a_public_front_in_a_closed_network_is_one_error(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES, internet=InternetAccess.NONE))
    with pytest.raises(FleetError) as rejected:
        make(network=network, front=Front(plain_http=True, public=True, allowed_cidrs=("203.0.113.0/24",)))
    assert [problem.where for problem in rejected.value.problems if problem.where.startswith("front")] == [
        "front.public"
    ]


def test_a_closed_network_can_use_its_own_registry(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES, internet=InternetAccess.NONE))
    registry = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    service = make(
        network=network,
        sidecar_images=SidecarImages(collector=f"{registry}/adot:1", problem_detector=f"{registry}/npd:1"),
    )
    (images,) = [each for each in service.task.permissions["execution"] if each.sid == "Images"]
    repositories = [stack.resolve(each) for each in images.resources]
    assert "arn:aws:ecr:us-west-2:111122223333:repository/npd" in str(repositories)
    assert len(repositories) == 3


def test_hosts_cannot_take_more_addresses_than_the_subnets_have(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES, compute_cidr="10.1.0.0/26"))
    make(id="Small", network=network, desired=2)
    with pytest.raises(FleetError) as rejected:
        make(network=network, desired=40)
    assert Code.SUBNET_TOO_SMALL in {problem.code for problem in rejected.value.problems}


def test_a_network_of_another_class_is_one_problem_with_an_example(make: MakeService, stack: cdk.Stack):
    with pytest.raises(FleetError) as rejected:
        make(network=None)
    (problem,) = rejected.value.problems
    assert (problem.code, problem.where) == (Code.WRONG_TYPE, "network")
    assert "write FleetNetwork(" in problem.remedy
    assert Template.from_stack(stack).find_resources("AWS::ECS::*") == {}


def test_a_value_that_is_not_a_spec_is_one_problem_with_an_example(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    nothing: Any = "chat"
    with pytest.raises(FleetError) as rejected:
        InferenceService(stack, "Chat", nothing, network=network)
    (problem,) = rejected.value.problems
    assert (problem.code, problem.where) == (Code.WRONG_TYPE, "service")
    assert "write ServiceSpec(" in problem.remedy


# Once the fleet file rejected these because of a default that the user did not write, and Python accepted them.
@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"minimum": 3, "maximum": 6}, (3, 3, 6)),
        ({"minimum": 3}, (3, 3, 3)),
        ({"maximum": 1}, (1, 1, 1)),
        ({"minimum": 1}, (2, 1, 2)),
        ({"maximum": 6}, (2, 2, 6)),
        ({"desired": 4, "maximum": 6}, (4, 4, 6)),
        ({}, (2, 2, 2)),
    ],
)
def test_the_number_of_tasks_is_the_same_in_the_fleet_file_and_in_python(
    make: MakeService, settings: dict[str, int], count: tuple[int, ...]
):
    keys = "".join(f", {ServiceSpec.key_of(name)}: {number}" for name, number in settings.items())
    text = "fleet: test\nregion: us-west-2\nnetwork: {azs: [usw2-az1, usw2-az4]}\nservices:\n  chat: "
    model = "{model: s3://my-models/tanuki-8b, instance: inf2.xlarge, front: {http: true}"
    for tasks in (parse_fleet(f"{text}{model}{keys}}}\n").services["chat"].tasks, _spec_of(make(**settings)).tasks):
        assert (tasks.desired, tasks.minimum, tasks.maximum) == count


def _spec_of(service: InferenceService) -> ServiceSpec:
    return service.spec
