"""A ParallelCluster of the drill: nodes started with the actions of its configuration, and its operations."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.bundle import fetch
from llm_fleet_local.drill.cluster_view import FileSystem
from llm_fleet_local.drill.mirror import fill
from llm_fleet_local.drill.nodes.backend import Backend, NodePlan
from llm_fleet_local.drill.nodes.node import Node, Running
from llm_fleet_local.drill.parallelcluster.view import (
    COMPUTE,
    CONFIGURED,
    HEAD,
    LOGIN,
    UPDATED,
    Action,
    Machine,
    ParallelClusterView,
)
from llm_fleet_local.drill.platforms.parallelcluster import ERROR, LOG, RESUMED, ParallelCluster
from llm_fleet_local.drill.services import Services
from llm_fleet_local.drill.slurm import Slurm
from llm_fleet_local.drill.stand_ins import devices, interpreter
from llm_fleet_local.drill.stand_ins.shared import SHARED, lay_out
from llm_fleet_local.drill.stand_ins.stand_in import install
from llm_fleet_local.drill.starts import REPORT
from llm_fleet_local.drill.until import until
from llm_fleet_local.drill.work_folder import image_folder

_AT_ONCE = 4
_SECONDS = 120.0
_NEURON_DRIVER = "2.25.4.0"
_SCRATCH_SIZE = "8G"
"""Size of the file system in memory, which uses only the written size: nodes require 5 GiB of free space."""


class ActionFailed(AssertionError):
    """A custom action failed; the message has ParallelCluster's error and the log."""


