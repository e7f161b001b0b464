"""Commands of servers, and the repositories of their images."""

from typing import Any, cast

import pytest

from llm_fleet.catalog.model_server import own_variables, server_settings
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.inference.model import CACHE_ENVIRONMENT, CONTAINER_PATH
from llm_fleet.inference.server import ServerProcess, repository_arn, server_process
from llm_fleet.rules.inference.server import check_server
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.model_server import (
    SERVERS,
    AwsVllmNeuronServer,
    AwsVllmServer,
    HuggingFaceVllmServer,
    ModelServer,
    ServerKind,
    TgiServer,
)
from llm_fleet.spec.model_shape import Model
from tests.rules.inference.services import OWN_IMAGE

MODEL = Model(s3_uri="s3://my-models/tanuki-8b")
COMMON = {
    "kind",
    "tensor_parallel",
    "batch_size",
    "sequence_length",
    "image",
    "runtime_version",
    "environment",
    "capabilities",
}


def process_of(
    server: ModelServer,
    model: Model | None = None,
    region: str = "us-west-2",
    idle_timeout_seconds: int | None = None,
    *,
    load_seconds: int | None = None,
    managed: bool = False,
) -> ServerProcess:
    instance = neuron_instance("inf2.24xlarge")
    assert instance is not None
    return server_process(
        server,
        instance=instance,
        model=model or MODEL,
        model_path="/models/tanuki-8b",
        served_name="chat",
        region=region,
        idle_timeout_seconds=idle_timeout_seconds,
        load_seconds=load_seconds,
        managed=managed,
    )


@pytest.mark.parametrize("kind", ServerKind)
def test_every_setting_of_the_catalog_is_an_argument_with_its_name(kind: ServerKind) -> None:
    assert set(SERVERS[kind].model_fields) == COMMON | set(server_settings(kind))
    assert SERVERS[kind]().kind is kind
    assert SERVERS[kind]().settings == {}
    assert SERVERS[kind]().facts.name == kind.value


def test_servers_can_be_switched_with_equal_settings() -> None:
    def of(make: type[ModelServer]) -> ServerProcess:
        return process_of(make(tensor_parallel=8, batch_size=16, sequence_length=2048))

    tgi = of(TgiServer)
    assert tgi.environment["HF_NUM_CORES"] == "8"
    assert tgi.environment["MAX_BATCH_SIZE"] == "16"
    assert tgi.environment["MAX_TOTAL_TOKENS"] == "2048"
    hugging_face = " ".join(of(HuggingFaceVllmServer).command)
    assert "--tensor_parallel_size 8 --batch_size 16 --sequence_length 2048" in hugging_face
    aws = " ".join(of(AwsVllmServer).command)
    assert "--tensor-parallel-size 8 --max-num-seqs 16 --max-model-len 2048" in aws


def test_tgi_gets_all_values_that_its_entry_script_would_compute() -> None:
    # backends/neuron/server/text_generation_server/tgi_env.py: tgi_env_vars, and what the launcher defaults badly
    process = process_of(TgiServer())
    assert process.entry_point == ("text-generation-launcher",)
    assert process.command == ()
    assert process.environment == {
        "HF_HUB_OFFLINE": "1",
        "MODEL_ID": "/models/tanuki-8b",
        "HOSTNAME": "0.0.0.0",
        "PORT": "8080",
        "HF_NUM_CORES": "12",
        "HF_AUTO_CAST_TYPE": "bf16",
        "MAX_BATCH_SIZE": "4",
        "MAX_TOTAL_TOKENS": "4096",
        "MAX_INPUT_TOKENS": "2048",
        "MAX_BATCH_PREFILL_TOKENS": "8192",
        "MAX_CONCURRENT_REQUESTS": "32",
        "GRACEFUL_TERMINATION_TIMEOUT": "90",
        "JSON_OUTPUT": "true",
        "LOG_LEVEL": "info,text_generation_launcher=warn,text_generation_launcher[shard-manager]=info",
        "USAGE_STATS": "off",
    }


def test_settings_are_passed_to_the_server() -> None:
    server = TgiServer(
        cast_type="fp16",
        max_input_tokens=3000,
        max_concurrent_requests=7,
        json_output=False,
        graceful_termination_seconds=30,
        waiting_served_ratio=0.5,
    )
    process = process_of(server)
    assert process.environment["HF_AUTO_CAST_TYPE"] == "fp16"
    assert process.environment["MAX_INPUT_TOKENS"] == "3000"
    assert process.environment["MAX_BATCH_PREFILL_TOKENS"] == "12000"
    assert process.environment["MAX_CONCURRENT_REQUESTS"] == "7"
    assert process.environment["JSON_OUTPUT"] == "false"
    assert process.environment["WAITING_SERVED_RATIO"] == "0.5"
    assert process.environment["GRACEFUL_TERMINATION_TIMEOUT"] == "30"
    assert process.termination_seconds == 30


