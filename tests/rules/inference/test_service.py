"""Rules of a whole service: its parts together, its network, and its addresses."""

from typing import Any

import pytest

from llm_fleet.catalog.neuron import neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import load_seconds, neuron_health_memory_mib, task_cpu_units, task_memory_mib
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import (
    address_claims,
    check_closed_network,
    check_pulled_image,
    check_service,
    check_service_name,
)
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import ModelSource
from llm_fleet.spec.service import Authentication, Capacity
from tests.rules.inference.services import REGION, a_model, a_server, named, service

ELSEWHERE = "arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"
SEVENTY = named("Llama-2-70b-hf")
HUB = a_model("weblab-GENIAC/Tanuki-8B-dpo-v1.0", source=ModelSource.HUB)

BAD: dict[str, tuple[dict[str, Any], Code, str]] = {
    "inf2.2xlarge": ({"instance_type": "inf2.2xlarge"}, Code.HOST_TYPE, "instance_type"),
    "70B on inf2.xlarge": ({"model": SEVENTY}, Code.MODEL_MEMORY, "instance_type"),
    "a Trn2-only server on inf2": (
        {"server": a_server(ServerKind.AWS_VLLM_NEURON), "model": HUB},
        Code.SERVER_FAMILY,
        "server.kind",
    ),
    "tensor parallelism above the cores": (
        {"server": a_server(tensor_parallel=4)},
        Code.TENSOR_PARALLEL,
        "server.tensor_parallel",
    ),
    "tensor parallelism of 3": (
        {"server": a_server(tensor_parallel=3), "instance_type": "inf2.24xlarge"},
        Code.TENSOR_PARALLEL,
        "server.tensor_parallel",
    ),
    "TGI on trn2": ({"instance_type": "trn2.48xlarge"}, Code.SERVER_FAMILY, "server.kind"),
    "a batch of 0": ({"server": a_server(batch_size=0)}, Code.SERVER_SIZE, "server.batch_size"),
    "must be an s3:// URI": ({"model": a_model("https://my-models/tanuki-8b")}, Code.MODEL_PLACE, "model.s3_uri"),
    "a certificate of another region": (
        {"front": {"certificate_arn": ELSEWHERE, "plain_http": False}},
        Code.FRONT_CERTIFICATE_REGION,
        "front.certificate_arn",
    ),
    "public without CIDRs": ({"front": {"public": True}}, Code.FRONT_PUBLIC_CIDRS, "front.allowed_cidrs"),
    "desired 4 with maximum 2": ({"desired": 4, "maximum": 2}, Code.SCALING_BOUNDS, "desired"),
    "Managed Instances with Mountpoint": (
        {"hosts": {"capacity": Capacity.MANAGED_INSTANCES}},
        Code.HOST_MANAGED_MOUNT,
        "hosts.capacity",
    ),
    "a plain checkpoint for TGI": (
        {"model": a_model(compiled=False), "instance_type": "inf2.8xlarge"},
        Code.MODEL_NOT_COMPILED,
        "model.compiled",
    ),
    "a driver that the runtime rejects": (
        {"hosts": {"driver_version": "2.29.0.0"}},
        Code.DRIVER_EDGE,
        "hosts.driver_version",
    ),
}


def test_a_valid_service_has_no_problems():
    assert check_service(service(), region=REGION) == []
    assert check_service(service(), region=None) == []


@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_reported_once_at_its_path(what: str):
    parts, code, place = BAD[what]
    assert [(each.code, each.where) for each in check_service(service(**parts), region=REGION)] == [(code, place)]


def test_the_model_size_is_not_checked_for_a_server_on_an_unsupported_instance():
    found = check_service(service(model=SEVENTY, instance_type="trn2.3xlarge"), region=REGION)
    assert [each.where for each in found] == ["server.kind"]


def test_all_mistakes_are_reported_together():
    found = check_service(
        service(
            name="ecs",
            server=a_server(batch_size=0),
            model=a_model("my-models"),
            hosts={"driver_version": "2.29.0.0"},
            front={"public": True},
            desired=0,
        ),
        region=REGION,
    )
    assert [each.where for each in found] == [
        "name",
        "server.batch_size",
        "model.s3_uri",
        "hosts.driver_version",
        "front.allowed_cidrs",
        "desired",
    ]


def test_resources_that_a_closed_network_cannot_reach_are_reported():
    found = check_service(service(model=HUB, neuron_health=False), region=REGION, internet=InternetAccess.NONE)
    assert [(each.code, each.where) for each in found] == [
        (Code.CLOSED_NETWORK, "model.hub_id"),
        (Code.CLOSED_NETWORK, "sidecar_images.collector"),
    ]


def test_cache_and_image_must_fit_the_root_volume():
    hosts = {"root_volume_gib": 100}
    assert check_service(service(hosts=hosts, model=a_model(cache_gib=1)), region=REGION) == []
    (problem,) = check_service(service(hosts=hosts, model=a_model(cache_gib=500)), region=REGION)
    assert problem.code is Code.HOST_ROOT_VOLUME


@pytest.mark.parametrize("name", ["chat", "a", "Fleet-chat", "x" * 63, "my-ecs", "${Token[TOKEN.1]}"])
def test_valid_names_have_no_problems(name: str):
    assert check_service_name(name) == []


