"""Where the lifecycle scripts of a cluster come from."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from llm_fleet.fleet_file.steps import StepsModel

_LEGACY_FILE = "provisioning_parameters.json"


class ScriptsConfig(StepsModel):
    """Where the lifecycle scripts come from. Default: they are those that llm-fleet ships, in a bucket of their own."""

    written_as: ClassVar[Mapping[str, str]] = {"scripts": "folder"}

    bucket_name: str | None = Field(default=None, alias="bucket")
    """An existing bucket for the scripts; its name begins with `sagemaker-`. Default: one is made."""
    folder: str | None = None
    """A folder to upload in place of the shipped one, from where this file lies. Default: the shipped scripts."""
    prefix: str | None = None
    """Where in `bucket` your own scripts lie already; nothing is uploaded then. Default: a bundle is uploaded."""
    entry_point: str | None = None
    """File name of the script that runs. Default: `on_init_complete.sh` or `on_create.sh`, by `lifecycle`."""
    provisioning_parameters: bool | None = None
    """Whether they bring `provisioning_parameters.json`, Slurm's legacy way. Default: whether `folder` has the file."""

    @property
    def legacy(self) -> bool:
        """Whether the legacy file configures Slurm."""
        if self.provisioning_parameters is not None:
            return self.provisioning_parameters
        return self.folder_path is not None and (self.folder_path / _LEGACY_FILE).is_file()

    @property
    def folder_path(self) -> Path | None:
        """Where `folder` is, as seen from the process; `None` for the shipped scripts."""
        return None if self.folder is None else self._directory / self.folder
