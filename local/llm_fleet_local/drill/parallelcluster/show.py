"""The demonstration of a ParallelCluster: starts the cluster, runs jobs, and reports how its nodes started."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.fleet import DrillFleet
from llm_fleet_local.drill.nodes.choose import make_backend
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.parallelcluster.cluster import ParallelClusterDrill
from llm_fleet_local.drill.parallelcluster.view import COMPUTE, LOGIN

Say = Callable[[str], None]


def show(drilled: DrillFleet, work: Path, *, backend: str, console: Console) -> int:
    """Run the demonstration with its own cluster; return the exit code."""
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - began:6.1f} s  {text}", markup=False, highlight=False, soft_wrap=True)

    with AwsEmulator() as aws:
        say(f"deploying {drilled.file.name} to the AWS emulator")
        aws.deploy(drilled.file, drilled.fleet, stack=drilled.stack)
        view = next(one for one in aws.parallelclusters() if one.name == drilled.cluster_name)
        say(f"{view.name} is deployed: its configuration passed ParallelCluster's schema and validators")
        with make_backend(work, backend, say=say) as made:
            cluster = ParallelClusterDrill(view, made, aws)
            try:
                _report(cluster, say)
            except (AssertionError, NodeError) as error:
                say(str(error))
                return 1
            finally:
                cluster.stop()
            console.print(_table(cluster))
    return 0


def _report(cluster: ParallelClusterDrill, say: Say) -> None:
    say("booting and configuring head, login and static nodes, and running their actions")
    cluster.bring_up()
    say("every step of every node is done and verified, and slurmd has registered")
    machines = cluster.machines.values()
    static = [one for one in machines if one.kind == COMPUTE and not one.is_dynamic]
    asking = next((one.host_name for one in machines if one.kind == LOGIN), cluster.head.name)
    if static:
        names = sorted(one.host_name for one in static if one.queue == static[0].queue)
        node = cluster.nodes[asking]
        answered = node.run(
            "/opt/slurm/bin/srun", "-p", f"{static[0].queue}", f"-N{len(names)}", "hostname", timeout=60
        )
        assert sorted(answered.stdout.split()) == names, answered.stdout
        say(f"srun on {asking} answered from {', '.join(names)}")
    waiting = next((one for one in machines if one.is_dynamic), None)
    if waiting is not None:
        job = cluster.slurm.submit("#!/bin/bash\nhostname\n", "-p", f"{waiting.queue}", "-o", "/dev/null")
        say(f"job {job} waits for a node of {waiting.queue}")
        say(f"started {', '.join(cluster.start_for_a_job())}")
        ended = cluster.slurm.wait_for_job(job, "COMPLETED", "FAILED", seconds=60)
        assert ended.state == "COMPLETED", f"job {job} ended as {ended.state}"
        say(f"job {job} ran on it")


def _table(cluster: ParallelClusterDrill) -> Table:
    table = Table("node", "group", "code", "seconds", "steps", "changes")
    for name in cluster.nodes:
        report = cluster.report(name)
        changes = sum(len(step["changes"]) for step in report["steps"])
        table.add_row(
            name,
            report["node"]["group"],
            report["code"],
            f"{report['seconds']:.1f}",
            str(len(report["steps"])),
            str(changes),
        )
    return table
