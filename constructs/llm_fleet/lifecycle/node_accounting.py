"""Where Slurm's accounting is kept, as the nodes need to know it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAccounting:
    """Where slurmdbd on the controller keeps its records. Make one with `local` or `external`."""

    kind: Literal["local", "external"]
    endpoint: str | None = None
    port: int | None = None
    database: str | None = None
    secret_arn: str | None = None

    @classmethod
    def local(cls) -> "NodeAccounting":
        """A MariaDB on the controller itself."""
        return cls(kind="local")

    @classmethod
    def external(cls, *, endpoint: str, port: int, database: str, secret_arn: str) -> "NodeAccounting":
        """A database elsewhere. All may be tokens. The secret holds `username` and `password`."""
        return cls(kind="external", endpoint=endpoint, port=port, database=database, secret_arn=secret_arn)
