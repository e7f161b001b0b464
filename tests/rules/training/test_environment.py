"""Rules of environments: groups, stack, release, Python, operating system, lock file."""

from typing import Any

import pytest

from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.packages import Wanted, find, fits_python, plan
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.training_runtime import (
    AnyEnvironment,
    CondaEnvironment,
    ContainerEnvironment,
    EnvironmentUse,
    NeuronEnvironment,
    ServerEnvironment,
    SmpEnvironment,
    TrainingRuntime,
    WheelsEnvironment,
)
from tests.rules.training.runtimes import CPU, GPU, NXD, TRN1, TRN2, found, group, place, wheel

EXPORT = EnvironmentUse.EXPORT
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:v1"


def test_defaults_for_trn1() -> None:
    planned = plan(NeuronEnvironment(), place(group("a", TRN1), group("b", CPU)))
    assert (planned.stack, planned.release, planned.python, planned.groups) == ("nxd", "2.28.1", "3.10", ("a",))
    assert {str(each) for each in planned.wanted} >= {"torch-neuronx==2.8.0.2.12.22436", "transformers==4.48.0"}


def test_defaults_for_trn2() -> None:
    planned = plan(NeuronEnvironment(), place(group("a", TRN2)))
    assert (planned.stack, planned.release, planned.python) == ("torchneuron", "2.33.0", "3.12")
    assert "torch-neuronx==2.13.3.0" in map(str, planned.wanted)


def test_two_families_require_two_environments_and_each_has_its_groups() -> None:
    where = place(group("one", TRN1), group("two", TRN2), files=None)
    environments = (NeuronEnvironment(stack="nxd", groups=["one"]), NeuronEnvironment(stack="torchneuron"))
    assert plan(environments[1], where).groups == ("two",)
    assert found(where, *environments) == []


@pytest.mark.parametrize(
    ("stack", "release", "python"),
    [
        ("nxd", "2.29.1", "3.12"),
        ("nxd", "2.20.0", "3.8"),
        ("nxdt", "2.28.1", "3.10"),
        ("nemo-megatron", None, None),
        (None, "2.26.1", "3.9"),
    ],
)
def test_valid_environments_for_trn1(stack: str | None, release: str | None, python: str | None) -> None:
    assert found(place(files=None), NeuronEnvironment(stack=stack, release=release, python=python)) == []


def test_nemo_megatron_uses_the_newest_release_that_contains_it() -> None:
    assert plan(NeuronEnvironment(stack="nemo-megatron"), place()).release == "2.20.0"


@pytest.mark.parametrize(
    ("instance", "given", "code", "where", "said"),
    [
        (TRN1, {"stack": "nxdd"}, "LF806", "stack", "write `nxd`"),
        (TRN1, {"stack": "torchneuron", "groups": ["workers"]}, "LF807", "stack", "write `nxd` for trn1"),
        (TRN2, {"stack": "nemo-megatron", "groups": ["workers"]}, "LF807", "stack", "write `nxd` for trn2"),
        (TRN1, {"stack": "nxd", "release": "2.30.0"}, "LF808", "release", "write `2.29.1`"),
        (TRN1, {"stack": "nxdt", "release": "2.29.0"}, "LF808", "release", "write `2.28.1`"),
        (TRN1, {"stack": "nxdt", "release": "2.19.0"}, "LF808", "release", "write `2.20.0`"),
        (TRN2, {"stack": "torchneuron", "release": "2.32.0"}, "LF808", "release", "write `2.33.0`"),
        (TRN2, {"stack": "nxd", "release": "2.20.0", "groups": ["workers"]}, "LF451", "release", "write `2.24.1`"),
        (TRN1, {"release": "2.28"}, "LF450", "release", "write `2.28.1`"),
        (TRN1, {"python": "3.13"}, "LF809", "python", "3.12"),
        (TRN1, {"stack": "nxd", "release": "2.29.1", "python": "3.9"}, "LF809", "python", "3.12"),
        (TRN1, {"packages": ["torch-neuronx==2.6.0"]}, "LF808", "packages", "torch-neuronx==2.9.0.2.12.22436"),
        (TRN1, {"packages": ["a b"]}, "LF811", "packages[0]", "name==version"),
        (TRN1, {"packages": ["torch>=2"]}, "LF811", "packages[0]", "name==version"),
    ],
)
def test_incompatible_values_are_reported_with_compatible_ones(
    instance: str, given: dict[str, Any], code: str, where: str, said: str
) -> None:
    runtime = TrainingRuntime(environments=[NeuronEnvironment(**given)])
    (problem,) = check_training(runtime, place(group("workers", instance), files=None))
    assert (problem.code.value, problem.where) == (code, f"environments[0].{where}")
    assert said in problem.remedy


