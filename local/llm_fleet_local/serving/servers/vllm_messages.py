"""The JSON that vLLM sends (vllm/entrypoints/openai).

Source: assumption model-servers-as-in-their-sources
"""

import time
import uuid
from collections.abc import Mapping
from typing import Any


def error(status: int, kind: str, message: str) -> dict[str, Any]:
    """An error, in OpenAI's form."""
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def usage(prompt: int, completion: int) -> dict[str, int]:
    """How many tokens there were."""
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


def chat_chunk(identity: str, model: str, delta: Mapping[str, str], finish_reason: str | None) -> dict[str, Any]:
    """One event of a chat's stream."""
    choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
    return _message("chat.completion.chunk", identity, model, [choice])


def usage_chunk(kind: str, identity: str, model: str, counted: dict[str, int]) -> dict[str, Any]:
    """The event after the last token, if requested; it has no choices."""
    return {**_message(kind, identity, model, []), "usage": counted}


def chat_completion(model: str, text: str, finish_reason: str, counted: dict[str, int]) -> dict[str, Any]:
    """A whole chat."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "tool_calls": []}
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": finish_reason,
        "stop_reason": None,
    }
    return {**_message("chat.completion", identity("chatcmpl"), model, [choice]), "usage": counted}


def completion(identity: str, model: str, text: str, finish_reason: str | None) -> dict[str, Any]:
    """A completion or one event of its stream."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
    return _message("text_completion", identity, model, [choice])


def models(name: str, path: str, length: int) -> dict[str, Any]:
    """What `/v1/models` lists."""
    entry: dict[str, Any] = {
        "id": name,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "vllm",
        "root": path,
    }
    return {"object": "list", "data": [{**entry, "parent": None, "max_model_len": length, "permission": []}]}


def identity(kind: str) -> str:
    """Return an id of an answer, e.g. `chatcmpl-…`."""
    return f"{kind}-{uuid.uuid4().hex}"


def _message(kind: str, identity: str, model: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": identity, "object": kind, "created": int(time.time()), "model": model, "choices": choices}
