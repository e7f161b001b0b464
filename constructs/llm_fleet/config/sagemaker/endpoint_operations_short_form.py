"""What a user may write in short of an endpoint's operations, written out: `data_capture: s3://…`, `rollout: canary`,
`budget: 200 USD`, `alarms: arn:…`.
"""

from typing import Any, cast

from llm_fleet.config.sagemaker.rollout_word import RolloutWord
from llm_fleet.config.services.short_schema import also
from llm_fleet.config.services.values import TOPIC_ARN

_SHORT = {"data_capture": "to", "rollout": "kind", "budget": "monthly", "alarms": "topic"}
"""By key of an endpoint: the key below it that a text stands for."""


def endpoint_operations_in_long_form(endpoint: Any) -> Any:
    """Return `endpoint` with each of these short forms written out; what is of another form stays as it is."""
    if not isinstance(endpoint, dict):
        return endpoint
    written = cast("dict[str, Any]", endpoint)
    return {
        key: {_SHORT[key]: value} if key in _SHORT and isinstance(value, str) else value
        for key, value in written.items()
    }


def or_uri(schema: dict[str, Any]) -> None:
    """Tell editors that the address of a bucket stands for a capture with its defaults."""
    also(schema, {"type": "string", "pattern": "^s3://", "examples": ["s3://my-bucket/captured"]})


def or_rollout(schema: dict[str, Any]) -> None:
    """Tell editors that the word of a rollout stands for one with its defaults."""
    also(schema, {"enum": [word.value for word in RolloutWord]})


def or_sum(schema: dict[str, Any]) -> None:
    """Tell editors that a sum stands for a budget with its defaults."""
    also(schema, {"type": "string", "pattern": r"^\d+ *USD$", "examples": ["200 USD"]})


def or_topic(schema: dict[str, Any]) -> None:
    """Tell editors that the ARN of a topic stands for alarms with their own thresholds."""
    also(schema, TOPIC_ARN.json_schema())
