"""Ids of file systems have 17 digits, as FSx's have: ParallelCluster accepts no shorter id (moto's have 8).

Source: assumption fsx-ids-have-17-digits
"""

import secrets
from typing import Any

from moto.fsx.models import FileSystem

_INSTALLED = "_llm_fleet_long_ids"


def install() -> None:
    """Give every new file system a long id, once."""
    if getattr(FileSystem, _INSTALLED, False):
        return
    original: Any = FileSystem.__init__

    def make(self: Any, **given: Any) -> None:
        original(self, **{**given, "tags": None})  # moto stores tags by ARN; the backend adds them again
        short = self.file_system_id
        self.file_system_id = f"fs-{secrets.token_hex(9)[1:]}"
        self.dns_name = self.dns_name.replace(short, self.file_system_id)
        self.resource_arn = self.resource_arn.replace(short, self.file_system_id)

    setattr(FileSystem, "__init__", make)  # noqa: B010 - the types would have every argument spelt out
    setattr(FileSystem, _INSTALLED, True)
