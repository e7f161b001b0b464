"""Parses requests of the OpenAI API and checks their types, for all servers.

Each server has its own response to a wrong request. Both are a little more lenient than this file: vLLM takes a
number that is written as text, and lists of token ids as a prompt, for which one needs a tokenizer.

Source: assumption model-servers-as-in-their-sources
"""

from collections.abc import Mapping
from typing import Any, NoReturn, cast


class WrongBody(Exception):
    """The body is JSON, but not a valid request; the message says why."""


def messages_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the conversation. Raises `WrongBody`."""
    messages = _list(_there(body, "messages"), "messages")
    return [_message(item, f"messages[{number}]") for number, item in enumerate(messages)]


def prompt_of(messages: list[Mapping[str, Any]]) -> str:
    """Return the conversation as one text, as a simple chat template makes it."""
    return "\n".join(f"{message['role']}: {text_of(message)}" for message in messages)


def question_of(messages: list[Mapping[str, Any]]) -> str:
    """Return the last message of the user."""
    return next((text_of(item) for item in reversed(messages) if item["role"] == "user"), "")


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's text, whether it is in one piece or in parts."""
    content: Any = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in cast("list[Mapping[str, Any]]", content))


def limit_of(body: Mapping[str, Any]) -> int | None:
    """Return how many tokens the client wants at most; both of OpenAI's names. Raises `WrongBody`."""
    given = [_count(body.get(name), name) for name in ("max_completion_tokens", "max_tokens")]
    return next((limit for limit in given if limit is not None), None)


def prompts_of(body: Mapping[str, Any]) -> list[str]:
    """Return the prompts of a completion: one text, or several. Raises `WrongBody`."""
    prompt = _there(body, "prompt")
    if isinstance(prompt, str):
        return [prompt]
    return [_text(item, f"prompt[{number}]") for number, item in enumerate(_list(prompt, "prompt"))]


def text_field(body: Mapping[str, Any], name: str) -> str:
    """Return a required text, such as TGI's `inputs`. Raises `WrongBody`."""
    return _text(_there(body, name), name)


def model_of(body: Mapping[str, Any]) -> str | None:
    """Return the requested model. Raises `WrongBody`."""
    requested = body.get("model")
    return None if requested is None else _text(requested, "model")


def wants_stream(body: Mapping[str, Any]) -> bool:
    """Return whether the response is streamed. Raises `WrongBody`."""
    return _flag(body, "stream")


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Return whether a stream ends with the token usage. Raises `WrongBody`."""
    return _flag(_options(body, "stream_options"), "include_usage")


def new_tokens_of(body: Mapping[str, Any]) -> int | None:
    """Return the limit in TGI's own requests. Raises `WrongBody`."""
    return _count(_options(body, "parameters").get("max_new_tokens"), "parameters.max_new_tokens")


def _message(item: Any, place: str) -> Mapping[str, Any]:
    message = _object(item, place)
    _text(message.get("role"), f"{place}.role")
    content: Any = message.get("content")
    if content is not None and not isinstance(content, str):
        for number, part in enumerate(_list(content, f"{place}.content")):
            text = _object(part, f"{place}.content[{number}]").get("text", "")
            _text(text, f"{place}.content[{number}].text")
    return message


def _there(body: Mapping[str, Any], name: str) -> Any:
    if name not in body:
        # Source: assumption model-servers-as-in-their-sources
        raise WrongBody(f"missing field `{name}`")
    return body[name]


def _options(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = body.get(name)
    return {} if given is None else _object(given, name)


def _count(value: Any, place: str) -> int | None:
    # JSON's true is an int to Python.
    if value is None or (type(value) is int and value >= 0):
        return value
    _refuse(place, "a number of tokens")


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    _refuse(name, "true or false")


def _text(value: Any, place: str) -> str:
    if isinstance(value, str):
        return value
    _refuse(place, "a text")


def _list(value: Any, place: str) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    _refuse(place, "a list")


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    _refuse(place, "an object")


def _refuse(place: str, wanted: str) -> NoReturn:
    """Refuse a value whose type differs from the servers' request types.

    Source: code huggingface/text-generation-inference 3.3.6, router/src/lib.rs ChatRequest and CompletionRequest
    Source: assumption model-servers-as-in-their-sources
    """
    raise WrongBody(f"{place}: expected {wanted}")
