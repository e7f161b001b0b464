"""A cluster of the drill: nodes started with the bundle in the AWS emulator, and the operations on the cluster."""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.bundle import Bundle
from llm_fleet_local.drill.cluster_view import ClusterView, FileSystem, Instance
from llm_fleet_local.drill.journal import Journal
from llm_fleet_local.drill.mirror import fill
from llm_fleet_local.drill.nodes.backend import Backend, NodePlan
from llm_fleet_local.drill.nodes.node import Node
from llm_fleet_local.drill.platforms.ami import configure as configure_as_ami
from llm_fleet_local.drill.platforms.hyperpod import HyperPod
from llm_fleet_local.drill.report.model import ScriptRun, read_script_run
from llm_fleet_local.drill.services import Services
from llm_fleet_local.drill.slurm import Slurm
from llm_fleet_local.drill.stand_ins import devices, interpreter
from llm_fleet_local.drill.stand_ins.shared import SHARED, lay_out
from llm_fleet_local.drill.stand_ins.stand_in import install
from llm_fleet_local.drill.starts import REPORT, Start, Starts, report_stamp
from llm_fleet_local.drill.work_folder import image_folder

_NEURON_DRIVER = "2.25.4.0"
"""Version of the Neuron driver on the HyperPod AMI of 2026-01-25, from the AMI's release notes."""
_AT_ONCE = 4
"""Number of nodes that the platform configures in parallel: more are not faster on two cores."""


class ScriptsFailed(AssertionError):
    """Scripts failed or did not end in time; the message has their names and last output."""


