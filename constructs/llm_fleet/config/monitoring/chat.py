"""Channels of chats that are told."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class SlackConfig(FleetModel):
    """A channel of Slack; its workspace is authorized once by hand, in the console of Amazon Q Developer."""

    workspace_id: str = Field(alias="workspace", examples=["T0123456789"])
    """Id of the workspace, e.g. `T0123456789`."""
    channel_id: str = Field(alias="channel", examples=["C0123456789"])
    """Id of the channel, e.g. `C0123456789`; Amazon Q must be invited into a private one."""


class TeamsConfig(FleetModel):
    """A channel of Microsoft Teams; its team is authorized once by hand, in the console of Amazon Q Developer."""

    team_id: str = Field(alias="team", examples=["01234567-89ab-cdef-0123-456789abcdef"])
    """A UUID: the `groupId` of the channel's link."""
    tenant_id: str = Field(alias="tenant", examples=["01234567-89ab-cdef-0123-456789abcdef"])
    """A UUID: the `tenantId` of the channel's link."""
    channel_id: str = Field(alias="channel", examples=["19%3a0123abcd%40thread.tacv2"])
    """What stands after `/channel/` in the channel's link, with its `%3a` and `%40`."""
