"""Channels of Slack and Microsoft Teams that are told."""

from dataclasses import dataclass

from llm_fleet.rules.monitoring.chat import check_slack, check_teams
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackChannel:
    """A channel of Slack. Its workspace is authorized once by hand, in the console of Amazon Q Developer.

    Raises `FleetError` (LF1183) for ids of another form.
    """

    workspace_id: str
    """Id of the workspace, e.g. `T0123456789`."""
    channel_id: str
    """Id of the channel, e.g. `C0123456789`; Amazon Q must be invited into a private one."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_slack(self), subject="SlackChannel")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamsChannel:
    """A channel of Microsoft Teams. Its team is authorized once by hand, in the console of Amazon Q Developer.

    Raises `FleetError` (LF1183) for ids of another form.
    """

    team_id: str
    """A UUID: the `groupId` of the channel's link."""
    tenant_id: str
    """A UUID: the `tenantId` of the channel's link."""
    channel_id: str
    """What stands after `/channel/` in the channel's link, with its `%3a` and `%40`."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_teams(self), subject="TeamsChannel")


Chat = SlackChannel | TeamsChannel
"""A channel that is told."""
