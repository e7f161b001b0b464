"""The settings of a model server: that it has them, and takes their values."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.model_server import ServerSetting, model_servers, own_arguments, server_settings
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import ServerLike
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_settings(server: ServerLike, *, sizes_are_known: bool = True) -> list[Problem]:
    """Return which settings `server` does not have or does not take, and which contradict its sizes."""
    known = server_settings(server.kind)
    problems: list[Problem] = []
    for name, value in server.settings.items():
        if value is None or is_unresolved(value):
            continue
        if name not in known:
            problems.append(_unknown(server, name, value))
        else:
            problems += _check_value(known[name], value)
    return problems or (_check_tokens(server) if sizes_are_known else [])


def _unknown(server: ServerLike, name: str, value: Any) -> Problem:
    known = server_settings(server.kind)
    elsewhere = [other for other in model_servers() if name in server_settings(other)]
    otherwise = f"it is a setting of {' and '.join(elsewhere)}; leave it out" if elsewhere else "leave it out"
    return Problem(
        code=Code.SERVER_SETTING,
        message=f"{model_servers()[server.kind].title} has no such setting",
        remedy=otherwise if elsewhere else did_you_mean(name, known, otherwise=otherwise),
        path=(name,),
        value=value,
        allowed=", ".join(known),
    )


def _check_value(setting: ServerSetting, value: Any) -> list[Problem]:
    wanted = _WANTED[setting.type]
    if not _is_of(setting, value):
        return [_wrong(setting, value, wanted, f"write {wanted}")]
    if setting.type == "list":
        return _check_words(setting, value)
    if setting.type == "choice" and value not in setting.choices:
        remedy = did_you_mean(str(value), setting.choices, otherwise="write one of the allowed")
        return [_wrong(setting, value, ", ".join(setting.choices), remedy)]
    bounds = Limit(minimum=_whole(setting.minimum), maximum=_whole(setting.maximum))
    if setting.type in ("integer", "number") and not bounds.holds(value):
        nearest = setting.minimum if setting.minimum is not None and value < setting.minimum else setting.maximum
        return [_wrong(setting, value, bounds.range, f"write {_whole(nearest)}, or another number in the range")]
    return []


def _check_words(setting: ServerSetting, words: Sequence[Any]) -> list[Problem]:
    """Check that no word says what the service says itself. Their values are not repeated: some are secrets."""
    names = [str(word).partition("=")[0] for word in words]
    own = [name for name in names if name.lower().replace("_", "-") in own_arguments()]
    if not own:
        return []
    return [
        Problem(
            code=Code.SERVER_SETTING,
            message="the service tells its server this by itself, and what is told twice would not be what was checked",
            remedy="leave it out: sizes are tensor_parallel, batch_size and sequence_length, the name is the model's "
            "served_name, the API key is the front's and the Hub's token the model's",
            path=(setting.name,),
            value=", ".join(own),
        )
    ]


_WANTED = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "text": "text",
    "choice": "one of its words",
    "list": "a list of words",
    "json": "a mapping",
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "text": (str,),
    "choice": (str,),
    "list": (list, tuple),
    "json": (dict,),
}


def _is_of(setting: ServerSetting, value: Any) -> bool:
    if isinstance(value, bool) and setting.type != "boolean":
        return False
    return isinstance(value, _TYPES[setting.type]) or (setting.type == "json" and isinstance(value, Mapping))


def _wrong(setting: ServerSetting, value: Any, allowed: str, remedy: str) -> Problem:
    return Problem(
        code=Code.SERVER_SETTING,
        message=f"the server does not take this as {setting.name}",
        remedy=remedy,
        path=(setting.name,),
        value=value,
        allowed=allowed,
    )


def _check_tokens(server: ServerLike) -> list[Problem]:
    """Check that prompt, answer and prefill of TGI go together, as its router does when it starts."""
    total, prompt = server.sequence_length, server.settings.get("max_input_tokens")
    prefill = server.settings.get("max_batch_prefill_tokens")
    problems: list[Problem] = []
    if isinstance(prompt, int) and not is_unresolved(prompt) and not is_unresolved(total) and prompt >= total:
        problems.append(
            Problem(
                code=Code.SERVER_SETTING,
                message=f"a prompt of {prompt} tokens leaves no room for an answer in a sequence of {total}",
                remedy=f"write less than {total}; left out, it is half of it",
                path=("max_input_tokens",),
                value=prompt,
            )
        )
    elif isinstance(prefill, int) and not is_unresolved(prefill):
        longest = prompt if isinstance(prompt, int) and not is_unresolved(prompt) else total // 2
        if not is_unresolved(longest) and prefill < longest:
            problems.append(
                Problem(
                    code=Code.SERVER_SETTING,
                    message=f"a prompt may have {longest} tokens, more than are read in one go",
                    remedy=f"write {longest} or more",
                    path=("max_batch_prefill_tokens",),
                    value=prefill,
                )
            )
    return problems


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
