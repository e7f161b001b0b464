"""What clients write as `model`."""

import json
from typing import Any, cast

from local.serving.template.front import LoadBalancer
from local.serving.template.service import Service

_OPTIONS = ("--served-model-name", "--served_model_name")
_LIST = "list"
ANY = "tgi"
"""TGI takes any name; this is the one of its own documents."""


def model_name(service: Service, front: LoadBalancer) -> str:
    """Return the name that the server is told, else the one in the list that the load balancer answers by itself."""
    words = service.container.command
    reported = [words[place + 1] for place, word in enumerate(words[:-1]) if word in _OPTIONS]
    return next(iter([*reported, *_listed(front)]), ANY)


def _listed(front: LoadBalancer) -> list[str]:
    actions = (action for listener in front.listeners for rule in listener.rules for action in rule.actions)
    bodies = [action.settings.get("MessageBody", "") for action in actions if action.kind == "fixed-response"]
    return [str(item["id"]) for body in bodies for item in _items(body)]


def _items(body: str) -> list[dict[str, Any]]:
    """Return what is in a list of OpenAI's; nothing of another body."""
    try:
        answer: Any = json.loads(body)
    except ValueError:
        return []
    if not isinstance(answer, dict):
        return []
    found = cast("dict[str, Any]", answer)
    return list(found["data"]) if found.get("object") == _LIST else []