class ParallelClusterDrill:
    """One cluster. Create it inside its back end's context, which removes its nodes at its end; end it with `stop`.

    Source: assumption parallelcluster-nodes-as-in-its-code
    """

    def __init__(self, view: ParallelClusterView, backend: Backend, aws: AwsEmulator) -> None:
        """Set the cluster, the back end and the AWS emulator to which the cluster is deployed."""
        self._backend = backend
        self._aws = aws
        self.services = Services(backend, aws.endpoint)
        self._systems = systems = aws.file_systems()
        self._manifest = _manifest(view, aws)
        self._interpreter = interpreter.wanted_by(self._manifest, image_folder())
        self.nodes: dict[str, Node] = {}
        """The running nodes, by host name."""
        self._platform = ParallelCluster(
            view,
            endpoint=self.services.endpoint,
            names={system.dns_name: self.services.address for system in systems},
            mounts=_mounts(view, systems),
        )

    @property
    def view(self) -> ParallelClusterView:
        """The cluster's current configuration."""
        return self._platform.view

    @property
    def machines(self) -> dict[str, Machine]:
        """All possible nodes, by host name."""
        return {one.host_name: one for one in self.view.machines()}

    @property
    def head(self) -> Node:
        """The head node."""
        return next(self.nodes[name] for name, one in self.machines.items() if one.kind == HEAD)

    @property
    def slurm(self) -> Slurm:
        """Slurm commands on the head node."""
        return Slurm(self.head)

    @property
    def login(self) -> Node:
        """A login node."""
        return next(self.nodes[name] for name, one in self.machines.items() if one.kind == LOGIN)

    @property
    def worker(self) -> Node:
        """A running node of a queue."""
        machines = self.machines
        return next(node for name, node in self.nodes.items() if machines[name].kind == COMPUTE)

    @property
    def region(self) -> str:
        """The region that it is in."""
        return self.view.region

    def on_machine(self, path: str) -> Path:
        """Return the path on this machine of `path` on the nodes' Lustre file system, e.g. `/fsx/runs`."""
        ((id, mounted),) = self.view.lustre
        (system,) = (one for one in self._systems if one.id == id)
        return self._shared / "file-systems" / system.dns_name / Path(path).relative_to(mounted)

    def bring_up(self) -> None:
        """Boot head, login and static nodes, configure them, run their actions, and wait for Slurm.

        Raises `ActionFailed`.
        """
        lay_out(self._shared, self._systems)
        fill(self._aws, self._manifest)
        self.services.start()
        wanted = [one for one in self.machines.values() if not one.is_dynamic]
        made = self._backend.create_all([self._plan(one) for one in wanted])
        self.nodes = {one.host_name: node for one, node in zip(wanted, made, strict=True)}
        head, *others = wanted
        self._configure(head)  # the others mount its shared folders
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._configure, others))
        self.run_actions(one.host_name for one in wanted)
        static = [one.host_name for one in wanted if one.kind == COMPUTE]
        self.slurm.wait_for_states(*static, state="idle", seconds=60)

    def start_for_a_job(self, *, seconds: float = 30) -> list[str]:
        """Wait until slurmctld resumes nodes, and start them as ParallelCluster does; return their names."""
        until("slurmctld resumes a node", self._requested_for, seconds=seconds)
        names = self._requested_for()
        for name in names:
            machine = self.machines[name]
            self.nodes[name] = self._backend.create_all([self._plan(machine)])[0]
            self._configure(machine)
        self.run_actions(names)
        return names

    def _requested_for(self) -> list[str]:
        """Return the names of nodes that slurmctld resumed and that do not run yet."""
        return [name for name in self.head.read(RESUMED).split() if name not in self.nodes]

    def replace(self, *names: str) -> None:
        """Replace nodes by new ones, with the current configuration. Raises `ActionFailed`."""
        for name in names:
            self.nodes[name].replace()
            self._configure(self.machines[name])
        self.run_actions(names)

    def update(self, view: ParallelClusterView) -> None:
        """Apply a changed configuration: head and login nodes run `OnNodeUpdated`; nodes of queues do not change.

        Raises `ActionFailed`.
        """
        self._platform.view = view
        self.run_actions((name for name in self.nodes if self.machines[name].kind != COMPUTE), UPDATED)

    def run_actions(self, names: Iterable[str], event: str = CONFIGURED) -> None:
        """Run the actions of the nodes `names` in parallel, and finish those nodes. Raises `ActionFailed`."""
        runs = {name: self._start(name, event) for name in names}
        for name, run in runs.items():
            if run is not None and run.wait(_SECONDS) != 0:
                raise ActionFailed(f"{name}: {self.error(name)}\n{self.nodes[name].read(LOG)}")
            if event == CONFIGURED:
                self._platform.finalize(self.nodes[name], self.machines[name])

    def run_action(self, name: str, action: Action) -> str:
        """Run `action` on the node to its end; return ParallelCluster's error message, empty if it succeeded."""
        log = self._backend.folder / f"{name}.log"
        code = self._platform.start_action(self.nodes[name], CONFIGURED, action, log).wait(_SECONDS)
        return self.error(name) if code else ""

    def action(self, name: str) -> Action:
        """Return the action of `OnNodeConfigured` of the node. Raises `LookupError` if there is none."""
        found = self._platform.action(self.machines[name])
        if found is None:
            raise LookupError(f"{name} has no action OnNodeConfigured")
        return found

    def error(self, name: str) -> str:
        """Return ParallelCluster's error message of the last action that failed on the node."""
        return self.nodes[name].read(ERROR)

    def report(self, name: str) -> dict[str, Any]:
        """Return the report of the node's last start."""
        return json.loads(self.nodes[name].read(REPORT))

    def stop(self) -> None:
        """Stop the processes outside the nodes."""
        self.services.stop()

    def _plan(self, machine: Machine) -> NodePlan:
        scratch = {machine.scratch: _SCRATCH_SIZE} if _has_instance_store(machine) else {}
        return NodePlan(machine.host_name, machine.address, {SHARED: self._shared, **self._interpreter}, scratch)

    @property
    def _shared(self) -> Path:
        return self._backend.folder / "shared"

    def _configure(self, machine: Machine) -> None:
        node = self.nodes[machine.host_name]
        install(node)
        if self._interpreter:
            interpreter.put_on(node)
        facts = facts_of(f"ml.{machine.instance_type}")
        if facts and facts.accelerator == "neuron":
            devices.lay_out(node, facts, driver=_NEURON_DRIVER)
        self._platform.configure(node, machine)

    def _start(self, name: str, event: str) -> Running | None:
        machine = self.machines[name]
        action = self._platform.action(machine, event)
        if action is None:
            return None
        return self._platform.start_action(self.nodes[name], event, action, self._backend.folder / f"{name}.log")


def _has_instance_store(machine: Machine) -> bool:
    """Return whether the configuration sets the mount point of the instance store."""
    return machine.scratch != "/scratch"


def _manifest(view: ParallelClusterView, aws: AwsEmulator) -> dict[str, Any]:
    """Return the manifest of the bundle that nodes of queues load."""
    actions = (view.action(one, CONFIGURED) for one in view.machines() if one.kind == COMPUTE)
    action = next((action for action in actions if action is not None), None)
    return fetch(aws.client("s3"), action.arguments[0]).manifest if action else {"downloads": {"files": []}}


def _mounts(view: ParallelClusterView, systems: list[FileSystem]) -> dict[str, tuple[str, str]]:
    """Return shared storage by mount point, with type and device."""
    lustre = {one.id: one for one in systems if one.kind == "LUSTRE"}
    mounts = {path: ("lustre", f"{lustre[id].dns_name}@tcp:/{lustre[id].mount_name}") for id, path in view.lustre}
    volumes = {one.id: one for one in systems if one.kind == "OPENZFS"}
    return mounts | {path: ("nfs4", f"{volumes[id].dns_name}:/fsx") for id, path in view.open_zfs}
