"""Rules of a model server: settings, instance types and regions."""

from typing import Any

import pytest

from llm_fleet.catalog.model_server import model_servers, server_settings
from llm_fleet.catalog.neuron import neuron_instance, neuron_instance_names
from llm_fleet.rules.inference.server import check_server, check_server_on, cores_of
from llm_fleet.spec.model_server import SERVERS, ModelServer, ServerKind
from tests.rules.inference.services import OWN_IMAGE, TOKEN, a_server

INF2 = "inf2.xlarge"


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (a_server(batch_size=0), [("LF700", "batch_size")]),
        (a_server(batch_size=-1, sequence_length=0), [("LF700", "batch_size"), ("LF700", "sequence_length")]),
        (a_server(batch_size="4"), [("LF700", "batch_size")]),  # type: ignore[arg-type]
        (a_server(tensor_parallel=0), [("LF703", "tensor_parallel")]),
        (a_server(settings={"max_best_of": 0}), [("LF701", "max_best_of")]),
        (a_server(settings={"graceful_termination_seconds": 86391}), [("LF701", "graceful_termination_seconds")]),
        (a_server(settings={"waiting_served_ratio": -0.1}), [("LF701", "waiting_served_ratio")]),
        (a_server(settings={"max_input_tokens": 4096}), [("LF701", "max_input_tokens")]),
        (a_server(settings={"max_batch_prefill_tokens": 2047}), [("LF701", "max_batch_prefill_tokens")]),
        (
            a_server(settings={"max_input_tokens": 3000, "max_batch_prefill_tokens": 2999}),
            [("LF701", "max_batch_prefill_tokens")],
        ),
        (a_server(image="tgi"), [("LF704", "image"), ("LF704", "runtime_version")]),
        (a_server(image=OWN_IMAGE), [("LF704", "runtime_version")]),
        (a_server(image=OWN_IMAGE, runtime_version="2.33"), [("LF707", "runtime_version")]),
        (a_server(runtime_version="2.33.10.0"), [("LF704", "runtime_version")]),
    ],
)
def test_invalid_settings_are_reported(server: ModelServer, expected: list[tuple[str, str]]) -> None:
    problems = check_server(server)
    assert [(problem.code.value, problem.where) for problem in problems] == expected
    assert all(problem.remedy for problem in problems)


@pytest.mark.parametrize(
    "server",
    [
        a_server(),
        a_server(batch_size=1, sequence_length=2, settings={"max_input_tokens": 1}),
        a_server(settings={"max_input_tokens": 4095, "max_batch_prefill_tokens": 4095, "waiting_served_ratio": 0.5}),
        a_server(settings={"graceful_termination_seconds": 86390, "json_output": False, "usage_stats": "no-stack"}),
        a_server(settings={"max_best_of": None}),
        a_server(image=OWN_IMAGE, runtime_version="2.33.10.0"),
        a_server(image=f"{OWN_IMAGE}@sha256:{'0' * 64}", runtime_version=TOKEN),
        a_server(image=TOKEN, runtime_version="2.33.10.0", tensor_parallel=-1.8881545897087e289),  # type: ignore[arg-type]
        a_server(kind=ServerKind.AWS_VLLM, settings={"extra_arguments": ["--x"], "additional_config": {"a": 1}}),
    ],
)
def test_valid_servers_and_tokens_pass(server: ModelServer) -> None:
    assert check_server(server) == []


@pytest.mark.parametrize(
    ("kind", "name", "value", "expected", "remedy"),
    [
        (ServerKind.AWS_VLLM, "NEURON_COMPILED_ARTIFACTS", "/x", "LF708", "the setting `compiled_artifacts`"),
        (ServerKind.TGI, "MAX_BATCH_SIZE", "9", "LF708", "sets it from `tensor_parallel`, `batch_size`"),
        (ServerKind.HUGGING_FACE_VLLM, "HF_HOME", "/x", "LF708", "remove it"),
        (ServerKind.TGI, "1ST", "x", "LF708", "no digit first"),
        (ServerKind.AWS_VLLM, "WANDB_API_KEY", "abc", "LF709", "Secrets Manager"),
        (ServerKind.AWS_VLLM, "EXTRA", f"hf_{'a' * 34}", "LF709", "Secrets Manager"),
        (ServerKind.AWS_VLLM, "EXTRA", "{{resolve:secretsmanager:key}}", "LF709", "Secrets Manager"),
    ],
)
def test_a_reserved_or_secret_variable_is_reported(
    kind: ServerKind, name: str, value: Any, expected: str, remedy: str
) -> None:
    (problem,) = check_server(a_server(kind=kind, environment={name: value}))
    assert (problem.code.value, problem.path) == (expected, ("environment", name))
    assert remedy in problem.remedy
    assert expected == "LF708" or problem.value is None, "a secret is not repeated"


def test_valid_variables_pass() -> None:
    good = {"NEURON_RT_LOG_LEVEL": "INFO", "WANDB_API_KEY": TOKEN, "MAX_TOKENS": "4", "HF_HUB_ETAG_TIMEOUT": "30"}
    assert check_server(a_server(environment=good)) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("CAP_IPC_LOCK", "write IPC_LOCK"),
        ("ipc_lock", "write IPC_LOCK"),
        ("ALL", "write each capability"),
        ("BPF", "one of the allowed capabilities"),
        (7, "one of the allowed capabilities"),
    ],
)
def test_an_invalid_capability_is_reported(name: Any, remedy: str) -> None:
    (problem,) = check_server(a_server(capabilities=("SYS_NICE", name)))
    assert (problem.code.value, problem.path) == ("LF766", ("capabilities", 1))
    assert remedy in problem.remedy
    assert "IPC_LOCK, " in str(problem.allowed)


