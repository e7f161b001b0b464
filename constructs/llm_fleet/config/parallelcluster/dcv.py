"""Remote desktops on a ParallelCluster's node."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class DcvConfig(FleetModel):
    """Amazon DCV, a remote desktop. `dcv: {}` is one with all defaults."""

    port: int | None = None
    """The port it listens on. Default: 8443."""
    allowed_ips: str | None = Field(default=None, alias="allowed_from")
    """From where it may be reached: a CIDR block, or a prefix list's id. Default: nowhere; SSM forwards its port."""
