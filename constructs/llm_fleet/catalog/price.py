"""What AWS asks for one thing in one region."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Unit = Literal["hour", "gb-month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A price on demand, without tax and discounts, with where it comes from."""

    service: str
    """Who rents it out: `ec2`, `sagemaker`, `sagemaker-cluster`, `lustre`, `network` …"""
    item: str
    """What, e.g. `trn1.32xlarge` or `PERSISTENT_2/SSD/250`."""
    region: str
    unit: Unit
    usd: Decimal
    """For one `unit` of one of them."""
    source: str
    """Where it was read, for people."""
    read: str
    """When, as ISO date."""
    verified: bool
    """Whether AWS itself told it."""
