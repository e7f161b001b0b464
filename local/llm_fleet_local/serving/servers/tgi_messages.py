"""The JSON that Text Generation Inference sends, from router/src/{lib,chat,server}.rs of version 3.

Source: assumption model-servers-as-in-their-sources
"""

import time
from collections.abc import Sequence
from typing import Any

from llm_fleet_local.serving.servers.tgi_settings import TgiSettings

VERSION = "3.3.6"
FINGERPRINT = f"{VERSION}-native"


def usage(prompt: int, completion: int) -> dict[str, int]:
    """How many tokens there were."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def chat_chunk(model: str, token: str, finish_reason: str | None) -> dict[str, Any]:
    """One token of a chat."""
    choice = {
        "index": 0,
        "delta": {"role": "assistant", "content": token},
        "logprobs": None,
        "finish_reason": finish_reason,
    }
    return _message("chat.completion.chunk", model, [choice], usage=None)


def chat_usage_chunk(model: str, counted: dict[str, int]) -> dict[str, Any]:
    """The chunk after the last token, if requested; it has no choices."""
    return _message("chat.completion.chunk", model, [], usage=counted)


def chat_completion(model: str, text: str, finish_reason: str, counted: dict[str, int]) -> dict[str, Any]:
    """A whole chat."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    return _message("chat.completion", model, [choice], usage=counted)


def completion(model: str, choices: list[dict[str, Any]], counted: dict[str, int] | None) -> dict[str, Any]:
    """A completion, or a chunk of one, which has no usage."""
    message = _message("text_completion", model, choices, usage=counted)
    return message if counted else {name: value for name, value in message.items() if name != "usage"}


def completion_choice(index: int, text: str, finish_reason: str) -> dict[str, Any]:
    """One prompt's part of a completion."""
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish_reason}


def stream_token(index: int, token: str, generated_text: str | None) -> dict[str, Any]:
    """One token of `/generate_stream`; the last one has the whole text."""
    details = {"id": index, "text": token, "logprob": 0.0, "special": False}
    return {"index": index, "token": details, "generated_text": generated_text, "details": None}


def error(message: str, error_type: str) -> dict[str, str]:
    """An error as the body of a response."""
    return {"error": message, "error_type": error_type}


def chat_error_event(message: str) -> dict[str, Any]:
    """An error in a chat's stream, whose status was sent before. assumption: tgi-stream-error-form"""
    return {"error": {"message": message, "http_status_code": 422}}


def models(settings: TgiSettings) -> dict[str, Any]:
    """What `/v1/models` lists."""
    model = {"id": settings.model_id, "object": "model", "created": 0, "owned_by": settings.model_id}
    return {"object": "list", "data": [model]}


def info(settings: TgiSettings) -> dict[str, Any]:
    """The response of `/info`."""
    return {
        "model_id": settings.model_id,
        "model_sha": None,
        "model_pipeline_tag": None,
        "max_concurrent_requests": settings.max_concurrent_requests,
        "max_best_of": settings.max_best_of,
        "max_stop_sequences": settings.max_stop_sequences,
        "max_input_tokens": settings.max_input_tokens,
        "max_total_tokens": settings.max_total_tokens,
        "validation_workers": settings.validation_workers,
        "max_client_batch_size": settings.max_client_batch_size,
        "router": "text-generation-router",
        "version": VERSION,
        "sha": None,
        "docker_label": None,
    }


def tokens(words: Sequence[str]) -> list[dict[str, Any]]:
    """What `/tokenize` returns."""
    found: list[dict[str, Any]] = []
    for number, word in enumerate(words):
        start = found[-1]["stop"] if found else 0
        found.append({"id": number, "text": word, "start": start, "stop": start + len(word)})
    return found


def _message(kind: str, model: str, choices: list[dict[str, Any]], usage: dict[str, int] | None) -> dict[str, Any]:
    return {
        "object": kind,
        "id": "",
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
        "usage": usage,
    }