def test_another_pytorch_build_of_the_release_can_be_used() -> None:
    newer = NeuronEnvironment(packages=["torch-neuronx==2.9.0.2.12.22436"])
    assert found(place(files=None), newer) == []
    assert "torch-neuronx==2.9.0.2.12.22436" in map(str, plan(newer, place()).wanted)


def test_the_c_library_of_amazon_linux_is_too_old_for_newer_pytorch() -> None:
    old = place(group("q", "trn1.32xlarge"), os="alinux2023", files=None)
    assert found(old, NeuronEnvironment()) == []
    assert found(old, NeuronEnvironment(release="2.29.1")) == [("LF810", "environments[0].release")]
    assert (
        found(place(group("q", "trn1.32xlarge"), os="ubuntu2204", files=None), NeuronEnvironment(release="2.29.1"))
        == []
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (ContainerEnvironment(image=IMAGE, groups=["wrkers"]), ("LF802", "groups[0]")),
        (ContainerEnvironment(image=IMAGE, groups=["controller"]), ("LF802", "groups[0]")),
        (ContainerEnvironment(image=IMAGE, groups=[]), ("LF803", "groups")),
        (SmpEnvironment(), ("LF803", "groups")),
        (ContainerEnvironment(image=IMAGE, name="No Name"), ("LF805", "name")),
        (ContainerEnvironment(image=IMAGE, name="-a"), ("LF805", "name")),
        (WheelsEnvironment(name="a", packages=[], python="3.11"), ("LF811", "packages")),
        (WheelsEnvironment(name="a", packages=["x"], python="3"), ("LF809", "python")),
        (WheelsEnvironment(name="a", packages=["x"], python="3.7"), ("LF809", "python")),
        (CondaEnvironment(name="a", packages=["x"], program=""), ("LF816", "program")),
        (CondaEnvironment(name="a", packages=["x"], program="conda install"), ("LF816", "program")),
        (CondaEnvironment(name="a", packages=[], program="conda"), ("LF811", "packages")),
        *(
            (ContainerEnvironment(image=image), ("LF817", "image"))
            for image in (
                "",
                "training",
                "pytorch/pytorch:latest",
                "pytorch/pytorch",
                "a b:1",
                "docker://nvcr.io#nvidia/pytorch",
                "dockerd://x:1",
                "pytorch/pytorch@sha256:" + "a" * 64,
                "Registry.example/x:1",
            )
        ),
    ],
    ids=repr,
)
def test_invalid_environments_are_reported(environment: AnyEnvironment, expected: tuple[str, str]) -> None:
    code, where = expected
    assert found(place(files=None), environment) == [(code, f"environments[0].{where}")]


@pytest.mark.parametrize(
    "image",
    [
        IMAGE,
        "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
        "docker://nvcr.io#nvidia/pytorch:24.10-py3",
        "localhost:5000/x:1",
        "docker://111122223333.dkr.ecr.us-west-2.amazonaws.com#team/a_b/c--d:v1.2",
        "${Token[Repository.12]}:v1",
    ],
)
def test_valid_images_pass(image: str) -> None:
    assert found(place(), ContainerEnvironment(image=image)) == []


def test_smp_requires_gpus_that_its_image_supports() -> None:
    assert found(place(group("g", GPU)), SmpEnvironment()) == []
    assert found(place(group("g", GPU)), SmpEnvironment(release="2.5")) == [("LF840", "environments[0].release")]
    assert found(place(group("g", GPU), region="me-south-1"), SmpEnvironment()) == [("LF838", "environments[0].groups")]
    assert found(place(group("g", "ml.g4dn.xlarge")), SmpEnvironment()) == [("LF837", "environments[0].groups")]


