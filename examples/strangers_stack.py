"""A HyperPod cluster in your own stack: the ten lines between the markers, and the app around them.

python examples/strangers_stack.py          synthesizes it to cdk.out, without an AWS account
"""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet import (
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
)


class ResearchStack(cdk.Stack):
    """A team's stack with a cluster to which its engineers can log in."""

    def __init__(self, scope: Construct, id: str, *, env: cdk.Environment | None = None) -> None:
        """Create the resources of the stack."""
        super().__init__(scope, id, env=env)
        engineers = iam.Role.from_role_name(self, "Engineers", "ml-engineers")

        # --- the ten lines ---
        network = FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
        lustre = LustreFileSystem(self, "Fsx", LustreSpec(storage_capacity_gib=4800), network=network)
        groups = [
            InstanceGroup.controller("ml.m5.xlarge"),
            InstanceGroup.workers("trn1", "ml.trn1.32xlarge", count=4),
        ]
        cluster = HyperPodCluster(self, "Train", HyperPodClusterSpec(groups=groups), network=network, lustre=lustre)
        cluster.grants.describe(engineers)
        cluster.grants.ssm_session(engineers)
        cluster.add_outputs()
        # --- end ---


def main(outdir: str = "cdk.out") -> None:
    """Synthesize the stack for an account and region, into `outdir`."""
    app = cdk.App(outdir=outdir)
    ResearchStack(app, "Research", env=cdk.Environment(account="111122223333", region="us-west-2"))
    app.synth()


if __name__ == "__main__":
    main()
