"""All rules of a service together: each mistake once, where its writer looks for it, and all at once."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.service import check_service
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.served_model import ModelSource
from llm_fleet.spec.service import Capacity
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
    "no s3://": ({"model": a_model("https://my-models/tanuki-8b")}, Code.MODEL_PLACE, "model.s3_uri"),
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
    "a driver that the runtime refuses": (
        {"hosts": {"driver_version": "2.29.0.0"}},
        Code.DRIVER_EDGE,
        "hosts.driver_version",
    ),
}


def test_a_good_service_has_no_problem():
    assert check_service(service(), region=REGION) == []
    assert check_service(service(), region=None) == []


@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_told_once_and_in_its_place(what: str):
    parts, code, place = BAD[what]
    assert [(each.code, each.where) for each in check_service(service(**parts), region=REGION)] == [(code, place)]


def test_whether_it_fits_is_not_told_of_a_server_that_does_not_run_there_at_all():
    found = check_service(service(model=SEVENTY, instance_type="trn2.3xlarge"), region=REGION)
    assert [each.where for each in found] == ["server.kind"]


def test_all_mistakes_are_told_at_once():
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


def test_what_a_closed_network_keeps_away_is_told_by_the_service():
    found = check_service(service(model=HUB, neuron_health=False), region=REGION, internet=InternetAccess.NONE)
    assert [(each.code, each.where) for each in found] == [
        (Code.CLOSED_NETWORK, "model.hub_id"),
        (Code.CLOSED_NETWORK, "sidecar_images.collector"),
    ]


def test_a_cache_must_have_room_beside_the_image():
    hosts = {"root_volume_gib": 100}
    assert check_service(service(hosts=hosts, model=a_model(cache_gib=1)), region=REGION) == []
    (problem,) = check_service(service(hosts=hosts, model=a_model(cache_gib=500)), region=REGION)
    assert problem.code is Code.HOST_ROOT_VOLUME
