"""What the OpenAI interface's requests say, read alike for all servers."""

from collections.abc import Mapping
from typing import Any, cast


def prompt_of(messages: list[Mapping[str, Any]]) -> str:
    """Return the conversation as one text, as a simple chat template makes it."""
    return "\n".join(f"{message.get('role', '')}: {text_of(message)}" for message in messages)


def question_of(messages: list[Mapping[str, Any]]) -> str:
    """Return what the user said last."""
    return next((text_of(item) for item in reversed(messages) if item.get("role") == "user"), "")


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's text, whether it is in one piece or in parts."""
    content: Any = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in cast("list[Mapping[str, Any]]", content))


def limit_of(body: Mapping[str, Any]) -> int | None:
    """Return how many tokens the client wants at most; both of OpenAI's names."""
    limit: Any = body.get("max_completion_tokens", body.get("max_tokens"))
    return None if limit is None else int(limit)


def prompts_of(body: Mapping[str, Any]) -> list[str]:
    """Return the prompts of a completion: one text, or several."""
    prompt: Any = body["prompt"]
    return [prompt] if isinstance(prompt, str) else [str(item) for item in cast("list[Any]", prompt)]


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Tell whether a stream ends with how many tokens there were."""
    options: Any = body.get("stream_options") or {}
    return bool(cast("Mapping[str, Any]", options).get("include_usage"))


def new_tokens_of(body: Mapping[str, Any]) -> int | None:
    """Return the limit in TGI's own requests."""
    limit = cast("Mapping[str, Any]", body.get("parameters") or {}).get("max_new_tokens")
    return None if limit is None else int(limit)
