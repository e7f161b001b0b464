"""How fast an instance is over EFA."""

from llm_fleet.catalog.data_file import load


def efa_gbps(ec2_type: str) -> float | None:
    """Return Gbit/s of all network cards of `ec2_type` together, at most; `None` without EFA or where nobody tells."""
    return load("efa_bandwidth")["efa_gbps"].get(ec2_type)
