"""Which environments can be: for which groups, of which stack, release, Python and system."""

from dataclasses import replace
from typing import Any

import pytest

from llm_fleet.lifecycle.training_runtime import TrainingEnvironment, TrainingRuntime
from llm_fleet.rules.training.check_environment import check_training
from llm_fleet.rules.training.environment import EnvironmentUse
from llm_fleet.rules.training.packages import plan
from llm_fleet.spec.model_server import ServerKind
from tests.rules.training.runtimes import CPU, GPU, NXD, TRN1, TRN2, found, group, place

Env = TrainingEnvironment
EXPORT = EnvironmentUse.EXPORT
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:v1"


def test_what_an_expert_takes_for_trn1() -> None:
    planned = plan(Env.neuron(), place(group("a", TRN1), group("b", CPU)))
    assert (planned.stack, planned.release, planned.python, planned.groups) == ("nxd", "2.28.1", "3.10", ("a",))
    assert {str(each) for each in planned.wanted} >= {"torch-neuronx==2.8.0.2.12.22436", "transformers==4.48.0"}


def test_what_an_expert_takes_for_trn2() -> None:
    planned = plan(Env.neuron(), place(group("a", TRN2)))
    assert (planned.stack, planned.release, planned.python) == ("torchneuron", "2.33.0", "3.12")
    assert "torch-neuronx==2.13.3.0" in map(str, planned.wanted)


def test_two_worlds_need_two_environments_and_each_finds_its_own_groups() -> None:
    where = place(group("one", TRN1), group("two", TRN2), files=None)
    environments = (Env.neuron(stack="nxd", groups=["one"]), Env.neuron(stack="torchneuron"))
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
def test_good_on_trn1(stack: str | None, release: str | None, python: str | None) -> None:
    assert found(place(files=None), Env.neuron(stack=stack, release=release, python=python)) == []


def test_nemo_megatron_is_on_the_newest_release_that_carries_it() -> None:
    assert plan(Env.neuron(stack="nemo-megatron"), place()).release == "2.20.0"


@pytest.mark.parametrize(
    ("instance", "given", "code", "where", "said"),
    [
        (TRN1, {"stack": "nxdd"}, "LF806", "stack", "write 'nxd'"),
        (TRN1, {"stack": "torchneuron", "groups": ["workers"]}, "LF807", "stack", "write 'nxd' for trn1"),
        (TRN2, {"stack": "nemo-megatron", "groups": ["workers"]}, "LF807", "stack", "write 'nxd' for trn2"),
        (TRN1, {"stack": "nxd", "release": "2.30.0"}, "LF808", "release", "take '2.29.1'"),
        (TRN1, {"stack": "nxdt", "release": "2.29.0"}, "LF808", "release", "take '2.28.1'"),
        (TRN1, {"stack": "nxdt", "release": "2.19.0"}, "LF808", "release", "take '2.20.0'"),
        (TRN2, {"stack": "torchneuron", "release": "2.32.0"}, "LF808", "release", "take '2.33.0'"),
        (TRN2, {"stack": "nxd", "release": "2.20.0", "groups": ["workers"]}, "LF451", "release", "take '2.24.1'"),
        (TRN1, {"release": "2.28"}, "LF450", "release", "write '2.28.1'"),
        (TRN1, {"python": "3.13"}, "LF809", "python", "3.12"),
        (TRN1, {"stack": "nxd", "release": "2.29.1", "python": "3.9"}, "LF809", "python", "3.12"),
        (TRN1, {"packages": ["torch-neuronx==2.6.0"]}, "LF808", "packages", "torch-neuronx==2.9.0.2.12.22436"),
        (TRN1, {"packages": ["a b"]}, "LF811", "packages[0]", "name==version"),
        (TRN1, {"packages": ["torch>=2"]}, "LF811", "packages[0]", "name==version"),
    ],
)
def test_what_does_not_go_together_is_told_with_what_does(
    instance: str, given: dict[str, Any], code: str, where: str, said: str
) -> None:
    runtime = TrainingRuntime(environments=[Env.neuron(**given)])
    (problem,) = check_training(runtime, place(group("workers", instance), files=None))
    assert (problem.code.value, problem.where) == (code, f"environments[0].{where}")
    assert said in problem.remedy


def test_another_build_of_pytorch_of_the_release_may_be_taken() -> None:
    newer = Env.neuron(packages=["torch-neuronx==2.9.0.2.12.22436"])
    assert found(place(files=None), newer) == []
    assert "torch-neuronx==2.9.0.2.12.22436" in map(str, plan(newer, place()).wanted)


