"""Rules of hosts and of their driver."""

from typing import Any

import pytest

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.catalog.neuron import (
    DRIVER,
    ami_for,
    ami_parameter,
    ami_releases,
    default_root_gib,
    least_root_gib,
    neuron_releases,
    parts,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.hosts import (
    check_driver,
    check_driver_source,
    check_host_type,
    check_hosts,
    check_hosts_with,
    driver_for,
    nearest_neuron_type,
    runtime_of,
)
from llm_fleet.rules.problem import AnyCode
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_server import AwsVllmServer, HuggingFaceVllmServer, ModelServer, ServerKind, TgiServer
from llm_fleet.spec.model_shape import Model
from llm_fleet.spec.service import Capacity, Hosts
from tests.rules.inference.services import OWN_IMAGE, TOKEN, a_server, with_

GOOD = Hosts()
MANAGED = Hosts(capacity=Capacity.MANAGED_INSTANCES)
IN_S3 = Model(s3_uri="s3://my-models/tanuki-8b")


@pytest.mark.parametrize(
    ("name", "code", "offered"),
    [
        ("inf2.2xlarge", Code.HOST_TYPE, "inf2.8xlarge"),
        ("inf2.96xlarge", Code.HOST_TYPE, "inf2.48xlarge"),
        ("INF2.xlarge", Code.HOST_TYPE, "inf2.xlarge"),
        ("ml.inf2.24xlarge", Code.HOST_TYPE, "inf2.24xlarge"),
        ("inf2", Code.HOST_TYPE, "inf2.xlarge"),
        ("inf2.large", Code.HOST_TYPE, "inf2.xlarge"),
        ("trn1.16xlarge", Code.HOST_TYPE, "trn1.32xlarge"),
        ("g5.xlarge", Code.HOST_WITHOUT_NEURON, "inf2.xlarge"),
        ("inf1.xlarge", Code.HOST_WITHOUT_NEURON, "inf2.xlarge"),
        ("", Code.HOST_TYPE, "inf2.xlarge"),
    ],
)
def test_an_unsupported_type_gets_a_suggestion(name: str, code: Code, offered: str):
    (problem,) = check_host_type(name, managed=False)
    assert (problem.code, problem.where) == (code, "instance_type")
    assert f"write `{offered}`" in problem.remedy
    assert nearest_neuron_type(name) == offered


def test_a_newer_type_can_be_described_in_python():
    newer = Ec2InstanceType.of(
        "inf2.2xlarge", architecture="x86_64", vcpus=8, memory_gib=32, accelerator="neuron", accelerators=1
    )
    assert check_host_type(newer, managed=False) == []


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"ami": "latest"}, [(Code.HOST_AMI, "ami")]),
        ({"ami": "ami-123"}, [(Code.HOST_AMI, "ami")]),
        ({"ami": "20261301"}, [(Code.HOST_AMI, "ami")]),
        ({"driver_version": "2.28"}, [(Code.VERSION_FORM, "driver_version")]),
        ({"root_volume_gib": 29}, [(Code.HOST_ROOT_VOLUME, "root_volume_gib")]),
        ({"root_volume_gib": 70000}, [(Code.HOST_ROOT_VOLUME, "root_volume_gib")]),
        (
            {"ami": "x", "driver_version": "x", "root_volume_gib": 0},
            [
                (Code.HOST_AMI, "ami"),
                (Code.VERSION_FORM, "driver_version"),
                (Code.HOST_ROOT_VOLUME, "root_volume_gib"),
            ],
        ),
    ],
)
def test_all_mistakes_are_reported_together(values: dict[str, Any], problems: list[tuple[AnyCode, str]]):
    assert [(each.code, each.where) for each in check_hosts(Hosts(**values))] == problems


@pytest.mark.parametrize("value", ["${Token[A.1]}", "ami-0123456789abcdef0", "20260820"])
def test_tokens_ids_and_releases_pass(value: str):
    assert check_hosts(with_(GOOD, ami=value)) == []


