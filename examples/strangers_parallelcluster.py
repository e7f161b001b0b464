"""A ParallelCluster in your own stack: the ten lines between the markers, and the app around them.

python examples/strangers_parallelcluster.py          synthesizes it to cdk.out, without an AWS account
"""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet import (
    FleetNetwork,
    HeadNode,
    LoginPool,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    OpenZfsFileSystem,
    ParallelCluster,
    ParallelClusterSpec,
    Queue,
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
        home = OpenZfsFileSystem(self, "Home", network=network)
        spec = ParallelClusterSpec(
            head_node=HeadNode(instance_type="m5.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=4), Queue.gpu("p5", instance_type="p5.48xlarge", max_count=2)],
            login_pools=[LoginPool(name="login", instance_type="m5.large")],
        )
        cluster = ParallelCluster(self, "Train", spec, network=network, lustre=lustre, open_zfs=home)
        cluster.grants.ssm_session(engineers)
        # --- end ---
        cluster.add_outputs()


def main(outdir: str = "cdk.out") -> None:
    """Synthesize the stack for an account and region, into `outdir`."""
    app = cdk.App(outdir=outdir)
    ResearchStack(app, "Research", env=cdk.Environment(account="111122223333", region="us-west-2"))
    app.synth()


if __name__ == "__main__":
    main()