def test_no_server_sends_usage_data_or_closes_a_connection_before_the_load_balancer() -> None:
    process = process_of(HuggingFaceVllmServer(), idle_timeout_seconds=600)
    assert process.environment == {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "660",
    }
    tgi = process_of(TgiServer(), idle_timeout_seconds=600)
    assert tgi.environment == process_of(TgiServer()).environment


def test_arguments_of_vllm_are_not_split() -> None:
    server = AwsVllmServer(
        additional_config={"override_neuron_config": {"enable_bucketing": False}},
        compiled_artifacts="/models/tanuki-8b/compiled",
        enable_auto_tool_choice=True,
        trust_remote_code=False,
        extra_arguments=("--chat-template-content-format", "a b"),
    )
    process = process_of(server)
    assert process.entry_point == ("vllm", "serve")
    assert process.command[0] == "/models/tanuki-8b"
    assert '{"override_neuron_config":{"enable_bucketing":false}}' in process.command
    assert process.command[-3:] == ("--enable-auto-tool-choice", "--chat-template-content-format", "a b")
    assert "--trust-remote-code" not in process.command
    assert process.environment["NEURON_COMPILED_ARTIFACTS"] == "/models/tanuki-8b/compiled"


def test_the_key_has_the_servers_own_variable_and_is_in_no_command() -> None:
    assert process_of(TgiServer()).api_key_variable == "API_KEY"
    for maker in (HuggingFaceVllmServer, AwsVllmServer, AwsVllmNeuronServer):
        process = process_of(maker())
        assert process.api_key_variable == "VLLM_API_KEY"
        assert "--api-key" not in process.command
        assert process.command[process.command.index("--served-model-name") + 1] == "chat"


@pytest.mark.parametrize(
    ("region", "registry"),
    [
        ("us-west-2", "763104351884.dkr.ecr.us-west-2.amazonaws.com"),
        ("eu-south-1", "692866216735.dkr.ecr.eu-south-1.amazonaws.com"),
        ("us-gov-west-1", "442386744353.dkr.ecr.us-gov-west-1.amazonaws.com"),
    ],
)
def test_the_image_comes_from_the_regions_own_registry(region: str, registry: str) -> None:
    process = process_of(TgiServer(), region=region)
    assert process.image.startswith(f"{registry}/huggingface-pytorch-tgi-inference:2.7.0-optimum3.3.6-neuronx")
    assert process.ecr_account == registry.split(".")[0]


def test_another_image_is_used_unchanged() -> None:
    process = process_of(TgiServer(image=OWN_IMAGE, runtime_version="2.26.42.0"), region="eu-west-2")
    assert (process.image, process.ecr_account) == (OWN_IMAGE, None)


def test_only_with_a_model_of_the_hub_the_server_connects_to_the_hub() -> None:
    hub = process_of(TgiServer(), Model(hub_id="owner/tanuki-8b", revision="main"))
    assert "HF_HUB_OFFLINE" not in hub.environment
    assert hub.environment["REVISION"] == "main"
    assert hub.hub_token_variable == "HF_TOKEN"


def test_all_errors_are_reported_together() -> None:
    problems = check_server(TgiServer(batch_size=0, max_best_of=0, image="tgi"))
    assert [problem.code.value for problem in problems] == ["LF700", "LF701", "LF704", "LF704"]
    with pytest.raises(FleetError) as error:
        TgiServer(usage_stats=cast(Any, "of"))
    assert [(problem.code.value, problem.where) for problem in error.value.problems] == [("LF114", "usage_stats")]


@pytest.mark.parametrize("kind", ServerKind)
@pytest.mark.parametrize("managed", [False, True])
def test_every_variable_of_a_service_is_reserved(kind: ServerKind, managed: bool) -> None:
    model = Model(s3_uri="s3://my-models/tanuki-8b", revision="main")
    process = process_of(SERVERS[kind](), model, idle_timeout_seconds=600, load_seconds=3600, managed=managed)
    secrets = {process.api_key_variable, process.hub_token_variable}
    assert {*process.environment, *CACHE_ENVIRONMENT, *secrets} <= own_variables(kind)


@pytest.mark.parametrize("kind", ServerKind)
def test_variables_of_the_user_are_passed_to_the_container(kind: ServerKind) -> None:
    process = process_of(SERVERS[kind](environment={"NEURON_RT_LOG_LEVEL": "INFO"}))
    assert process.environment["NEURON_RT_LOG_LEVEL"] == "INFO"


