"""A cluster as its configuration describes it: its nodes, their names, and the scripts that they run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

HEAD, COMPUTE, LOGIN = "HeadNode", "ComputeFleet", "LoginNode"
"""Types of nodes, the values of `cfn_node_type`."""
CONFIGURED, UPDATED = "OnNodeConfigured", "OnNodeUpdated"
_NETWORK = "10.66"
"""Subnet of the drill's nodes; the third number distinguishes head and login nodes from those of queues."""

Section = Mapping[str, Any]


@dataclass(frozen=True)
class Machine:
    """One node."""

    host_name: str
    """For nodes of queues `<queue>-<st or dy>-<compute resource>-<n>`, which is also the name in Slurm."""
    address: str
    kind: str
    section: Section
    """Its section of the configuration: `HeadNode`, a queue or a login pool."""
    instance_type: str

    @property
    def queue(self) -> str | None:
        """Name of its queue; `None` for head and login nodes."""
        return self.section["Name"] if self.kind == COMPUTE else None

    @property
    def is_dynamic(self) -> bool:
        """Whether it starts only for a job."""
        return self.kind == COMPUTE and self.host_name.startswith(f"{self.queue}-dy-")

    @property
    def scratch(self) -> str:
        """Mount point of the instance store, if the instance type has one.

        Source: code of ParallelCluster 3.16.1, pcluster/constants.py, DEFAULT_EPHEMERAL_DIR
        """
        storage = self.section.get("ComputeSettings", self.section).get("LocalStorage", {})
        return storage.get("EphemeralVolume", {}).get("MountDir", "/scratch")


@dataclass(frozen=True)
class Action:
    """A script that ParallelCluster fetches and runs (`Script`, `Args`)."""

    script: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class ParallelClusterView:
    """One cluster.

    Source: assumption parallelcluster-nodes-as-in-its-code
    """

    name: str
    region: str
    configuration: Section
    """The configuration in ParallelCluster's schema; numbers may be strings, as CloudFormation passes them."""

    def machines(self) -> list[Machine]:
        """Return all possible nodes: the head node first, then login nodes, then nodes of queues."""
        head = self.configuration["HeadNode"]
        found = [Machine("ip-10-66-0-10", f"{_NETWORK}.0.10", HEAD, head, head["InstanceType"])]
        for pool in self.configuration.get("LoginNodes", {}).get("Pools", ()):
            for _ in range(int(pool.get("Count", 1))):
                last = 9 + len(found) + 1
                address = f"{_NETWORK}.0.{last}"
                found.append(Machine(f"ip-10-66-0-{last}", address, LOGIN, pool, pool["InstanceType"]))
        addresses = (f"{_NETWORK}.{high}.{low}" for high in range(1, 255) for low in range(1, 255))
        return [*found, *itertools.chain.from_iterable(_of_queue(queue, addresses) for queue in self.queues)]

    @property
    def queues(self) -> list[Section]:
        """The queues."""
        return list(self.configuration["Scheduling"]["SlurmQueues"])

    def action(self, machine: Machine, event: str) -> Action | None:
        """Return the action of `machine` at `event`; `None` when it has none.

        Also `None` for an action without `Args`: ParallelCluster's runner ignores such an action.
        """
        for section in self._sections():
            if section.get("Name") == machine.section.get("Name") and _kind(section) == _kind(machine.section):
                action = section.get("CustomActions", {}).get(event)
                return Action(action["Script"], tuple(action["Args"])) if action and "Args" in action else None
        return None

    @property
    def lustre(self) -> list[tuple[str, str]]:
        """The existing Lustre file systems: id and mount point."""
        return [
            (storage["FsxLustreSettings"]["FileSystemId"], storage["MountDir"])
            for storage in self.configuration.get("SharedStorage", ())
            if "FileSystemId" in storage.get("FsxLustreSettings", {})
        ]

    @property
    def open_zfs(self) -> list[tuple[str, str]]:
        """The OpenZFS volumes: id and mount point."""
        return [
            (storage["FsxOpenZfsSettings"]["VolumeId"], storage["MountDir"])
            for storage in self.configuration.get("SharedStorage", ())
            if storage["StorageType"] == "FsxOpenZfs"
        ]

    def _sections(self) -> Iterator[Section]:
        yield self.configuration["HeadNode"]
        yield from self.queues
        yield from self.configuration.get("LoginNodes", {}).get("Pools", ())


def _kind(section: Section) -> str:
    return COMPUTE if "ComputeResources" in section else LOGIN if "Name" in section else HEAD


def _of_queue(queue: Section, addresses: Iterator[str]) -> Iterator[Machine]:
    """Yield the nodes of a queue: static ones up to MinCount, dynamic ones for the rest of MaxCount."""
    for resource in cast("list[Section]", queue["ComputeResources"]):
        static, most = int(resource.get("MinCount", 0)), int(resource.get("MaxCount", 10))
        kind = resource.get("InstanceType") or resource["Instances"][0]["InstanceType"]
        for word, count in (("st", static), ("dy", most - static)):
            for number in range(1, count + 1):
                name = f"{queue['Name']}-{word}-{resource['Name']}-{number}"
                yield Machine(name, next(addresses), COMPUTE, queue, kind)
