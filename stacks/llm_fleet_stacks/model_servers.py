"""The model servers that a fleet file describes, as values of the construct."""

from typing import Any

from llm_fleet.config.services.aws_vllm_neuron_server import AwsVllmNeuronServerConfig
from llm_fleet.config.services.aws_vllm_server import AwsVllmServerConfig
from llm_fleet.config.services.hugging_face_vllm_server import HuggingFaceVllmServerConfig
from llm_fleet.config.services.server import ServerConfig
from llm_fleet.config.services.servers import AnyServer
from llm_fleet.config.services.tgi_server import TgiServerConfig
from llm_fleet.config.services.vllm_server import NxdVllmServerConfig, VllmServerConfig
from llm_fleet.inference.model_server import ModelServer


def server_from(config: AnyServer) -> ModelServer:
    """Return the server that `config` describes."""
    match config:
        case TgiServerConfig():
            return _tgi(config)
        case HuggingFaceVllmServerConfig():
            return ModelServer.hugging_face_vllm(
                task=config.task,
                allow_non_cached_model=config.allow_non_cached_model,
                **_common(config),
                **_of_vllm(config),
            )
        case AwsVllmServerConfig():
            return ModelServer.aws_vllm(
                compiled_artifacts=config.compiled_artifacts, **_common(config), **_of_aws_vllm(config)
            )
        case AwsVllmNeuronServerConfig():
            return ModelServer.aws_vllm_neuron(
                compilation_timeout_seconds=config.compilation_timeout_seconds,
                engine_ready_timeout_seconds=config.engine_ready_timeout_seconds,
                execute_model_timeout_seconds=config.execute_model_timeout_seconds,
                **_common(config),
                **_of_aws_vllm(config),
            )


def _tgi(config: TgiServerConfig) -> ModelServer:
    return ModelServer.tgi(
        cast_type=config.cast_type,
        max_input_tokens=config.max_input_tokens,
        max_batch_prefill_tokens=config.max_batch_prefill_tokens,
        max_concurrent_requests=config.max_concurrent_requests,
        max_waiting_tokens=config.max_waiting_tokens,
        waiting_served_ratio=config.waiting_served_ratio,
        max_client_batch_size=config.max_client_batch_size,
        max_best_of=config.max_best_of,
        max_stop_sequences=config.max_stop_sequences,
        max_top_n_tokens=config.max_top_n_tokens,
        payload_limit_bytes=config.payload_limit_bytes,
        validation_workers=config.validation_workers,
        graceful_termination_seconds=config.graceful_termination_seconds,
        json_output=config.json_output,
        usage_stats=config.usage_stats,
        cors_allow_origin=config.cors_allow_origin,
        otlp_endpoint=config.otlp_endpoint,
        otlp_service_name=config.otlp_service_name,
        tokenizer_config_path=config.tokenizer_config_path,
        disable_grammar_support=config.disable_grammar_support,
        trust_remote_code=config.trust_remote_code,
        **_common(config),
    )


def _common(config: ServerConfig) -> dict[str, Any]:
    return {
        "tensor_parallel": config.tensor_parallel,
        "batch_size": config.batch_size,
        "sequence_length": config.sequence_length,
        "image": config.image,
        "runtime_version": config.runtime_version,
        "environment": config.environment,
        "capabilities": config.capabilities,
    }


def _of_vllm(config: VllmServerConfig) -> dict[str, Any]:
    return {
        "chat_template": config.chat_template,
        "tool_call_parser": config.tool_call_parser,
        "enable_auto_tool_choice": config.enable_auto_tool_choice,
        "trust_remote_code": config.trust_remote_code,
        "extra_arguments": config.extra_arguments or None,
    }


def _of_aws_vllm(config: NxdVllmServerConfig) -> dict[str, Any]:
    return {"additional_config": config.additional_config or None, **_of_vllm(config)}
