"""Where the parts of the training runtime lie on shared storage."""

from __future__ import annotations

from dataclasses import dataclass

from llm_fleet_node.manifest_parts import Environment

JOBS, PROGRAM = "jobs", "llm_fleet_training"
"""The two folders of the bundle that jobs use: batch files, and the training program."""


@dataclass(frozen=True)
class Layout:
    """The paths below `folder`, on storage that all nodes share. Root owns them, all may read."""

    folder: str
    """`training.folder` of the manifest, e.g. `/fsx/llm-fleet`."""

    @property
    def environments(self) -> str:
        """Holds one link or image for each environment."""
        return f"{self.folder}/environments"

    @property
    def built(self) -> str:
        """Holds what the links in `environments` lead to: a folder for each time that one was built."""
        return f"{self.environments}/.built"

    @property
    def programs(self) -> str:
        """Holds one folder for each version of the bundle's two folders, and `current`."""
        return f"{self.folder}/programs"

    @property
    def locks(self) -> str:
        """Holds the locks by which one node at a time builds something."""
        return f"{self.folder}/locks"

    @property
    def runs(self) -> str:
        """Where users' runs go unless they say otherwise: beside `folder`, and theirs to write."""
        return f"{self.folder.rstrip('/').rpartition('/')[0]}/runs"

    def environment(self, environment: Environment) -> str:
        """Return the path that jobs use: a Python's prefix, or the image of a container."""
        suffix = ".sqsh" if environment.kind == "container" else ""
        return f"{self.environments}/{environment.name}{suffix}"

    def program(self, fingerprint: str) -> str:
        """Return the folder of one version of the programs; see `programs.fingerprint`."""
        return f"{self.programs}/{fingerprint}"
