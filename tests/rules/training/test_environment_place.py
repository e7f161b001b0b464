"""Rules of a training runtime: types, folder, variables, processes, secret, compile cache; fabrics of its nodes."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from llm_fleet.rules.training.environment import check_training, plan_fabrics
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace, folder_of
from llm_fleet.rules.training.packages import plan
from llm_fleet.spec.cluster import ClusterSpec
from llm_fleet.spec.training_runtime import (
    AnyEnvironment,
    CompileCache,
    ContainerEnvironment,
    NeuronEnvironment,
    TrainingRuntime,
)
from tests.rules.training.runtimes import CPU, GPU, TRN1, TRN2, found, group, place

NEURON_ONLY = "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS"


def test_the_default_folder_is_on_lustre_or_on_other_shared_storage() -> None:
    assert folder_of(TrainingRuntime(), place()) == "/fsx/llm-fleet"
    lustre = SharedFolder(kind="lustre", path="/fsx", groups=["a"])
    home = place(group("a", TRN1), group("b", TRN1), shared=[SharedFolder(kind="open_zfs", path="/home"), lustre])
    assert folder_of(TrainingRuntime(), home) == "/home/llm-fleet"
    assert folder_of(TrainingRuntime(folder="/fsx//a/./b/"), place()) == "/fsx/a/b"


def test_a_runtime_requires_shared_storage() -> None:
    assert found(place(shared=[])) == [("LF800", "folder")]
    lustre = SharedFolder(kind="lustre", path="/fsx", groups=["a"])
    assert found(place(group("a", TRN1), group("b", TRN1), shared=[lustre])) == [("LF800", "folder")]


@pytest.mark.parametrize("folder", ["/fsx", "/opt/x", "fsx/x", "/", "/fsx/../etc", "/fsx/a b", "/fsxx/a", "/fsx/$HOME"])
def test_invalid_folders_are_reported(folder: str) -> None:
    assert found(place(), folder=folder) == [("LF801", "folder")]


@pytest.mark.parametrize("folder", ["/fsx/a", "/home/shared/training", "${Token[F.1]}"])
def test_valid_folders_pass(folder: str) -> None:
    assert found(place(), folder=folder) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lower", "1"),
        ("1A", "1"),
        ("A-B", "1"),
        ("LLM_FLEET_JOBS", "/x"),
        ("HF_TOKEN", "hf_x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("WANDB_API_KEY", "x"),
        ("A", "1\n2"),
    ],
)
def test_reserved_variables_are_reported(name: str, value: Any) -> None:
    assert found(place(), variables={name: value}) == [("LF818", f"variables.{name}")]


def test_a_secret_in_a_variable_is_not_shown() -> None:
    (problem,) = check_training(TrainingRuntime(variables={"HF_TOKEN": "hf_abc"}), place())
    assert "hf_abc" not in str(problem)
    assert "hub_token_secret" in problem.remedy


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "TOKENIZERS_PARALLELISM", "_X", "A1"])
def test_valid_variables_pass(name: str) -> None:
    assert found(place(), variables={name: "x y"}) == []


@pytest.mark.parametrize(
    ("processes", "where"),
    [({"workers": 0}, "workers"), ({"workers": 2000}, "workers"), ({"w": 2}, "w")],
)
def test_invalid_numbers_of_processes_are_reported(processes: dict[str, int], where: str) -> None:
    assert found(place(), processes=processes) == [("LF821", f"processes.{where}")]


def test_different_instance_types_require_a_number_of_processes() -> None:
    mixed = place(group("m", GPU, "ml.g5.12xlarge"))
    assert found(mixed) == [("LF821", "processes.m")]
    assert found(mixed, processes={"m": 4}) == []


def secret(arn: str) -> Any:
    return Mock(secret_arn=arn)


@pytest.mark.parametrize(
    "arn", ["hf_abcdef", "arn:aws:s3:::x", "arn:aws:secretsmanager:us-east-1:111122223333:secret:hub-AbCdEf"]
)
def test_secrets_that_nodes_cannot_read_are_reported(arn: str) -> None:
    (problem,) = check_training(TrainingRuntime(hub_token_secret=secret(arn)), place())
    assert (problem.code.value, problem.where) == ("LF819", "hub_token_secret")
    assert "hf_abcdef" not in str(problem)


def test_a_closed_network_cannot_connect_to_the_hub() -> None:
    arn = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
    assert found(place(), hub_token_secret=secret(arn)) == []
    assert found(place(internet=False), hub_token_secret=secret(arn)) == [("LF822", "hub_token_secret")]


def test_a_compile_cache_requires_limits_above_zero_and_neuron_devices() -> None:
    assert found(place(), compile_cache=CompileCache(max_age_days=1, max_gib=1)) == []
    assert found(place(), compile_cache=CompileCache(max_age_days=0)) == [("LF820", "compile_cache.max_age_days")]
    assert found(place(), compile_cache=CompileCache(max_gib=0)) == [("LF820", "compile_cache.max_gib")]
    assert found(place(group("g", GPU)), compile_cache=CompileCache()) == [("LF820", "compile_cache")]


def fabrics(where: TrainingPlace, *environments: AnyEnvironment, **runtime: Any) -> dict[str, Any]:
    planned = [plan(environment, where) for environment in environments]
    given = TrainingRuntime(environments=environments, **runtime)
    return {each.name: each for each in plan_fabrics(given, where, planned)}


@pytest.mark.parametrize(
    ("instance", "name", "processes"),
    [
        (TRN1, "neuron-efa", 32),
        ("ml.trn1n.32xlarge", "neuron-efa", 32),
        (TRN2, "neuron-efa", 64),
        ("trn1.2xlarge", "neuron", 2),
        (GPU, "nccl-efa", 8),
        ("ml.g5.xlarge", "nccl", 1),
        ("ml.c5n.18xlarge", "ethernet", 1),
        (CPU, "ethernet", 1),
        ("ml.unheard-of.xlarge", "ethernet", 1),
    ],
)
def test_each_kind_of_nodes_has_its_fabric(instance: str, name: str, processes: int) -> None:
    (fabric,) = fabrics(place(group("g", instance))).values()
    assert (fabric.name, fabric.processes, fabric.groups) == (name, processes, ("g",))


def test_device_rdma_is_set_for_neuron_and_not_for_gpus() -> None:
    both = fabrics(place(group("n", TRN1), group("g", GPU)))
    assert both["neuron-efa"].variables["FI_EFA_USE_DEVICE_RDMA"] == "1"
    assert "FI_EFA_USE_DEVICE_RDMA" not in both["nccl-efa"].variables
    assert both["nccl-efa"].variables["FI_EFA_USE_HUGE_PAGE"] == "0"
    assert both["neuron-efa"].variables["NEURON_RT_NUM_CORES"] == "32"


def test_variables_that_a_release_does_not_support_are_omitted() -> None:
    assert NEURON_ONLY in fabrics(place(), NeuronEnvironment())["neuron-efa"].variables
    newer = fabrics(place(group("g", TRN2)), NeuronEnvironment())["neuron-efa"]
    assert NEURON_ONLY not in newer.variables
    assert NEURON_ONLY not in fabrics(place(neuron_release="2.32.0"))["neuron-efa"].variables


def test_similar_groups_share_a_fabric_and_others_have_their_own() -> None:
    where = place(group("a", TRN1), group("b", TRN1), group("c", TRN2))
    found = fabrics(where, processes={"b": 2}, variables={"NCCL_DEBUG": "INFO", "FI_PROVIDER": "tcp"})
    assert {name: (fabric.groups, fabric.processes) for name, fabric in found.items()} == {
        "neuron-efa": (("a",), 32),
        "neuron-efa-2": (("b",), 2),
        "neuron-efa-3": (("c",), 64),
    }
    assert all(fabric.variables["FI_PROVIDER"] == "tcp" for fabric in found.values())
    assert all(fabric.variables["NCCL_DEBUG"] == "INFO" for fabric in found.values())
    assert [each.groups for each in fabrics(place(group("a", TRN1), group("b", TRN1))).values()] == [("a", "b")]


def test_lustre_has_priority_as_the_default_folder() -> None:
    where = place(shared=[SharedFolder(kind="Ebs", path="/apps"), SharedFolder(kind="lustre", path="/data")])
    assert folder_of(TrainingRuntime(), where) == "/data/llm-fleet"


IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:2026-11-20"
NUMBER_TOKEN: Any = -1.888154589708751e289
neuron: Callable[..., Any] = NeuronEnvironment
cache: Callable[..., Any] = CompileCache
runtime: Callable[..., Any] = TrainingRuntime
cluster: Callable[..., Any] = ClusterSpec


def test_valid_runtimes_pass() -> None:
    good = TrainingRuntime(
        environments=(ContainerEnvironment(image=IMAGE, groups=("workers",)),),
        variables={"NCCL_DEBUG": "${Token[x.1]}"},
        processes={"workers": NUMBER_TOKEN},
        compile_cache=CompileCache(),
    )
    assert ClusterSpec(training=good).training is good
    assert found(place(), processes={"workers": NUMBER_TOKEN}) == []
