"""Settings of the Lustre client that FSx recommends for large nodes.

Source: FSx for Lustre User Guide, "Performance tips" (memory above 64 GiB, more than 64 vCPUs), and the Neuron
samples of Llama pretraining for `max_dirty_mb`, which limits the host memory that Lustre's buffers use.
"""

from __future__ import annotations

import re

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node

_MODULE_OPTIONS = "/etc/modprobe.d/llm-fleet-lustre.conf"
_LARGE_MEMORY_KIB, _MANY_CPUS = 64 << 20, 64


def write_module_options(host: Host) -> None:
    """Write the module options. They take effect when the modules are loaded: after a reboot, or now if not loaded."""
    if _cpus(host) > _MANY_CPUS and host.which("lctl"):
        host.write(_MODULE_OPTIONS, "options ptlrpc ptlrpcd_per_cpt_max=32\noptions ksocklnd credits=2560\n")


def tune(node: Node) -> None:
    """Set FSx's recommendations for a node of this size, until the file systems are unmounted.

    A setting that the client rejects is only logged. For example, it rejects more modifying requests in flight than the
    server allows, and an older client has fewer settings.
    assumption: lustre-client-takes-fsx-tuning
    """
    if node.host.which("lctl") is None:
        return
    for name, value in wanted(node).items():
        try:
            found = node.host.run("lctl", "get_param", "-n", name).split()
            if found and set(found) != {value}:
                node.host.run("lctl", "set_param", f"{name}={value}", changes=f"set {name} to {value}")
        except CommandFailed as error:
            node.say(f"FSx's recommended Lustre setting {name}={value} could not be set: {error.cause}")


def wanted(node: Node) -> dict[str, str]:
    """Return the settings for this node's memory, processors and accelerators."""
    cpus = _cpus(node.host)
    settings: dict[str, str] = {}
    if _memory_kib(node.host) > _LARGE_MEMORY_KIB:
        settings["ldlm.namespaces.*.lru_max_age"] = "600000"
        settings["ldlm.namespaces.*.lru_size"] = str(100 * cpus)
    if cpus > _MANY_CPUS:
        settings["osc.*OST*.max_rpcs_in_flight"] = "32"
        settings["mdc.*.max_rpcs_in_flight"] = "64"
        settings["mdc.*.max_mod_rpcs_in_flight"] = "50"
    kind = node.instance_type
    if kind is not None and kind.accelerator == "neuron":
        settings["osc.*.max_dirty_mb"] = "64"
    return settings


def _cpus(host: Host) -> int:
    return len(re.findall(r"^processor\s*:", host.read("/proc/cpuinfo") or "", re.MULTILINE))


def _memory_kib(host: Host) -> int:
    match = re.search(r"^MemTotal:\s+(\d+) kB$", host.read("/proc/meminfo") or "", re.MULTILINE)
    return int(match.group(1)) if match else 0