def test_the_c_library_of_amazon_linux_is_too_old_for_newer_pytorch() -> None:
    old = place(group("q", "trn1.32xlarge"), os="alinux2023", files=None)
    assert found(old, Env.neuron()) == []
    assert found(old, Env.neuron(release="2.29.1")) == [("LF810", "environments[0].release")]
    assert found(place(group("q", "trn1.32xlarge"), os="ubuntu2204", files=None), Env.neuron(release="2.29.1")) == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (Env.container(image=IMAGE, groups=["wrkers"]), ("LF802", "groups[0]")),
        (Env.container(image=IMAGE, groups=["controller"]), ("LF802", "groups[0]")),
        (Env.container(image=IMAGE, groups=[]), ("LF803", "groups")),
        (Env.smp(), ("LF803", "groups")),
        (Env.container(image=IMAGE, name="No Name"), ("LF805", "label")),
        (Env.container(image=IMAGE, name="-a"), ("LF805", "label")),
        (Env.wheels(name="a", packages=[], python="3.11"), ("LF811", "packages")),
        (Env.wheels(name="a", packages=["x"], python="3"), ("LF809", "python")),
        (Env.wheels(name="a", packages=["x"], python="3.7"), ("LF809", "python")),
        (Env.conda(name="a", packages=["x"], program=""), ("LF816", "program")),
        (Env.conda(name="a", packages=["x"], program="conda install"), ("LF816", "program")),
        (Env.conda(name="a", packages=[], program="conda"), ("LF811", "packages")),
        *(
            (Env.container(image=image), ("LF817", "image"))
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
def test_environments_that_cannot_be(environment: Env, expected: tuple[str, str]) -> None:
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
def test_good_images(image: str) -> None:
    assert found(place(), Env.container(image=image)) == []


def test_smp_is_for_gpus_that_its_image_runs_on() -> None:
    assert found(place(group("g", GPU)), Env.smp()) == []
    assert found(place(group("g", GPU)), Env.smp(version="2.5")) == [("LF840", "environments[0].release")]
    assert found(place(group("g", GPU), region="me-south-1"), Env.smp()) == [("LF838", "environments[0].groups")]
    assert found(place(group("g", "ml.g4dn.xlarge")), Env.smp()) == [("LF837", "environments[0].groups")]


def test_two_environments_for_one_group_or_of_one_name() -> None:
    one, two = Env.container(image=IMAGE, name="a"), Env.container(image="x/y:2", name="a")
    assert found(place(), one, two) == [("LF805", "environments[1].label"), ("LF804", "environments[1].groups")]


def test_a_group_has_one_environment_of_each_use() -> None:
    one, two = Env.container(image=IMAGE, name="a"), Env.container(image="x/y:2", name="b", use=EXPORT)
    assert found(place(), one, two) == []
    assert found(place(), two, one, Env.server(kind=ServerKind.TGI)) == [("LF804", "environments[2].groups")]
    named = Env.container(image="x/y:2", groups=["workers"])
    assert found(place(), one, named, two) == [("LF804", "environments[1].groups")]


def test_what_exports_is_for_groups_with_neuron_devices_that_it_runs_on() -> None:
    where = place(group("a", TRN1), group("b", CPU), group("c", TRN2), group("d", GPU))
    assert plan(Env.server(kind=ServerKind.TGI), where).groups == ("a",)
    assert plan(Env.container(image=IMAGE, use=EXPORT), where).groups == ("a", "c")
    assert plan(Env.container(image=IMAGE), where).groups == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("environment", "where", "said"),
    [
        (Env.server(kind=ServerKind.AWS_VLLM), "server_kind", "leave this environment out"),
        (Env.server(kind="tgy"), "server_kind", "'tgi'"),  # pyright: ignore[reportArgumentType]
        (replace(Env.server(kind=ServerKind.TGI), use=EnvironmentUse.JOBS), "use", "leave `use` out"),
        (Env.server(kind=ServerKind.TGI, groups=["cpu"]), "groups[0]", "Neuron devices"),
        (Env.server(kind=ServerKind.TGI, groups=["trn2"]), "groups[0]", "that it runs on"),
        (Env.neuron(use=EXPORT, groups=["workers"]), "use", "kind server"),
        (Env.wheels(name="a", packages=["torch"], python="3.11", use=EXPORT), "use", "add optimum-neuron"),
        (Env.conda(name="a", packages=["x"], program="conda", use=EXPORT), "use", "add optimum-neuron"),
        (replace(Env.smp(groups=["gpu"]), use=EXPORT), "use", "leave `use` out"),
        (Env.container(image=IMAGE, use=EXPORT, groups=["gpu"]), "groups[0]", "Neuron devices"),
    ],
)
def test_environments_in_which_nothing_is_exported(environment: Env, where: str, said: str) -> None:
    groups = (group("workers", TRN1), group("cpu", CPU), group("trn2", TRN2), group("gpu", GPU))
    (problem,) = check_training(TrainingRuntime(environments=[environment]), place(*groups, files=None))
    assert (problem.code.value, problem.where) == ("LF823", f"environments[0].{where}")
    assert said in problem.remedy


def test_packages_with_the_exporter_may_export() -> None:
    own = Env.wheels(name="a", packages=["optimum_neuron==0.4.5"], python="3.10", use=EXPORT)
    assert found(place(files=None), own) == []


def test_the_image_of_a_server_is_that_of_a_region_that_is_known() -> None:
    server = Env.server(kind=ServerKind.HUGGING_FACE_VLLM)
    for region, said in (
        ("${Token[AWS.Region.3]}", "nobody knows"),
        (None, "nobody knows"),
        ("il-central-1", "not offered"),
    ):
        (problem,) = check_training(TrainingRuntime(environments=[server]), place(region=region))
        assert (problem.code.value, problem.where) == ("LF823", "environments[0].server_kind")
        assert said in problem.message


def test_a_whole_runtime_is_good() -> None:
    assert found(place(files=NXD), Env.neuron()) == []