@pytest.mark.parametrize("name", ["", "1chat", "-chat", "chat_1", "chat.example", "x" * 64, "ecs-chat", "AWSchat"])
def test_names_that_ecs_rejects(name: str):
    (problem,) = check_service_name(name)
    assert (problem.code, problem.path, problem.value) == (Code.SERVICE_NAME, ("name",), name)


def test_a_reserved_prefix_is_reported_separately():
    (problem,) = check_service_name("Fargate-chat")
    assert "'fargate'" in problem.message
    assert check_service_name(problem.remedy.split()[-1]) == []


def test_invalid_log_retention_is_reported():
    (problem,) = check_service(service(log_retention_days=31), region=REGION)
    assert (problem.code, problem.remedy) == (Code.SERVICE_LOG_DAYS, "write 30")


@pytest.mark.parametrize(("seconds", "good"), [(None, True), (1, True), (7200, True), (0, False), (2**31, False)])
def test_an_invalid_grace_period_is_reported(seconds: int | None, good: bool):
    found = check_service(service(health_check_grace_seconds=seconds), region=REGION)
    assert [problem.code for problem in found] == ([] if good else [Code.SERVICE_GRACE])


@pytest.mark.parametrize("name", neuron_instance_names())
def test_a_task_leaves_memory_for_its_host(name: str):
    instance = neuron_instance(name)
    assert instance is not None
    whole = instance.host_memory_gib * 1024
    # The guide's own example of what an agent registers has 97.5 percent; a task that asks for more is never placed.
    assert whole * 0.85 < task_memory_mib(instance)
    assert task_memory_mib(instance) + neuron_health_memory_mib() < whole * 0.975
    assert task_memory_mib(instance, managed=True) < task_memory_mib(instance)
    assert 0 < task_cpu_units(instance) < instance.vcpus * 1024


def test_the_load_time_depends_on_compilation_and_size():
    small = load_seconds(weights_gib=15, source="s3", compiled=True)
    assert small % 60 == 0
    assert small < load_seconds(weights_gib=130, source="s3", compiled=True)
    assert load_seconds(weights_gib=15, source="hub", compiled=False) > small + 3600


ZONES = ("usw2-az1", "usw2-az2")


def test_the_maximum_number_of_hosts_is_spread_over_the_azs():
    claims = address_claims(service(desired=2, maximum=5), owner="chat", zones=ZONES)
    assert [(claim.availability_zone_id, claim.count) for claim in claims] == [("usw2-az1", 3), ("usw2-az2", 3)]
    assert {claim.owner for claim in claims} == {"chat"}
    assert all(claim.replaceable for claim in claims), "a host is replaced while others run"


def test_a_host_and_its_task_have_one_address_each():
    (claim,) = address_claims(service(desired=3), owner="chat", zones=ZONES[:1])
    assert (claim.count, claim.addresses_each) == (3, 2)


NONE = InternetAccess.NONE
OWN = "111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:1"


@pytest.mark.parametrize(
    "image",
    [
        "public.ecr.aws/neuron/neuron-problem-detector:1.2.0",
        "ghcr.io/huggingface/text-generation-inference:3.3.6-neuron",
        "763104351884.dkr.ecr.eu-west-1.amazonaws.com/tgi:1",
        "registry.example.com:5000/tgi@sha256:" + "0" * 64,
        "evil.example.com/111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:1",
    ],
)
def test_images_of_other_registries_are_reported_in_a_closed_network(image: str) -> None:
    (problem,) = check_pulled_image(image, "server", "image", region="us-west-2", internet=NONE)
    assert (problem.code, problem.where) == (Code.CLOSED_NETWORK, "server.image")
    assert check_pulled_image(image, "server", "image", region="us-west-2", internet=InternetAccess.NAT) == []
    assert check_pulled_image(image, "server", "image", region="us-west-2", internet=None) == []


@pytest.mark.parametrize(
    ("image", "region"),
    [
        (OWN, "us-west-2"),
        (OWN, None),
        ("763104351884.dkr.ecr.cn-north-1.amazonaws.com.cn/tgi:1", "cn-north-1"),
        (None, "us-west-2"),
    ],
)
def test_images_in_the_registry_of_the_region_pass(image: str | None, region: str | None) -> None:
    assert check_pulled_image(image, "server", "image", region=region, internet=NONE) == []


def test_everything_in_a_service_that_requires_internet_access_is_reported() -> None:
    asking = service(
        server=a_server(image="ghcr.io/x/tgi:1"),
        model=a_model("weblab/tanuki", source=ModelSource.HUB),
        front={"public": True, "authentication": Authentication.JWT},
    )
    paths = {problem.where for problem in check_closed_network(asking, region=REGION, internet=NONE)}
    assert paths == {"server.image", "model.hub_id", "front.public", "front.jwt.jwks_endpoint"}
    assert (
        check_closed_network(asking, region=REGION, internet=InternetAccess.NAT)
        == check_closed_network(asking, region=REGION, internet=None)
        == []
    )
    assert check_closed_network(service(), region=REGION, internet=NONE) == []


def test_a_public_image_must_be_copied_for_a_closed_network() -> None:
    (problem,) = check_closed_network(service(server=a_server(ServerKind.AWS_VLLM)), region=REGION, internet=NONE)
    assert (problem.where, problem.value.partition("/")[0]) == ("server.image", "public.ecr.aws")
    copied = service(server=a_server(ServerKind.AWS_VLLM, image=OWN))
    assert check_closed_network(copied, region=REGION, internet=NONE) == []
