"""Emulates HyperPod's agents on a node, before and after the lifecycle scripts.

Emulated, in this order (SageMaker developer guide, HyperPod with Slurm; files and programs that
the public lifecycle scripts of awslabs/awsome-distributed-ai, July 2026, use):

1. the machine starts with munge's key, `/etc/hosts`, `resource_config.json`, `provisioning_parameters.json`, and on
   the controller the agent's `slurm.conf`. On a real node, credentials of its role come from the metadata service;
   here they are in a file of the AWS SDKs, with the AWS emulator's address
2. the bundle is copied from its bucket to `/tmp/<bucket>/<prefix>/`; S3 does not store execute permissions, and only
   the entry script gets one
3. with `OnInitComplete`, the AMI configures the node (`ami.py`)
4. the script is run as root in that folder, its output is written to `/var/log/provision/provisioning.log`, and with
   any exit code other than 0 the node has failed
"""

import json
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path

from llm_fleet_local.drill.bundle import Bundle
from llm_fleet_local.drill.cluster_view import ClusterView, Instance
from llm_fleet_local.drill.nodes.node import Node, Running
from llm_fleet_local.drill.platforms import resource_config, slurm_conf
from llm_fleet_local.drill.platforms.node_files import NodeFile, put

LOG = "/var/log/provision/provisioning.log"
_HOME_OF_AGENTS = "/opt/ml/config"
_ETC = "/opt/slurm/etc"
_PLUGINS = """\
include /opt/slurm/etc/plugstack.conf.d/*
required /opt/slurm/lib/drill/auto_resume.so
"""
"""srun's `--auto-resume` is part of a plugin of the AMI; how the AMI's plugstack.conf lists it is unknown."""


class HyperPod:
    """The agents of one cluster.

    Source: assumption hyperpod-agent-files
    """

    def __init__(
        self,
        view: ClusterView,
        *,
        endpoint: str,
        names: Mapping[str, str],
        cpus: Mapping[str, int],
        profile: Mapping[str, str] = slurm_conf.DRILL_PROFILE,
    ) -> None:
        """Set the cluster, the `endpoint` at which nodes reach the AWS emulator, and more DNS names (`names`).

        `cpus`: number of CPUs by instance type.
        """
        self.view = view
        self._endpoint = endpoint
        self._names = names
        self._cpus = cpus
        self._profile = profile
        self._munge_key = secrets.token_bytes(1024)

    def prepare(self, node: Node, instance: Instance, *, listed: Collection[str] | None = None) -> None:
        """Configure the node before any script: `listed` are the instances that resource_config.json already has."""
        files = [
            NodeFile("/etc/munge/munge.key", self._munge_key, 0o400, "munge"),
            NodeFile.of("/etc/hosts", self._hosts()),
            NodeFile.of(resource_config.PATH, resource_config.resource_config(self.view, listed=listed)),
            NodeFile.of(f"{_HOME_OF_AGENTS}/provisioning_parameters.json", self._provisioning_parameters()),
            *aws_settings(self.view.region, self._endpoint),
            # Programs detect a HyperPod node by this folder (awslabs/awsome-distributed-ai); its content is unknown.
            NodeFile.of("/opt/sagemaker_cluster/played-by-the-drill", ""),
        ]
        if self.view.group(instance.group).role == "Controller":
            text = slurm_conf.agent_slurm_conf(self.view, self._cpus, self._profile)
            files += [NodeFile.of(slurm_conf.PATH, text), NodeFile.of(f"{_ETC}/plugstack.conf", _PLUGINS)]
            put(node, files)
        else:
            # Other nodes get their plugins from slurmctld, which sends only plugstack.conf.
            # Source: assumption slurm-sends-plugstack-without-patterns
            put(node, files, then=f"rm -rf {_ETC}/plugstack.conf {_ETC}/plugstack.conf.d")

    def update_slurm_conf(self, controller: Node) -> None:
        """Write the controller's slurm.conf again, as the agent does when the cluster has changed."""
        controller.write(slurm_conf.PATH, slurm_conf.agent_slurm_conf(self.view, self._cpus, self._profile))

    def update_resource_config(self, node: Node, *, listed: Collection[str] | None = None) -> None:
        """Write the node's list of instances again."""
        node.write(resource_config.PATH, resource_config.resource_config(self.view, listed=listed))

    def stage(self, node: Node, instance: Instance, bundle: Bundle) -> None:
        """Copy the bundle to the same folder as HyperPod, with execute permission for the entry script only."""
        script = self.view.group(instance.group).script
        put(
            node,
            [
                NodeFile(f"{bundle.folder}/{path}", data, 0o755 if path == script else 0o644)
                for path, data in bundle.files.items()
            ],
            then=f"mkdir -p {Path(LOG).parent}",
        )

    def start_script(
        self, node: Node, instance: Instance, bundle: Bundle, log: Path, env: Mapping[str, str] | None = None
    ) -> Running:
        """Run the group's script as HyperPod does, without waiting.

        `log`: for the output of the shell that starts it. `env`: environment variables that a scenario adds.
        """
        script = self.view.group(instance.group).script
        command = f"cd '{bundle.folder}' && exec './{script}' >>{LOG} 2>&1"
        return node.start(
            "bash", "-c", command, env={"SAGEMAKER_RESOURCE_CONFIG_PATH": resource_config.PATH, **(env or {})}, log=log
        )

    def _hosts(self) -> str:
        """Return /etc/hosts with the names from VPC DNS and the agent: only nodes and file systems."""
        lines = ["127.0.0.1 localhost", *(f"{one.address} {one.host_name}" for one in self.view.instances)]
        lines += [f"{address} {name}" for name, address in self._names.items()]
        return "\n".join(lines) + "\n"

    def _provisioning_parameters(self) -> str:
        """Legacy file; according to awslabs/awsome-distributed-ai, clusters configured by API also have it."""
        by_role = {group.role: group.name for group in self.view.groups}
        parameters: dict[str, object] = {
            "version": "1.0.0",
            "workload_manager": "slurm",
            "controller_group": by_role.get("Controller"),
            "worker_groups": [
                {"instance_group_name": group.name, "partition_name": next(iter(group.partitions), "dev")}
                for group in self.view.groups
                if group.role == "Compute"
            ],
        }
        if "Login" in by_role:
            parameters["login_group"] = by_role["Login"]
        return json.dumps(parameters, indent=2) + "\n"


def aws_settings(region: str, endpoint: str, *, home: str = "/root", owner: str = "root") -> list[NodeFile]:
    """Return the stand-in for a node's role and region: files that the AWS SDKs read, with dummy keys.

    Source: emulation, the drill has no metadata service
    """
    keys = "[default]\naws_access_key_id = testing\naws_secret_access_key = testing\n"
    settings = f"[default]\nregion = {region}\nendpoint_url = {endpoint}\ns3 =\n  addressing_style = path\n"
    files = {"credentials": keys, "config": settings}
    return [NodeFile.of(f"{home}/.aws/{name}", text, 0o600, owner) for name, text in files.items()]