@pytest.mark.parametrize(
    ("own", "flags"),
    [
        ((), ("--no-enable-prefix-caching", "--num-gpu-blocks-override", "4")),
        (("--num-gpu-blocks-override=9",), ("--no-enable-prefix-caching", "--num-gpu-blocks-override=9")),
        (("--enable_chunked_prefill",), ("--no-enable-prefix-caching", "--enable_chunked_prefill")),
        (
            ("--enable-prefix-caching", "--block-size", "32"),
            ("--enable-prefix-caching", "--block-size", "32"),
        ),
    ],
)
def test_nxd_inference_gets_its_required_flags(own: tuple[str, ...], flags: tuple[str, ...]) -> None:
    command = process_of(AwsVllmServer(extra_arguments=own)).command
    assert command[command.index("--max-model-len") + 2 :] == flags


def test_nxd_inference_compiles_into_a_cache_folder_for_model_sizes_and_image() -> None:
    def place(server: ModelServer, location: str = "s3://my-models/tanuki-8b") -> str:
        return process_of(server, Model(s3_uri=location)).environment["NEURON_COMPILED_ARTIFACTS"]

    usual = place(AwsVllmServer())
    assert usual.startswith(f"{CONTAINER_PATH}/compiled/")
    others = [
        place(AwsVllmServer(batch_size=8)),
        place(AwsVllmServer(image=OWN_IMAGE, runtime_version="2.30.51.0")),
        place(AwsVllmServer(), location="s3://my-models/tanuki-9b"),
        place(AwsVllmServer(environment={"NEURON_CC_FLAGS": "-O1"})),
        place(AwsVllmServer(environment={"NEURON_CC_FLAGS": "-O2"})),
    ]
    assert len({usual, *others}) == 6
    flags = [("NEURON_CC_FLAGS", "-O1"), ("NEURON_LOGICAL_NC_CONFIG", "1")]
    assert len({place(AwsVllmServer(environment=dict(each))) for each in (flags, flags[::-1])}) == 1
    tokens = {place(AwsVllmServer(), location=f"s3://${{Token[TOKEN.{number}]}}/x") for number in (1, 2)}
    assert len(tokens) == 1, "the number of a token is no part of the name"
    assert place(AwsVllmServer(compiled_artifacts="/model/compiled")) == "/model/compiled"


def test_the_plugin_for_trn2_starts_without_efa() -> None:
    assert process_of(AwsVllmNeuronServer()).environment["NEURON_SKIP_EFA_AFFINITY"] == "1"


def test_the_plugin_for_trn2_stores_compiled_graphs_in_the_cache() -> None:
    assert process_of(AwsVllmNeuronServer()).environment["VLLM_CACHE_ROOT"] == f"{CONTAINER_PATH}/vllm"


def test_the_plugin_for_trn2_has_the_timeouts_of_the_service_by_default() -> None:
    def limits(server: ModelServer) -> list[str | None]:
        environment = process_of(server, load_seconds=7200).environment
        names = ("NEURON_COMPILATION_TIMEOUT", "ENGINE_READY_TIMEOUT_S", "EXECUTE_MODEL_TIMEOUT_SECONDS")
        return [environment.get(f"VLLM_{name}") for name in names]

    assert limits(AwsVllmNeuronServer()) == ["7200", "7200", "1200"]
    own = AwsVllmNeuronServer(
        compilation_timeout_seconds=60, engine_ready_timeout_seconds=61, execute_model_timeout_seconds=62
    )
    assert limits(own) == ["60", "61", "62"]
    assert limits(AwsVllmServer()) == [None, None, None]


def test_the_queue_of_vllm_fits_the_shared_memory_of_managed_instances() -> None:
    pieces, mib = 10, int(process_of(AwsVllmServer(), managed=True).environment["VLLM_MQ_MAX_CHUNK_BYTES_MB"])
    assert pieces * mib < 64
    assert "VLLM_MQ_MAX_CHUNK_BYTES_MB" not in process_of(AwsVllmServer()).environment


ECR = "763104351884.dkr.ecr.us-west-2.amazonaws.com"


@pytest.mark.parametrize(
    ("image", "arn"),
    [
        (f"{ECR}/tgi:1.2", "arn:aws:ecr:us-west-2:763104351884:repository/tgi"),
        (f"{ECR}/team/tgi", "arn:aws:ecr:us-west-2:763104351884:repository/team/tgi"),
        (f"{ECR}/tgi@sha256:{'0' * 64}", "arn:aws:ecr:us-west-2:763104351884:repository/tgi"),
        (
            "111122223333.dkr-ecr.us-gov-west-1.on.aws/tgi:1",
            "arn:aws:ecr:us-gov-west-1:111122223333:repository/tgi",
        ),
        (
            "111122223333.dkr.ecr-fips.us-east-1.amazonaws.com/tgi:1",
            "arn:aws:ecr:us-east-1:111122223333:repository/tgi",
        ),
        ("public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.13.0", None),
        ("ghcr.io/huggingface/text-generation-inference:3.3.5-neuron", None),
        ("${Token[TOKEN.12]}", None),
    ],
)
def test_the_arn_of_a_repository(image: str, arn: str | None):
    assert repository_arn(image, partition="aws") == arn