def test_managed_instances_exclude_ami_and_driver():
    pinned = with_(MANAGED, ami="20260701", driver_version="2.28.0.0", install_driver=True)
    problems = check_hosts(pinned)
    assert [(problem.code, problem.where) for problem in problems] == [
        (Code.HOST_MANAGED_PIN, "ami"),
        (Code.HOST_MANAGED_PIN, "driver_version"),
        (Code.HOST_MANAGED_PIN, "install_driver"),
    ]


def test_managed_instances_and_mountpoint_exclude_each_other():
    (problem,) = check_hosts_with(MANAGED, server=TgiServer(), model=IN_S3)
    assert problem.code is Code.HOST_MANAGED_MOUNT
    assert "s3://my-models/tanuki-8b" in problem.message
    assert "'ec2'" in problem.remedy
    assert check_hosts_with(GOOD, server=TgiServer(), model=IN_S3) == []


def test_a_root_volume_must_be_large_enough_for_image_system_and_cache():
    least = least_root_gib(30, cache_gib=20)
    model = with_(IN_S3, cache_gib=20)
    assert check_hosts_with(with_(GOOD, root_volume_gib=least), server=TgiServer(), model=model) == []
    (problem,) = check_hosts_with(with_(GOOD, root_volume_gib=least - 1), server=TgiServer(), model=model)
    assert (problem.code, problem.where) == (Code.HOST_ROOT_VOLUME, "root_volume_gib")
    assert f"{default_root_gib(30, cache_gib=20)} GiB" in problem.remedy


@pytest.mark.parametrize(
    "server",
    [TgiServer(), HuggingFaceVllmServer(), AwsVllmServer()],
    ids=lambda server: server.kind,
)
def test_by_default_hosts_have_the_pinned_driver_without_installing_it(server: ModelServer):
    driver = driver_for(server)
    assert ami_releases()[ami_for(driver)] == driver
    closed = with_(GOOD, install_driver=False)
    assert check_driver_source(closed, driver, internet=InternetAccess.NONE) == []


@pytest.mark.parametrize(
    ("hosts", "internet", "code"),
    [
        ({"ami": "20260820"}, InternetAccess.NAT, None),
        ({"ami": "20260820"}, None, None),
        ({"ami": "20260820"}, InternetAccess.NONE, Code.HOST_DRIVER_UNREACHABLE),
        ({"ami": "20260820", "install_driver": False}, InternetAccess.NAT, Code.HOST_AMI_DRIVER),
        ({"ami": "20260707", "install_driver": False}, None, None),
        ({"ami": "20260730", "install_driver": False}, None, None),
        ({"ami": "ami-0123456789abcdef0", "install_driver": False}, InternetAccess.NONE, None),
    ],
)
def test_the_assumed_driver_of_an_ami_is_compared_with_the_pinned_one(
    hosts: dict[str, Any], internet: InternetAccess | None, code: Code | None
):
    problems = check_driver_source(with_(GOOD, **hosts), "2.28.0.0", internet=internet)
    assert [problem.code for problem in problems] == ([code] if code else [])


def test_a_driver_in_no_known_ami_is_installed_on_the_newest_one():
    assert ami_for("2.31.7.0") == max(ami_releases())
    (problem,) = check_driver_source(with_(GOOD, install_driver=False), "2.31.7.0")
    assert (problem.code, problem.where) == (Code.HOST_AMI_DRIVER, "install_driver")


def test_an_ami_is_assumed_to_have_the_newest_driver_of_its_date():
    """Computed independently from the dates of the SDK's releases."""
    dated = [(each.date.replace("-", ""), each.host[DRIVER]) for each in neuron_releases().values() if each.date]
    for release, driver in ami_releases().items():
        before = [version for date, version in dated if date < release]
        on_the_day = [version for date, version in dated if date == release]
        assert driver == (None if on_the_day else max(before, key=parts)), release


def test_a_release_has_its_own_parameter():
    assert ami_parameter("20260701").startswith("/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/")
    assert "2023.0.20260701-kernel-6.1-x86_64/image_id" in ami_parameter("20260701")


