"""Emulates HyperPod's agents on a node, before and after the lifecycle scripts.

Emulated, in this order (SageMaker developer guide, HyperPod with Slurm; what is read and called by
the public lifecycle scripts of awslabs/awsome-distributed-ai, July 2026):

1. the machine is there: munge's key, `/etc/hosts`, `resource_config.json`, `provisioning_parameters.json`, and on the
   controller the agent's `slurm.conf`. Credentials of the node's role come from its metadata service there; here from
   a file of the AWS SDKs, with the AWS emulator's address
2. the bundle is copied out of its bucket to `/tmp/<bucket>/<prefix>/`; S3 keeps no run bits, the entry script gets one
3. with `OnInitComplete`, the AMI configures the node (`ami.py`)
4. the script is run as root in that folder, its output goes to `/var/log/provision/provisioning.log`, and any exit code
   but 0 makes the node one that failed
"""

import json
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path

from local.drill.bundle import Bundle
from local.drill.cluster_view import ClusterView, Instance
from local.drill.nodes.node import Node, Running
from local.drill.platforms import resource_config, slurm_conf
from local.drill.platforms.node_files import NodeFile, put

LOG = "/var/log/provision/provisioning.log"
_HOME_OF_AGENTS = "/opt/ml/config"
_ETC = "/opt/slurm/etc"
_PLUGINS = """\
include /opt/slurm/etc/plugstack.conf.d/*
required /opt/slurm/lib/drill/auto_resume.so
"""
"""srun's `--auto-resume` comes with a plugin of the AMI; how it is listed there is not known."""


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
        """Take the cluster, the AWS emulator's `endpoint` as nodes reach it, and what DNS knows besides: `names`.

        `cpus`: of each instance type.
        """
        self.view = view
        self._endpoint = endpoint
        self._names = names
        self._cpus = cpus
        self._profile = profile
        self._munge_key = secrets.token_bytes(1024)

    def prepare(self, node: Node, instance: Instance, *, listed: Collection[str] | None = None) -> None:
        """Do what is done before any script: `listed` are the instances that resource_config.json names already."""
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
            # What other nodes know of plugins is what slurmctld sends them, which is plugstack.conf alone.
            # Source: assumption slurm-sends-plugstack-without-patterns
            put(node, files, then=f"rm -rf {_ETC}/plugstack.conf {_ETC}/plugstack.conf.d")

    def update_slurm_conf(self, controller: Node) -> None:
        """Write the controller's slurm.conf again, as the agent does when the cluster changed."""
        controller.write(slurm_conf.PATH, slurm_conf.agent_slurm_conf(self.view, self._cpus, self._profile))

    def update_resource_config(self, node: Node, *, listed: Collection[str] | None = None) -> None:
        """Write the node's list of instances again."""
        node.write(resource_config.PATH, resource_config.resource_config(self.view, listed=listed))

    def stage(self, node: Node, instance: Instance, bundle: Bundle) -> None:
        """Copy the bundle to where HyperPod puts it, without run bits but for the script that it will run."""
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

        `log`: what the shell around it says. `env`: what a scenario adds to the environment.
        """
        script = self.view.group(instance.group).script
        command = f"cd '{bundle.folder}' && exec './{script}' >>{LOG} 2>&1"
        return node.start(
            "bash", "-c", command, env={"SAGEMAKER_RESOURCE_CONFIG_PATH": resource_config.PATH, **(env or {})}, log=log
        )

    def _hosts(self) -> str:
        """The names that VPC DNS and the agent give: of the nodes, of file systems, of nothing else."""
        lines = ["127.0.0.1 localhost", *(f"{one.address} {one.host_name}" for one in self.view.instances)]
        lines += [f"{address} {name}" for name, address in self._names.items()]
        return "\n".join(lines) + "\n"

    def _provisioning_parameters(self) -> str:
        """Legacy file, said to be written for clusters configured by API too (awslabs/awsome-distributed-ai)."""
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
    """Return the stand-in of a node's role and region: files that the AWS SDKs read, with dummy keys.

    Source: emulation, there is no metadata service here
    """
    keys = "[default]\naws_access_key_id = testing\naws_secret_access_key = testing\n"
    settings = f"[default]\nregion = {region}\nendpoint_url = {endpoint}\ns3 =\n  addressing_style = path\n"
    files = {"credentials": keys, "config": settings}
    return [NodeFile.of(f"{home}/.aws/{name}", text, 0o600, owner) for name, text in files.items()]