def test_two_environments_for_one_group_or_with_one_name_are_reported() -> None:
    one, two = ContainerEnvironment(image=IMAGE, name="a"), ContainerEnvironment(image="x/y:2", name="a")
    assert found(place(), one, two) == [("LF805", "environments[1].name"), ("LF804", "environments[1].groups")]


def test_a_group_can_have_one_environment_for_each_use() -> None:
    one, two = ContainerEnvironment(image=IMAGE, name="a"), ContainerEnvironment(image="x/y:2", name="b", use=EXPORT)
    assert found(place(), one, two) == []
    assert found(place(), two, one, ServerEnvironment(server_kind=ServerKind.TGI)) == [
        ("LF804", "environments[2].groups")
    ]
    named = ContainerEnvironment(image="x/y:2", groups=["workers"])
    assert found(place(), one, named, two) == [("LF804", "environments[1].groups")]


def test_an_export_environment_is_for_groups_with_supported_neuron_devices() -> None:
    where = place(group("a", TRN1), group("b", CPU), group("c", TRN2), group("d", GPU))
    assert plan(ServerEnvironment(server_kind=ServerKind.TGI), where).groups == ("a",)
    assert plan(ContainerEnvironment(image=IMAGE, use=EXPORT), where).groups == ("a", "c")
    assert plan(ContainerEnvironment(image=IMAGE), where).groups == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("environment", "where", "said"),
    [
        (ServerEnvironment(server_kind=ServerKind.AWS_VLLM), "server_kind", "remove this environment"),
        (ServerEnvironment(server_kind=ServerKind.TGI, use=EnvironmentUse.JOBS), "use", "remove `use`"),
        (ServerEnvironment(server_kind=ServerKind.TGI, groups=["cpu"]), "groups[0]", "Neuron devices"),
        (ServerEnvironment(server_kind=ServerKind.TGI, groups=["trn2"]), "groups[0]", "that it supports"),
        (NeuronEnvironment(use=EXPORT, groups=["workers"]), "use", "kind: server"),
        (WheelsEnvironment(name="a", packages=["torch"], python="3.11", use=EXPORT), "use", "add optimum-neuron"),
        (CondaEnvironment(name="a", packages=["x"], program="conda", use=EXPORT), "use", "add optimum-neuron"),
        (SmpEnvironment(groups=["gpu"], use=EXPORT), "use", "remove `use`"),
        (ContainerEnvironment(image=IMAGE, use=EXPORT, groups=["gpu"]), "groups[0]", "Neuron devices"),
    ],
)
def test_environments_that_cannot_export_are_reported(environment: AnyEnvironment, where: str, said: str) -> None:
    groups = (group("workers", TRN1), group("cpu", CPU), group("trn2", TRN2), group("gpu", GPU))
    (problem,) = check_training(TrainingRuntime(environments=[environment]), place(*groups, files=None))
    assert (problem.code.value, problem.where) == ("LF823", f"environments[0].{where}")
    assert said in problem.remedy


def test_an_environment_with_the_exporter_package_can_export() -> None:
    own = WheelsEnvironment(name="a", packages=["optimum_neuron==0.4.5"], python="3.10", use=EXPORT)
    assert found(place(files=None), own) == []


def test_the_image_of_a_server_requires_a_known_region() -> None:
    server = ServerEnvironment(server_kind=ServerKind.HUGGING_FACE_VLLM)
    for region, said in (
        ("${Token[AWS.Region.3]}", "which is a CDK token"),
        (None, "which is a CDK token"),
        ("il-central-1", "not offered"),
    ):
        (problem,) = check_training(TrainingRuntime(environments=[server]), place(region=region))
        assert (problem.code.value, problem.where) == ("LF823", "environments[0].server_kind")
        assert said in problem.message


def test_a_complete_runtime_is_valid() -> None:
    assert found(place(files=NXD), NeuronEnvironment()) == []


def names(*wanted: str) -> list[str]:
    wanted_packages = [Wanted(name=each.partition("==")[0], version=each.partition("==")[2] or None) for each in wanted]
    return [name for name, _ in find(wanted_packages, NXD, kind="wheel").packages]


