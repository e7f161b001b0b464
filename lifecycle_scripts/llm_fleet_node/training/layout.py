"""Paths of the training runtime on shared storage."""

from __future__ import annotations

from dataclasses import dataclass

from llm_fleet_node.manifest_parts import Environment

JOBS, PROGRAM = "jobs", "llm_fleet_training"
"""The two folders of the bundle for jobs: batch files and the training program."""


@dataclass(frozen=True)
class Layout:
    """The paths below `folder`, on storage that all nodes share. Root owns them, and all users can read them."""

    folder: str
    """`training.folder` of the manifest, e.g. `/fsx/llm-fleet`."""

    @property
    def environments(self) -> str:
        """Has one link or image for each environment."""
        return f"{self.folder}/environments"

    @property
    def built(self) -> str:
        """Has the targets of the links in `environments`: one folder for each build."""
        return f"{self.environments}/.built"

    @property
    def programs(self) -> str:
        """Has one folder for each version of the bundle's two folders, and `current`."""
        return f"{self.folder}/programs"

    @property
    def locks(self) -> str:
        """Has the locks that let one node at a time build."""
        return f"{self.folder}/locks"

    @property
    def runs(self) -> str:
        """The default folder of users' runs: next to `folder`, and writable for them."""
        return f"{self.folder.rstrip('/').rpartition('/')[0]}/runs"

    def environment(self, environment: Environment) -> str:
        """Return the path that jobs use: a Python's prefix, or the image of a container."""
        suffix = ".sqsh" if environment.kind == "container" else ""
        return f"{self.environments}/{environment.name}{suffix}"

    def program(self, fingerprint: str) -> str:
        """Return the folder of one version of the programs; see `programs.fingerprint`."""
        return f"{self.programs}/{fingerprint}"