def test_capabilities_are_a_list_without_duplicates() -> None:
    (twice,) = check_server(a_server(capabilities=("IPC_LOCK", "IPC_LOCK")))
    assert (twice.code.value, twice.path, twice.remedy) == ("LF766", ("capabilities", 1), "write it once")
    assert check_server(a_server(capabilities=["SYS_ADMIN", "IPC_LOCK", TOKEN])) == []


@pytest.mark.parametrize(
    ("server", "instance", "expected", "remedy"),
    [
        (a_server(tensor_parallel=3), INF2, "LF703", "write 2"),
        (a_server(tensor_parallel=3), "inf2.48xlarge", "LF703", "write 4"),
        (a_server(tensor_parallel=8), INF2, "LF703", "or use inf2.24xlarge"),
        (a_server(tensor_parallel=24), "inf2.24xlarge", "LF703", "or use inf2.48xlarge"),
        (a_server(tensor_parallel=12), "trn1.32xlarge", "LF703", "write 16"),
        (a_server(kind=ServerKind.AWS_VLLM_NEURON), INF2, "LF702", "use an instance type of trn2"),
        (a_server(), "trn2.48xlarge", "LF702", "the server 'aws-vllm' or 'aws-vllm-neuron'"),
        (a_server(kind=ServerKind.HUGGING_FACE_VLLM), "trn2.3xlarge", "LF702", "inf2 or trn1"),
    ],
)
def test_a_server_on_an_unsupported_instance_is_reported(
    server: ModelServer, instance: str, expected: str, remedy: str
) -> None:
    (problem,) = check_server_on(server, instance, "us-west-2")
    assert problem.code.value == expected
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    ("server", "instance"),
    [
        (a_server(), INF2),
        (a_server(tensor_parallel=1), INF2),
        (a_server(tensor_parallel=24), "inf2.48xlarge"),
        (a_server(kind=ServerKind.AWS_VLLM_NEURON, tensor_parallel=64), "trn2.48xlarge"),
        (a_server(tensor_parallel=3), TOKEN),
        (a_server(tensor_parallel=3), "inf2.2xlarge"),  # reported by the rules of hosts
        (a_server(tensor_parallel=0), INF2),  # reported without the instance
    ],
)
def test_a_server_on_a_supported_instance_passes(server: ModelServer, instance: str) -> None:
    assert check_server_on(server, instance, "us-west-2") == []


def test_an_image_that_is_missing_in_the_region_is_reported() -> None:
    server = a_server(kind=ServerKind.HUGGING_FACE_VLLM)
    (problem,) = check_server_on(server, INF2, "eu-west-2")
    assert problem.code.value == "LF705"
    assert "eu-west-1" in problem.allowed
    for region in ("eu-west-1", TOKEN, None, "no-such-region"):
        assert check_server_on(server, INF2, region) == []
    own = a_server(kind=ServerKind.HUGGING_FACE_VLLM, image=OWN_IMAGE, runtime_version="2.28.23.0")
    assert check_server_on(own, INF2, "eu-west-2") == []


def test_a_server_uses_all_cores_by_default() -> None:
    instance = neuron_instance("inf2.24xlarge")
    assert instance is not None
    assert (instance.cores, instance.hbm_gib, instance.device_paths[-1]) == (12, 192, "/dev/neuron5")
    assert cores_of(a_server(), instance) == 12
    assert cores_of(a_server(tensor_parallel=8), instance) == 8


@pytest.mark.parametrize("name", neuron_instance_names())
def test_each_neuron_instance_can_be_used_with_all_cores(name: str) -> None:
    instance = neuron_instance(name)
    assert instance is not None
    assert instance.cores == max(instance.tensor_parallel)


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "sk-123"],
        ["--api_key=sk-123"],
        ["--max-log-len", "256", "--Port", "9000"],
        ["--host", "127.0.0.1"],
        ["-tp", "8"],
        ["--sequence_length", "9"],
        ["--hf-token", "hf_1"],
    ],
)
def test_extra_arguments_cannot_replace_arguments_of_the_service(words: list[str]) -> None:
    for kind in (ServerKind.AWS_VLLM, ServerKind.HUGGING_FACE_VLLM):
        (problem,) = check_server(a_server(kind=kind, settings={"extra_arguments": words}))
        assert (problem.code.value, problem.path) == ("LF701", ("extra_arguments",))
        assert "sk-123" not in str(problem), "what is a secret is not repeated"
        assert "hf_1" not in str(problem)


def test_each_kind_is_in_the_catalog_with_its_settings() -> None:
    assert set(model_servers()) == {kind.value for kind in ServerKind}
    for kind in ServerKind:
        for setting in server_settings(kind).values():
            assert (setting.variable is None) != (setting.argument is None), setting
            assert (setting.type == "choice") == bool(setting.choices), setting


@pytest.mark.parametrize("kind", ServerKind)
def test_the_catalog_has_every_setting_of_each_server(kind: ServerKind) -> None:
    own = set(SERVERS[kind].model_fields) - set(ModelServer.model_fields) - {"kind"}
    assert own == set(server_settings(kind))
