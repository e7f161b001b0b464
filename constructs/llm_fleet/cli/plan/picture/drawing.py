"""Draws the architecture of a synthesized cloud assembly as one SVG."""

from pathlib import Path

from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.layout import Layout
from llm_fleet.cli.plan.picture.paint import painted
from llm_fleet.cli.plan.picture.scene import Scene


def picture_of(assembly: Path) -> str:
    """Return the SVG of the cloud assembly in the folder `assembly`, usually `cdk.out`.

    It shows the region, VPCs, Availability Zones and subnets as boxes; in them clusters, services, what SageMaker
    runs, file systems and databases; beside them buckets, alarms and topics; and as lines what asks, mounts, reads,
    writes and tells what. Rights come from the policies in the templates. Roles, keys, log groups and security groups
    are left out. The same assembly gives the same bytes.

    Raises `FleetError` when the folder is no cloud assembly.
    """
    return painted(Layout.of(Scene.of(Assembly.read(assembly))))
