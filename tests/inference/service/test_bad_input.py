"""What is refused when a service is made: by its parts' values, and by what only the whole can tell."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import (
    Ec2Hosts,
    FleetError,
    FleetNetwork,
    Front,
    InferenceService,
    InternetAccess,
    ManagedHosts,
    Model,
    ModelServer,
    Scaling,
    SidecarImages,
)
from llm_fleet.rules.codes import Code
from tests.inference.service.conftest import ZONES, MakeService

SEVENTY = "s3://my-models/Llama-2-70b-hf"
HUB = "meta-llama/Llama-3.1-8B-Instruct"
ELSEWHERE = "arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"

# The issue's list. Options are made late: a value may refuse by itself.
BAD: dict[str, tuple[Callable[[], dict[str, Any]], Code]] = {
    "inf2.2xlarge": (lambda: {"hosts": Ec2Hosts(instance_type="inf2.2xlarge")}, Code.HOST_TYPE),
    "a 70B model on inf2.xlarge": (lambda: {"model": Model.from_s3(SEVENTY)}, Code.MODEL_MEMORY),
    "a Trn2-only server on inf2": (lambda: {"server": ModelServer.aws_vllm_neuron()}, Code.SERVER_FAMILY),
    "tensor parallelism above the cores": (
        lambda: {"server": ModelServer.tgi(tensor_parallel=4)},
        Code.TENSOR_PARALLEL,
    ),
    "tensor parallelism of 3": (
        lambda: {"server": ModelServer.tgi(tensor_parallel=3), "hosts": Ec2Hosts(instance_type="inf2.24xlarge")},
        Code.TENSOR_PARALLEL,
    ),
    "TGI on trn2": (lambda: {"hosts": Ec2Hosts(instance_type="trn2.48xlarge")}, Code.SERVER_FAMILY),
    "a batch of 0": (lambda: {"server": ModelServer.tgi(batch_size=0)}, Code.SERVER_SIZE),
    "a model URI that is no s3://": (lambda: {"model": Model.from_s3("my-models/tanuki-8b")}, Code.MODEL_PLACE),
    "a certificate of another region": (
        lambda: {"front": Front(certificate_arn=ELSEWHERE)},
        Code.FRONT_CERTIFICATE_REGION,
    ),
    "public without CIDRs": (lambda: {"front": Front(plain_http=True, public=True)}, Code.FRONT_PUBLIC_CIDRS),
    "desired 4 with maximum 2": (lambda: {"scaling": Scaling(desired=4, maximum=2)}, Code.SCALING_BOUNDS),
    "an instance type that is not known yet": (
        lambda: {"hosts": Ec2Hosts(instance_type=cdk.Fn.ref("Type"))},
        Code.HOST_WITHOUT_NEURON,
    ),
    "Managed Instances with Mountpoint": (
        lambda: {"hosts": ManagedHosts(instance_type="inf2.xlarge")},
        Code.HOST_MANAGED_MOUNT,
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_the_issue_s_bad_input_is_refused_once_each(make: MakeService, what: str):
    options, code = BAD[what]
    with pytest.raises(FleetError) as refused:
        make(**options())
    assert [problem.code for problem in refused.value.problems] == [code]


def test_all_at_once_and_before_any_resource(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES[:1])
    with pytest.raises(FleetError) as refused:
        make(
            network=network,
            service_name="ecs-chat",
            model=Model.from_s3(SEVENTY),
            front=Front(certificate_arn=ELSEWHERE),
            log_retention_days=31,
            health_check_grace_seconds=0,
            neuron_health=False,
            replace_sick_hosts=True,
        )
    assert [problem.where for problem in refused.value.problems][:1] == ["name"]
    assert {problem.code for problem in refused.value.problems} == {
        Code.SERVICE_NAME,
        Code.MODEL_MEMORY,
        Code.FRONT_CERTIFICATE_REGION,
        Code.FRONT_ZONES,
        Code.SERVICE_LOG_DAYS,
        Code.SERVICE_GRACE,
        Code.SERVICE_SICK_HOSTS,
    }
    assert refused.value.subject == "Test/Chat"
    assert Template.from_stack(stack).find_resources("AWS::ECS::*") == {}


def test_a_catalog_image_needs_the_region(app: cdk.App):
    stack = cdk.Stack(app, "Anywhere")
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES)
    options: dict[str, Any] = {
        "network": network,
        "model": Model.from_s3("s3://my-models/tanuki-8b"),
        "hosts": Ec2Hosts(instance_type="inf2.xlarge"),
        "front": Front(plain_http=True),
    }
    with pytest.raises(FleetError) as refused:
        InferenceService(stack, "Chat", **options)
    assert [problem.code for problem in refused.value.problems] == [Code.SERVICE_REGION]
    # An image that is the same everywhere needs none.
    InferenceService(stack, "Everywhere", **options, server=ModelServer.aws_vllm())


def test_a_closed_network_is_told_of_all_that_it_cannot_fetch(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES, internet=InternetAccess.NONE)
    with pytest.raises(FleetError) as refused:
        make(network=network, model=Model.from_hub(HUB, compiled=True), hosts=Ec2Hosts(instance_type="inf2.8xlarge"))
    assert [problem.where for problem in refused.value.problems] == [
        "model.location",
        "sidecar_images.collector",
        "sidecar_images.problem_detector",
    ]


def test_a_public_front_in_a_closed_network_is_one_mistake(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES, internet=InternetAccess.NONE)
    with pytest.raises(FleetError) as refused:
        make(network=network, front=Front(plain_http=True, public=True, allowed_cidrs=("203.0.113.0/24",)))
    assert [problem.where for problem in refused.value.problems if problem.where.startswith("front")] == [
        "front.public"
    ]


def test_a_closed_network_serves_from_its_own_registry(make: MakeService, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES, internet=InternetAccess.NONE)
    registry = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    service = make(
        network=network,
        sidecar_images=SidecarImages(collector=f"{registry}/adot:1", problem_detector=f"{registry}/npd:1"),
    )
    (images,) = [each for each in service.task.permissions["execution"] if each.sid == "Images"]
    repositories = [stack.resolve(each) for each in images.resources]
    assert "arn:aws:ecr:us-west-2:111122223333:repository/npd" in str(repositories)
    assert len(repositories) == 3


def test_hosts_take_addresses_of_their_subnets_and_may_not_take_more_than_there_are(
    make: MakeService, stack: cdk.Stack
):
    network = FleetNetwork(stack, "Network", availability_zone_ids=ZONES, compute_cidr="10.1.0.0/26")
    make(id="Small", network=network, scaling=Scaling(desired=2))
    with pytest.raises(FleetError) as refused:
        make(network=network, scaling=Scaling(desired=40))
    assert Code.SUBNET_TOO_SMALL in {problem.code for problem in refused.value.problems}


@pytest.mark.parametrize(
    ("wrong", "example"),
    [
        ({"server": "tgi"}, "ModelServer.tgi()"),
        ({"hosts": "inf2.xlarge"}, 'Ec2Hosts(instance_type="inf2.xlarge")'),
        ({"model": "s3://my-models/tanuki-8b"}, 'Model.from_s3("s3://my-models/tanuki-8b")'),
        ({"front": None}, "Front("),
        ({"network": None}, "FleetNetwork("),
        ({"scaling": 2}, "Scaling(desired=2)"),
        ({"execute_command": "yes"}, "True or False"),
    ],
)
def test_a_part_of_another_class_is_one_problem_with_an_example(
    make: MakeService, stack: cdk.Stack, wrong: dict[str, Any], example: str
):
    (part,) = wrong
    with pytest.raises(FleetError) as refused:
        make(**wrong)
    (problem,) = refused.value.problems
    assert (problem.code, problem.where) == (Code.WRONG_TYPE, part)
    assert f"write {example}" in problem.remedy
    assert Template.from_stack(stack).find_resources("AWS::ECS::*") == {}


def test_parts_of_other_classes_are_told_at_once_with_what_else_can_be(make: MakeService):
    with pytest.raises(FleetError) as refused:
        make(
            server="tgi",
            hosts="inf2.xlarge",
            network=None,
            service_name="ecs-chat",
            log_retention_days="x",
            health_check_grace_seconds="x",
        )
    assert [problem.where for problem in refused.value.problems] == [
        "network",
        "hosts",
        "server",
        "name",
        "log_retention_days",
        "health_check_grace_seconds",
    ]
