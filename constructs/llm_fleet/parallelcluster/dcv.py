"""Remote desktop of a head or login node."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dcv:
    """Amazon DCV, enabled where it is given (`Dcv`). Whether there is one cannot be changed later."""

    port: int | None = None
    """`Port`. Default of ParallelCluster: 8443."""
    allowed_ips: str | None = None
    """`AllowedIps`, a CIDR or the id of a prefix list. Default: nobody; SSM forwards its port without."""