def test_dependencies_of_packages_are_included() -> None:
    assert names("transformers") == ["tokenizers", "transformers"]
    assert names("Torch_NeuronX==2.8.0.2.12.22436") == ["libneuronxla", "torch-neuronx"]


def test_a_pin_matches_builds_of_its_version_only() -> None:
    (cc,) = find([Wanted(name="neuronx-cc", version="2.23.6484.0")], NXD, kind="wheel").packages
    assert cc == ("neuronx-cc", "2.23.6484.0+3b612583")
    assert find([Wanted(name="neuronx-cc", version="2.23.6484")], NXD, kind="wheel").missing


def test_circular_dependencies_are_resolved() -> None:
    circle = (wheel("a", "1", "b"), wheel("b", "1", "a"))
    assert find([Wanted(name="a")], circle, kind="wheel").packages == [("a", "1"), ("b", "1")]


def test_missing_packages_are_reported_with_the_command_that_pins_them() -> None:
    (problem,) = check_training(TrainingRuntime(environments=[NeuronEnvironment()]), place(files=NXD[1:]))
    assert (problem.code.value, problem.where) == ("LF812", "environments[0]")
    assert "neuronx-cc==2.23.6484.0" in problem.message
    assert "llm-fleet mirror lock --system SYSTEM --python 3.10 --environment nxd --neuron 2.28.1" in problem.remedy


def test_a_lock_file_without_wheels_is_reported() -> None:
    debs = [{**wheel("a", "1"), "kind": "deb"}]
    (problem,) = check_training(TrainingRuntime(environments=[NeuronEnvironment()]), place(files=debs))
    assert "no wheels" in problem.message


def test_a_missing_dependency_is_reported() -> None:
    files = (wheel("a", "1", "b"),)
    assert found(place(files=files), WheelsEnvironment(name="e", packages=["a"], python="3.11")) == [
        ("LF812", "environments[0].packages")
    ]


def test_packages_require_downloads() -> None:
    nowhere = place(source="none", files=())
    assert found(nowhere, NeuronEnvironment()) == [("LF813", "environments[0]")]
    assert found(nowhere, ContainerEnvironment(image="x/y:1")) == []


def test_several_versions_of_a_package_are_reported_unless_one_is_set() -> None:
    files = (wheel("a", "1"), wheel("a", "2"))
    assert found(place(files=files), WheelsEnvironment(name="e", packages=["a"], python="3.11")) == [
        ("LF815", "environments[0].packages")
    ]
    assert found(place(files=files), WheelsEnvironment(name="e", packages=["a==2"], python="3.11")) == []


def test_wheels_for_another_python_are_reported() -> None:
    assert found(place(files=NXD), NeuronEnvironment(python="3.11")) == [("LF814", "environments[0].python")]


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("cp310-cp310-linux_x86_64", True),
        ("cp311-cp311-linux_x86_64", False),
        ("cp39-cp39-linux_x86_64", False),
        ("cp38-abi3-manylinux2014_x86_64", True),
        ("cp311-abi3-manylinux2014_x86_64", False),
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("py39-none-any", True),
        ("py311-none-any", False),
        ("py2-none-any", False),
        ("pp310-pypy310_pp73-linux_x86_64", False),
    ],
)
def test_tags_of_wheels_are_matched(tag: str, fits: bool) -> None:
    assert fits_python(wheel("a", "1", tag=tag), "3.10") is fits


def test_a_closed_network_cannot_download_from_the_internet() -> None:
    closed = place(internet=False, source="vendor", files=NXD)
    assert found(closed, NeuronEnvironment()) == [("LF822", "environments[0]")]
    assert found(place(internet=False, files=NXD), NeuronEnvironment()) == []
    own = "111122223333.dkr.ecr.{}.amazonaws.com/x:1"
    assert found(closed, ContainerEnvironment(image="x/y:1")) == [("LF822", "environments[0].image")]
    assert found(closed, ContainerEnvironment(image=own.format("us-east-1"))) == [("LF822", "environments[0].image")]
    assert found(closed, ContainerEnvironment(image=own.format("us-west-2"))) == []
