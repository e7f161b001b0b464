"""The ids of a chat's channel."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.monitoring import chat_facts
from llm_fleet.rules.monitoring.alarm_codes import AlarmCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_WHERE = "authorize the workspace once in the console of Amazon Q Developer in chat applications, which shows its id"


def check_slack(channel: Any) -> list[Problem]:
    """Return what is wrong with `workspace_id` and `channel_id` of a channel of Slack."""
    facts = chat_facts()
    return [
        *_check(channel.workspace_id, facts.slack_workspace, "workspace_id", "T0123456789", f"write its id; {_WHERE}"),
        *_check(
            channel.channel_id,
            facts.slack_channel,
            "channel_id",
            "C0123456789",
            "write the channel's id, not its name: the end of the link that Slack copies of it",
        ),
    ]


def check_teams(channel: Any) -> list[Problem]:
    """Return what is wrong with `team_id`, `tenant_id` and `channel_id` of a channel of Microsoft Teams."""
    facts = chat_facts()
    uuid = "01234567-89ab-cdef-0123-456789abcdef"
    remedy = "write the groupId and the tenantId of the channel's link"
    return [
        *_check(channel.team_id, facts.uuid, "team_id", uuid, remedy),
        *_check(channel.tenant_id, facts.uuid, "tenant_id", uuid, remedy),
        *_check(
            channel.channel_id,
            facts.teams_channel,
            "channel_id",
            "19%3a0123abcd%40thread.tacv2",
            "write what stands after /channel/ in the channel's link, with its %3a and %40",
        ),
    ]


def _check(value: object, limit: Limit, name: str, example: str, remedy: str) -> list[Problem]:
    if is_unresolved(value):
        return []
    if isinstance(value, str) and limit.holds(len(value)) and limit.matches(value):
        return []
    words: Mapping[str, str] = {
        "workspace_id": "this is no id of a workspace of Slack",
        "channel_id": "this is no id of a channel",
        "team_id": "this is no id of a team",
        "tenant_id": "this is no id of a tenant",
    }
    return [
        Problem(
            code=AlarmCode.MONITORING_CHAT,
            path=(name,),
            value=value,
            message=words[name],
            allowed=f"text of the form of `{example}`",
            remedy=remedy,
        )
    ]
