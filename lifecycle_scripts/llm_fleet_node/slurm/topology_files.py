"""Keeps the topology file valid, so that jobs can start: written, repaired or removed."""

from __future__ import annotations

from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.platform_files import Instance
from llm_fleet_node.slurm import topology
from llm_fleet_node.slurm.conf_file import ConfFile
from llm_fleet_node.slurm.installation import version
from llm_fleet_node.step import COMPUTE

_MARK = "# Written by llm-fleet from the layers in resource_config.json.\n"


def put(node: Node, etc: str, conf: ConfFile) -> dict[str, str]:
    """Make the topology file in `etc` one that Slurm can use; return the required settings in slurm.conf.

    `conf`: slurm.conf without llm-fleet's settings. A file of the platform with content is not changed.
    """
    host = node.host
    major = version(host)[0]
    path = f"{etc}/{topology.file_name(major)}"
    text = host.read(path)
    theirs = text is not None and topology.says_something(text) and not text.startswith(_MARK)
    if theirs:
        return {}
    leaves, above = topology.tree_of(_workers(node))
    if leaves:
        host.write(path, _MARK + topology.rendered(major, leaves, above))
        return {} if major >= topology.YAML_SINCE else _plugin(conf, "topology/tree")
    return _without_tree(host, path, major, conf, there=text is not None)


def problem(host: Host, etc: str, conf: ConfFile) -> str:
    """Return the error in the topology of `conf`; empty if there is none."""
    for name in (topology.YAML, topology.CONF):
        text = host.read(f"{etc}/{name}")
        if text is not None and not topology.says_something(text):
            return f"{etc}/{name} is empty, so no job can start"
    if _wants_file(conf) and not any(host.path(f"{etc}/{name}").exists() for name in (topology.YAML, topology.CONF)):
        return f"TopologyPlugin={conf.value('TopologyPlugin')}, but there is no topology file in {etc}"
    return ""


def _without_tree(host: Host, path: str, major: int, conf: ConfFile, *, there: bool) -> dict[str, str]:
    """Unknown network: one switch over all nodes if the plugin requires a file, otherwise no file."""
    if path.endswith(topology.YAML):
        if there:
            host.write(path, topology.flat_yaml())
        return {}
    if _wants_file(conf):
        names = ",".join(line["nodename"] for line in conf.every("NodeName") if line["nodename"] != "DEFAULT")
        if names and conf.value("TopologyPlugin") == "topology/tree":
            host.write(path, _MARK + f"SwitchName=all Nodes={names}\n")
            return {}
        host.remove(path)
        return {"TopologyPlugin": topology.flat_plugin(major)}
    host.remove(path)
    return {}


def _wants_file(conf: ConfFile) -> bool:
    return conf.value("TopologyPlugin") in ("topology/tree", "topology/block")


def _plugin(conf: ConfFile, name: str) -> dict[str, str]:
    return {} if conf.value("TopologyPlugin") == name else {"TopologyPlugin": name}


def _workers(node: Node) -> list[Instance]:
    roles = {group.name: group.role for group in node.manifest.groups}
    return [one for one in node.identity.neighbors if roles.get(one.group) == COMPUTE]
