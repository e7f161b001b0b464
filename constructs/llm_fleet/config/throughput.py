"""The throughput of an FSx for Lustre file system, as a user writes it."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, WithJsonSchema

from llm_fleet.spec.values import Quantity

_UNITS = {"MB/s/TiB": 1, "MB/s": 1, "GB/s": 1000}
_QUANTITY = Quantity(noun="throughput", units=_UNITS, example="250 MB/s/TiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Either so much for each TiB of storage, or so much for the whole file system."""

    per_tib: int | None = None
    """MB/s per TiB."""
    whole: int | None = None
    """MB/s."""


def read_throughput(written: Any) -> Throughput:
    """Read `250 MB/s/TiB`, or `4000 MB/s` or `24 GB/s` for a whole file system."""
    amount = _QUANTITY.parse(written)
    return Throughput(per_tib=amount) if str(written).strip().endswith("/TiB") else Throughput(whole=amount)


LustreThroughput = Annotated[
    InstanceOf[Throughput],
    BeforeValidator(read_throughput),
    WithJsonSchema(_QUANTITY.json_schema() | {"examples": ["250 MB/s/TiB", "24 GB/s"]}),
]
"""A throughput, per TiB or of the whole file system."""
