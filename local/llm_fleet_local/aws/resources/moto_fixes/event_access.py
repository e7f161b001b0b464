"""A rule writes to a queue only if the queue's policy and the policy of its KMS key allow it.

Otherwise EventBridge retries for a day, then drops the event or sends it to the target's dead-letter queue: the
deployment succeeds and no event arrives. moto ignores the policies
(docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html).

Source: document https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html (2026-11)
"""

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, cast

from moto.events.models import Rule
from moto.kms.models import kms_backends
from moto.sqs.models import sqs_backends

_SERVICE = "events.amazonaws.com"
_SENDING = ("sqs:SendMessage",)
_ENCRYPTING = ("kms:Decrypt", "kms:GenerateDataKey")
_LIKE = ("ArnEquals", "ArnLike", "StringEquals", "StringLike")


def install() -> None:
    """Replace moto's delivery from a rule to a queue."""
    if getattr(Rule._send_to_sqs_queue, "is_ours", False):  # pyright: ignore[reportPrivateUsage]
        return
    send = Rule._send_to_sqs_queue  # pyright: ignore[reportPrivateUsage]

    def send_where_allowed(self: Rule, resource_id: str, event: dict[str, Any], group_id: str | None = None) -> None:
        if _may_write(self, resource_id):
            send(self, resource_id, event, group_id)

    send_where_allowed.is_ours = True  # pyright: ignore[reportFunctionMemberAccess]
    Rule._send_to_sqs_queue = send_where_allowed  # pyright: ignore[reportPrivateUsage]


def allows(policy: str | None, actions: Iterable[str], context: Mapping[str, str]) -> bool:
    """Return whether `policy` allows EventBridge all `actions`, with the condition keys in `context`."""
    statements: Any = json.loads(policy)["Statement"] if policy else []
    ours = [statement for statement in _listed(statements) if _is_met(statement, context)]
    return all(any(_names(statement, action) for statement in ours) for action in actions)


def _may_write(rule: Rule, queue_name: str) -> bool:
    account, region = str(rule.account_id), str(rule.region_name)
    queue: Any = sqs_backends[account][region].get_queue(queue_name)
    context = {"aws:SourceArn": str(rule.arn), "aws:SourceAccount": account}
    if not allows(cast("str | None", queue.policy), _SENDING, context):
        return False
    key_id: str | None = queue.kms_master_key_id
    if not key_id:
        return True
    if key_id.startswith("alias/aws/"):
        return False  # The policy of the AWS managed key allows no service, and cannot be changed.
    keys: Any = kms_backends[account][region]
    return allows(keys.describe_key(key_id).policy, _ENCRYPTING, context)


def _is_met(statement: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    principal: Any = statement.get("Principal", {})
    services = _listed(principal.get("Service", [])) if isinstance(principal, Mapping) else []  # pyright: ignore
    if statement.get("Effect") != "Allow" or _SERVICE not in services:
        return False
    return all(
        operator in _LIKE and any(fnmatchcase(context.get(key, ""), one) for one in _listed(wanted))
        for operator, keys in cast("Mapping[str, Any]", statement.get("Condition", {})).items()
        for key, wanted in keys.items()
    )


def _names(statement: Mapping[str, Any], action: str) -> bool:
    return any(fnmatchcase(action, pattern) for pattern in _listed(statement.get("Action", [])))


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]
