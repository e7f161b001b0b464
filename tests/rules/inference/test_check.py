"""All rules of a service together: each mistake once, where its writer looks for it, and all at once."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.check import check_service
from llm_fleet.rules.inference.model_shape import known_shape
from llm_fleet.rules.inference.terms import Capacity, ModelSource, ServerKind
from llm_fleet.rules.terms import InternetAccess
from tests.rules.inference.services import service

ELSEWHERE = "arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"
SEVENTY = {"location": "s3://my-models/Llama-2-70b-hf", "shape": known_shape("Llama-2-70b-hf")}
HUB = {"source": ModelSource.HUB, "location": "weblab-GENIAC/Tanuki-8B-dpo-v1.0"}

BAD: dict[str, tuple[dict[str, Any], Code, str]] = {
    "inf2.2xlarge": ({"hosts": {"instance_type": "inf2.2xlarge"}}, Code.HOST_TYPE, "hosts.instance_type"),
    "70B on inf2.xlarge": ({"model": SEVENTY}, Code.MODEL_MEMORY, "hosts.instance_type"),
    "a Trn2-only server on inf2": (
        {"server": {"kind": ServerKind.AWS_VLLM_NEURON}, "model": HUB},
        Code.SERVER_FAMILY,
        "server.kind",
    ),
    "tensor parallelism above the cores": (
        {"server": {"tensor_parallel": 4}},
        Code.TENSOR_PARALLEL,
        "server.tensor_parallel",
    ),
    "tensor parallelism of 3": (
        {"server": {"tensor_parallel": 3}, "hosts": {"instance_type": "inf2.24xlarge"}},
        Code.TENSOR_PARALLEL,
        "server.tensor_parallel",
    ),
    "TGI on trn2": ({"hosts": {"instance_type": "trn2.48xlarge"}}, Code.SERVER_FAMILY, "server.kind"),
    "a batch of 0": ({"server": {"batch_size": 0}}, Code.SERVER_SIZE, "server.batch_size"),
    "no s3://": ({"model": {"location": "https://my-models/tanuki-8b"}}, Code.MODEL_PLACE, "model.location"),
    "a certificate of another region": (
        {"front": {"certificate_arn": ELSEWHERE, "plain_http": False}},
        Code.FRONT_CERTIFICATE_REGION,
        "front.certificate_arn",
    ),
    "public without CIDRs": ({"front": {"public": True}}, Code.FRONT_PUBLIC_CIDRS, "front.allowed_cidrs"),
    "desired 4 with maximum 2": ({"scaling": {"desired": 4, "maximum": 2}}, Code.SCALING_BOUNDS, "scaling.desired"),
    "Managed Instances with Mountpoint": (
        {"hosts": {"capacity": Capacity.MANAGED_INSTANCES, "install_driver": False}},
        Code.HOST_MANAGED_MOUNT,
        "hosts.capacity",
    ),
    "a plain checkpoint for TGI": (
        {"model": {"compiled": False}, "hosts": {"instance_type": "inf2.8xlarge"}},
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
    assert check_service(service()) == []
    assert check_service(service(region=None)) == []


@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_told_once_and_in_its_place(what: str):
    parts, code, place = BAD[what]
    assert [(each.code, each.where) for each in check_service(service(**parts))] == [(code, place)]


def test_whether_it_fits_is_not_told_of_a_server_that_does_not_run_there_at_all():
    found = check_service(service(model=SEVENTY, hosts={"instance_type": "trn2.3xlarge"}))
    assert [each.where for each in found] == ["server.kind"]


def test_all_mistakes_are_told_at_once():
    found = check_service(
        service(
            name="ecs",
            server={"batch_size": 0},
            model={"location": "my-models"},
            hosts={"driver_version": "2.29.0.0"},
            front={"public": True},
            scaling={"desired": 0},
        )
    )
    assert [each.where for each in found] == [
        "name",
        "server.batch_size",
        "model.location",
        "hosts.driver_version",
        "front.allowed_cidrs",
        "scaling.desired",
    ]


def test_what_a_closed_network_keeps_away_is_told_by_the_service():
    found = check_service(service(model=HUB), internet=InternetAccess.NONE)
    assert [(each.code, each.where) for each in found] == [(Code.CLOSED_NETWORK, "model.location")]


def test_a_cache_must_have_room_beside_the_image():
    parts = service(hosts={"root_volume_gib": 100})
    assert check_service(parts, cache_gib=1) == []
    (problem,) = check_service(parts, cache_gib=500)
    assert problem.code is Code.HOST_ROOT_VOLUME