def test_the_remedy_for_a_newer_type_in_python_is_only_given_for_known_families():
    def remedy(name: str) -> str:
        return check_host_type(name, managed=False)[0].remedy

    assert "Ec2InstanceType.of(…) for a size of inf2 that is newer" in remedy("inf2.2xlarge")
    assert "Ec2InstanceType" not in remedy("inf3.xlarge")
    # The remedy omits other families: their cores and memory are unknown.
    newer = Ec2InstanceType.of(
        "inf3.xlarge", architecture="x86_64", vcpus=4, memory_gib=32, accelerator="neuron", accelerators=1
    )
    assert [problem.code for problem in check_host_type(newer, managed=False)] == [Code.HOST_WITHOUT_NEURON]


@pytest.mark.parametrize(
    ("kind", "driver"),
    [
        (ServerKind.TGI, "2.28.0.0"),
        (ServerKind.HUGGING_FACE_VLLM, "2.28.0.0"),
        (ServerKind.AWS_VLLM, "2.28.0.0"),
        (ServerKind.AWS_VLLM_NEURON, "2.31.7.0"),
    ],
)
def test_each_image_has_a_compatible_driver(kind: ServerKind, driver: str) -> None:
    server = a_server(kind=kind)
    assert driver_for(server) == driver
    assert check_driver(server, Hosts(driver_version=driver)) == []


@pytest.mark.parametrize(
    ("runtime", "driver"),
    [("2.32.31.0", "2.28.0.0"), ("2.33.10.0", "2.31.7.0"), ("2.20.0.0", "2.28.0.0"), (TOKEN, "2.28.0.0")],
)
def test_a_custom_image_gets_the_driver_for_its_runtime(runtime: str, driver: str) -> None:
    assert driver_for(a_server(image=OWN_IMAGE, runtime_version=runtime)) == driver


def test_a_driver_that_is_too_new_is_reported_with_both_versions_and_a_remedy() -> None:
    (problem,) = check_driver(a_server(), Hosts(driver_version="2.29.0.0"))
    assert problem.code.value == "LF706"
    assert "2.29.0.0" in problem.message
    assert "2.26.42.0" in problem.message
    assert "`2.28.0.0`" in problem.remedy
    assert problem.remedy.endswith("this driver is compatible with the server 'aws-vllm-neuron' on trn2"), "not on inf2"
    assert problem.allowed.split(", ")[0] == "2.28.0.0"
    assert problem.allowed.split(", ")[-1] == "2.22.2.0"


def test_a_driver_that_is_too_old_for_the_runtime_is_reported() -> None:
    server = a_server(image=OWN_IMAGE, runtime_version="2.32.31.0")
    (problem,) = check_driver(server, Hosts(driver_version="2.26.10.0"))
    assert problem.code.value == "LF706"
    assert OWN_IMAGE in problem.message
    assert problem.allowed == "2.28.0.0"
    assert check_driver(server, Hosts(driver_version="2.27.4.0")) == []


def test_an_invalid_driver_version_is_reported() -> None:
    assert [problem.code.value for problem in check_driver(a_server(), Hosts(driver_version="2.28"))] == ["LF707"]


@pytest.mark.parametrize(
    ("server", "driver"),
    [
        (a_server(), None),
        (a_server(), TOKEN),
        (a_server(image=OWN_IMAGE, runtime_version=TOKEN), "2.29.0.0"),
        (a_server(image=OWN_IMAGE, runtime_version="2.3"), "2.29.0.0"),  # reported by the rules of the server
    ],
)
def test_unknown_versions_pass(server: ModelServer, driver: str | None) -> None:
    assert check_driver(server, Hosts(driver_version=driver)) == []


def test_the_runtime_is_that_of_the_image_or_the_given_one() -> None:
    assert runtime_of(a_server()) == "2.26.42.0"
    assert runtime_of(a_server(image=OWN_IMAGE, runtime_version="2.33.10.0")) == "2.33.10.0"