class DrillCluster:
    """One HyperPod cluster. Create it inside its back end's context, which removes its nodes at its end."""

    def __init__(self, aws: AwsEmulator, cluster: str, backend: Backend, journal: Journal) -> None:
        """`cluster` is deployed in the AWS emulator; `nodes` creates nodes."""
        self.aws = aws
        self.backend = backend
        self.journal = journal
        self.view: ClusterView = aws.cluster(cluster)
        self.bundle, self.proof = self._take_bundle()
        self.nodes: dict[str, Node] = {}
        self.shared = backend.folder / "shared"
        """Folders that all nodes share: see `stand_ins.shared`."""
        self.script_runs: list[ScriptRun] = []
        """Every start of a node so far."""
        self.services = Services(backend, aws.endpoint)
        self._platform = self._make_platform(aws.file_systems())
        self._interpreter = interpreter.wanted_by(self.bundle.manifest, image_folder())

    def boot(self) -> None:
        """Create and boot all nodes, and emulate what the platform does before the scripts.

        Source: assumption hyperpod-agent-files
        """
        lay_out(self.shared, self.aws.file_systems())
        if fill(self.aws, self.bundle.manifest):
            self.journal.note("mirror", "the wheels that the fleet pins are in its mirror")
        self.services.start()
        self.journal.note("boot", f"booting {len(self.view.instances)} nodes")
        seen = {SHARED: self.shared, **self._interpreter}
        plans = [NodePlan(one.host_name, one.address, seen) for one in self.view.instances]
        made = self.backend.create_all(plans)
        self.nodes = {one.name: node for one, node in zip(self.view.instances, made, strict=True)}
        self.journal.note("booted", f"{len(made)} nodes with a systemd of their own")
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self.prepare, self.view.instances))
        self.journal.note("prepared", "the platform's files and the bundle are on all nodes")

    def prepare(self, instance: Instance, listed: Collection[str] | None = None) -> None:
        """Emulate what the platform does on one node before the script; with OnInitComplete, also what the AMI does.

        Source: model botocore sagemaker OnInitComplete ("after the AMI-based initialization is complete")
        Source: assumption hyperpod-agent-files
        """
        node = self.nodes[instance.name]
        install(node)
        if self._interpreter:
            interpreter.put_on(node)
        self._lay_out_devices(instance)
        self._platform.prepare(node, instance, listed=listed)
        self._platform.stage(node, instance, self.bundle)
        if self.view.group(instance.group).hook == "OnInitComplete":
            configure_as_ami(node, instance, self.view)

    def bring_up(self, *, seconds: float = 300) -> None:
        """Run the scripts of all nodes and, when all nodes are verified, the first srun. Raises `AssertionError`.

        A script ends shortly after its node is verified, when its report is in S3.
        """
        starts = self.start_scripts()
        starts.wait_for_reports(seconds=seconds)
        if not any(starts.codes.values()) and all((self.report(name) or {}).get("code") == "OK" for name in self.nodes):
            self.journal.note("verified", "every step of every node is done and verified")
            self.srun_over_all()
        self._finish(starts, seconds=seconds, check=True)
        codes = {name: (self.report(name) or {}).get("code") for name in self.nodes}
        assert set(codes.values()) == {"OK"}, f"scripts ended with 0, and their reports say {codes}"

    def run_scripts(
        self,
        names: Iterable[str] = (),
        *,
        seconds: float = 300,
        check: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> dict[str, int]:
        """Run the scripts of the nodes `names` (default: all) at the same time; return their exit codes.

        Raises `ScriptsFailed` if one ends with another code than 0 and `check` is true.
        """
        return self._finish(self.start_scripts(names, env), seconds=seconds, check=check)

    def start_scripts(self, names: Iterable[str] = (), env: Mapping[str, str] | None = None) -> Starts:
        """Start the scripts of the nodes `names` (default: all) as the platform does, without waiting."""
        chosen = list(names) or list(self.nodes)
        self.journal.note("scripts", f"starting the scripts of {len(chosen)} nodes")
        return Starts({name: self._start(name, env) for name in chosen}, self._note_end)

    def _start(self, name: str, env: Mapping[str, str] | None) -> Start:
        # Source: model botocore sagemaker OnCreate
        # Source: model botocore sagemaker OnInitComplete
        node = self.nodes[name]
        old, now = report_stamp(node), time.time()
        log = self.backend.folder / f"{name}.script.log"
        run = self._platform.start_script(node, self.instance(name), self.bundle, log, env)
        self.journal.note("script-started", "its script was started", name)
        return Start(node, run, now, old)

    @property
    def platform(self) -> HyperPod:
        """The platform's agents."""
        return self._platform

    def _note_end(self, name: str, code: int) -> None:
        said = "its script ended with 0" if code == 0 else f"its script FAILED with {code}"
        self.journal.note("script-ended", said, name)

    def _finish(self, starts: Starts, *, seconds: float, check: bool) -> dict[str, int]:
        # Source: assumption hyperpod-agent-files
        codes = starts.wait(seconds=seconds)
        self.journal.note("scripts-ended", f"the scripts of {len(codes)} nodes have ended")
        for name, code in codes.items():
            role = self.view.group(self.instance(name).group).role
            began, ended = starts.starts[name].at, starts.ended_at[name]
            self.script_runs.append(
                read_script_run(self.report(name), node=name, role=role, started=began, ended=ended, exit_code=code)
            )
        if check and any(codes.values()):
            raise ScriptsFailed("\n".join(self._last_words(name, code) for name, code in codes.items() if code))
        return codes

    def report(self, name: str) -> dict[str, Any] | None:
        """Return the report that the last start of the node left on it; `None` when it left none."""
        try:
            return json.loads(self.node(name).read(REPORT))
        except FileNotFoundError:
            return None

    def instance(self, name: str) -> Instance:
        """Return the instance called `name`, e.g. `workers-1`, or with that host name. Raises `LocalError`."""
        found = [one for one in self.view.instances if name in (one.name, one.host_name)]
        if not found:
            raise LocalError(
                f"unknown node {name}", f"choose one of {', '.join(one.name for one in self.view.instances)}"
            )
        return found[0]

    def node(self, name: str) -> Node:
        """Return the node of the instance called `name`."""
        return self.nodes[self.instance(name).name]

    @property
    def controller(self) -> Node:
        """The controller."""
        return self.nodes[self.view.controller.name]

    @property
    def host_names(self) -> dict[str, str]:
        """The nodes' names, e.g. `workers-1`, by host name."""
        return {one.host_name: one.name for one in self.view.instances}

    @property
    def workers(self) -> list[Instance]:
        """The nodes that jobs run on."""
        return self.view.of_role("Compute")

    @property
    def login(self) -> Node:
        """A login node. Raises `IndexError` in a cluster without."""
        return self.nodes[self.view.of_role("Login")[0].name]

    @property
    def worker(self) -> Node:
        """A node that jobs run on."""
        return self.nodes[self.workers[0].name]

    @property
    def region(self) -> str:
        """The region that it is in."""
        return self.view.region

    def on_machine(self, path: str) -> Path:
        """Return the path on this machine of `path` on the nodes' Lustre file system, e.g. `/fsx/runs`."""
        (lustre,) = (mount for mount in self.bundle.manifest["mounts"] if mount["kind"] == "lustre")
        return self.shared / "file-systems" / lustre["dns_name"] / Path(path).relative_to(lustre["mount_path"])

    @property
    def slurm(self) -> Slurm:
        """Slurm commands on the controller."""
        return Slurm(self.controller)

    def srun_over_all(self) -> list[str]:
        """Run `hostname` on every worker by one srun; return the host names. Raises `AssertionError`."""
        expected = sorted(one.host_name for one in self.workers)
        answered = self.slurm.hosts_of(f"--nodes={len(expected)}", f"--nodelist={','.join(expected)}")
        assert answered == expected, f"srun ran on {answered}, not on {expected}"
        self.journal.note("srun", f"srun answered from all {len(expected)} workers")
        return answered

    def lose(self, name: str) -> None:
        """Simulate the loss of the machine, as by a hardware failure.

        Source: emulation, its network goes silent and its processes are killed
        """
        self.journal.note("lost", "the machine is gone", self.instance(name).name)
        self.node(name).power_off()

    def reboot(self, name: str) -> None:
        """Reboot a node: the same root, instance id and address, and no lifecycle script; see `platforms.recovery`.

        Source: model botocore sagemaker BatchRebootClusterNodes (EC2's RebootInstances)
        """
        self.journal.note("reboot", "rebooting", self.instance(name).name)
        self.node(name).reboot()
        self.journal.note("rebooted", "rebooted", self.instance(name).name)

    def replace(self, name: str, *, seconds: float = 120) -> None:
        """Replace a node: a fresh root and instance id, the same name and address, and the script again.

        Only the controller and the new node get the new list of nodes; the list on the other nodes is then out of date.
        Raises `ScriptsFailed`.

        Source: model botocore sagemaker BatchReplaceClusterNodes ("destroys all instance volumes")
        Source: assumption hyperpod-replacement-keeps-name-and-address
        """
        old = self.instance(name)
        fresh = replace(old, instance_id=f"i-{token_hex(8)}1")
        self.journal.note("replace", f"replacing {old.instance_id} by {fresh.instance_id}", old.name)
        self.nodes[old.name].replace()
        self.view = self._platform.view = self.view.with_instance(fresh)
        if old != self.view.controller:
            self._platform.update_resource_config(self.controller)
            self._platform.update_slurm_conf(self.controller)
        self.prepare(fresh)
        self.run_scripts([old.name], seconds=seconds)
        self.journal.note("replaced", "replaced, its script ended with 0", old.name)

    def resume(self, name: str, *, seconds: float = 30) -> None:
        """Wait until the node has registered with Slurm, and make it available to jobs. Raises `NotInTime`.

        Source: assumption hyperpod-recovery-by-slurm-reason
        """
        host = self.instance(name).host_name
        self.slurm.wait_until_registered(host, seconds=seconds)
        if self.slurm.states()[host] != "idle":
            self.slurm.run("scontrol", "update", f"NodeName={host}", "State=RESUME", check=False)
        self.slurm.wait_for_states(host, state="idle", seconds=seconds)
        self.journal.note("recovered", "idle again", self.instance(name).name)

    def _take_bundle(self) -> tuple[Bundle, list[str]]:
        """The bundle, which is the same for all groups of the cluster."""
        (uri,) = {group.source_s3_uri for group in self.view.groups if group.source_s3_uri}
        return self.aws.bundle(uri)

    def _lay_out_devices(self, instance: Instance) -> None:
        """Add the devices of the node's instance type, which a machine has from its boot."""
        facts = facts_of(self.view.group(instance.group).instance_type)
        if facts and facts.accelerator == "neuron":
            devices.lay_out(self.nodes[instance.name], facts, driver=_NEURON_DRIVER)

    def _make_platform(self, systems: list[FileSystem]) -> HyperPod:
        known = {name: facts_of(name) for name in {group.instance_type for group in self.view.groups}}
        return HyperPod(
            self.view,
            endpoint=self.services.endpoint,
            names={system.dns_name: self.services.address for system in systems},
            cpus={name: facts.vcpus for name, facts in known.items() if facts and facts.vcpus},
        )

    def _last_words(self, name: str, code: int) -> str:
        node = self.nodes[name]
        tail = node.run("tail", "-n", "30", "/var/log/provision/provisioning.log", check=False)
        return f"{name} ended with {code}:\n{tail.stdout}{tail.stderr}"
