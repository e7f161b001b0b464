"""The value of `model` in requests."""

import json
from typing import Any, cast

from llm_fleet_local.serving.template.front import LoadBalancer
from llm_fleet_local.serving.template.service import Service

_OPTIONS = ("--served-model-name", "--served_model_name")
_LIST = "list"
ANY = "tgi"
"""TGI accepts any name; its documentation uses this one."""


def model_name(service: Service, front: LoadBalancer) -> str:
    """Return the model name in the server's settings, else the one in the load balancer's fixed response."""
    words = service.container.command
    values = [words[place + 1] for place, word in enumerate(words[:-1]) if word in _OPTIONS]
    return next(iter([*values, *_listed(front)]), ANY)


def _listed(front: LoadBalancer) -> list[str]:
    actions = (action for listener in front.listeners for rule in listener.rules for action in rule.actions)
    bodies = [action.settings.get("MessageBody", "") for action in actions if action.kind == "fixed-response"]
    return [str(item["id"]) for body in bodies for item in _items(body)]


def _items(body: str) -> list[dict[str, Any]]:
    """Return the models in a response of OpenAI's `/v1/models`; nothing for another body."""
    try:
        answer: Any = json.loads(body)
    except ValueError:
        return []
    if not isinstance(answer, dict):
        return []
    found = cast("dict[str, Any]", answer)
    return list(found["data"]) if found.get("object") == _LIST else []
