"""Synthesis time of additional instance groups: a hundred groups take less than twice the time of one."""

from pathlib import Path
from time import perf_counter

import aws_cdk as cdk

from llm_fleet import FleetNetwork, HyperPodCluster, HyperPodClusterSpec, InstanceGroup, LustreFileSystem, NetworkSpec
from tools.synth_environment import cdk_context

ROUNDS = 5
MOST_GROUPS = 100


def synth(groups: int, folder: Path) -> float:
    """Return the seconds from the creation of an app with this number of `groups` to its assembly, with Node's time."""
    start = perf_counter()
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    stack = cdk.Stack(app, "Test", env=cdk.Environment(account="111122223333", region="us-west-2"))
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    HyperPodCluster(
        stack,
        "Train",
        HyperPodClusterSpec(
            groups=[
                InstanceGroup.controller("ml.m5.xlarge"),
                *(InstanceGroup.workers(f"w{n}", "ml.trn1.32xlarge", count=1) for n in range(groups - 1)),
            ]
        ),
        network=network,
        lustre=LustreFileSystem(stack, "Fsx", network=network),
    )
    app.synth()
    return perf_counter() - start


def test_a_hundred_groups_take_less_than_twice_the_time_of_one(tmp_path: Path) -> None:
    synth(1, tmp_path / "warm")
    rounds = [(synth(1, tmp_path / f"a{n}"), synth(MOST_GROUPS, tmp_path / f"b{n}")) for n in range(ROUNDS)]
    # The minimum, not the median: other work on the machine can only add time.
    one, hundred = (min(times) for times in zip(*rounds, strict=True))
    assert hundred < 2 * one, f"{MOST_GROUPS} groups took {hundred:.3f} s, one {one:.3f} s"
