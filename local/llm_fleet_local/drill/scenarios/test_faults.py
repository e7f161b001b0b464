"""A fresh node starts with an error: it reports the error, and after a fix the same script succeeds.

The error is created only on the node, before its first start. The exit codes of the public lifecycle scripts show none
of these errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.cluster_view import Instance
from llm_fleet_local.drill.nodes.node import Node
from llm_fleet_local.drill.until import until

LOG = "/var/log/provision/provisioning.log"


@dataclass(frozen=True)
class FreshNode:
    """A worker that was just replaced: the platform has configured it, and no script has run."""

    cluster: DrillCluster
    instance: Instance

    @property
    def node(self) -> Node:
        """The machine."""
        return self.cluster.node(self.instance.name)

    @property
    def bundle(self) -> str:
        """The folder of the scripts."""
        return self.cluster.bundle.folder

    def sh(self, script: str) -> None:
        """Run a shell script on the node."""
        self.node.run("sh", "-ec", script)

    def start(self, *, env: Mapping[str, str] | None = None) -> int:
        """Run the node's script, with `env` added to what the platform gives it; return its exit code."""
        name = self.instance.name
        return self.cluster.run_scripts([name], seconds=60, check=False, env=env or {})[name]

    def refuses(self, *, env: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Run the node's script, which must fail; return the code and the cause that it reports."""
        assert self.start(env=env) == 1, self.log()
        report = self.cluster.report(self.instance.name)
        assert report is not None
        return report["code"], report["cause"]

    def starts_well(self) -> None:
        """Run the node's script, which must end with 0 and leave the node idle."""
        assert self.start() == 0, self.log()
        self.cluster.resume(self.instance.name)

    def log(self) -> str:
        """Return the log of the scripts."""
        return self.node.run("tail", "-n", "40", LOG, check=False).stdout


@pytest.fixture
def fresh(cluster: DrillCluster) -> FreshNode:
    instance = cluster.workers[-1]
    cluster.node(instance.name).replace()
    cluster.prepare(instance)
    return FreshNode(cluster, instance)


def test_a_file_of_the_bundle_is_missing(fresh: FreshNode) -> None:
    step = f"{fresh.bundle}/llm_fleet_node/steps/slurmd.py"
    fresh.sh(f"mv {step} /root/")
    code, cause = fresh.refuses()
    assert code == "LFN06"
    assert "llm_fleet_node/steps/slurmd.py cannot be read (No such file or directory)" in cause
    fresh.sh(f"mv /root/slurmd.py {step}")
    fresh.starts_well()


def test_line_ends_of_windows(fresh: FreshNode) -> None:
    """In the script that the platform starts, no line runs; in any other file the error is LFN06."""
    script, other = f"{fresh.bundle}/on_create.sh", f"{fresh.bundle}/llm_fleet_node/start.py"
    fresh.sh(f"cp -p {script} {other} /root/; sed -i 's/$/\\r/' {script}")
    assert fresh.start() == 127
    assert "bash\\r" in fresh.log()
    fresh.sh(f"cp -p /root/on_create.sh {script}; sed -i 's/$/\\r/' {other}")
    code, cause = fresh.refuses()
    assert code == "LFN06"
    assert "llm_fleet_node/start.py has the digest " in cause
    fresh.sh(f"cp -p /root/start.py {other}")
    fresh.starts_well()


def test_the_run_bit_is_missing(fresh: FreshNode) -> None:
    fresh.sh(f"chmod 644 {fresh.bundle}/on_create.sh")
    assert fresh.start() == 126
    fresh.sh(f"chmod 755 {fresh.bundle}/on_create.sh")
    fresh.starts_well()


def test_a_wrong_munge_key(fresh: FreshNode) -> None:
    fresh.sh("cp -p /etc/munge/munge.key /root/; head -c 1024 /dev/urandom >/etc/munge/munge.key")
    code, cause = fresh.refuses()
    assert code == "LFN68"
    assert "Protocol authentication error" in cause
    fresh.sh("cp -p /root/munge.key /etc/munge/")
    fresh.starts_well()


def test_a_clock_that_is_an_hour_off(fresh: FreshNode) -> None:
    """All nodes share the kernel's clock: libfaketime shows another time to the processes of the node."""
    library = fresh.node.run("sh", "-c", "ls /usr/lib/*/faketime/libfaketimeMT.so.1").stdout.strip()
    wrong = {"LD_PRELOAD": library, "FAKETIME": "-1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    fresh.node.run("systemctl", "set-environment", *(f"{name}={value}" for name, value in wrong.items()))
    code, cause = fresh.refuses(env=wrong)
    assert code == "LFN44"
    assert re.search(r"the clock is 3(59\d|60\d) s behind", cause)
    fresh.node.run("systemctl", "unset-environment", *wrong)
    fresh.node.run("systemctl", "stop", "slurmd", "munge")
    fresh.starts_well()


def test_a_host_name_that_does_not_resolve(fresh: FreshNode) -> None:
    """As in a VPC without DNS host names: the node adds its own name and its controller's by itself."""
    fresh.sh("sed -i '/ ip-/d' /etc/hosts; ! getent ahosts $(hostname)")
    fresh.starts_well()
    assert fresh.node.run("getent", "ahostsv4", fresh.node.name).stdout.startswith(fresh.node.address)


def test_a_full_disk(fresh: FreshNode) -> None:
    """The disk with the runner's state and log is full."""
    fresh.sh(
        "for folder in /var/lib/llm-fleet /var/log/llm-fleet; do mkdir -p $folder;"
        "mount -t tmpfs -o size=4k drill $folder; head -c 4096 /dev/zero >$folder/full; done"
    )
    assert fresh.start() == 1
    assert "No space left on device" in fresh.log()
    fresh.sh("umount /var/lib/llm-fleet /var/log/llm-fleet")
    fresh.starts_well()


def test_a_security_group_that_closes_slurms_port(fresh: FreshNode) -> None:
    """The node waits for its controller, and continues when the port is open."""
    fresh.sh(
        "nft add table inet drill; nft add chain inet drill out '{ type filter hook output priority 0; }';"
        "nft add rule inet drill out tcp dport 6817 drop"
    )
    starts = fresh.cluster.start_scripts([fresh.instance.name])
    until("the step that needs the controller waits", lambda: "[slurmd] begins" in fresh.log(), seconds=30)
    starts.wait_for_reports(seconds=5)
    assert not starts.codes
    fresh.sh("nft delete table inet drill")
    assert starts.wait(seconds=60) == {fresh.instance.name: 0}, fresh.log()
    fresh.cluster.resume(fresh.instance.name)
