"""AWS Batch with the network and the file system of llm-fleet, in your own stack: the lines between the markers.

python examples/strangers_batch.py      synthesizes it to cdk.out, without an AWS account
"""

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet import FleetNetwork, LustreFileSystem, LustreSpec, NetworkSpec


class BatchStack(cdk.Stack):
    """A team's stack whose Batch jobs share a Lustre file system."""

    def __init__(self, scope: Construct, id: str, *, env: cdk.Environment | None = None) -> None:
        """Create the resources of the stack."""
        super().__init__(scope, id, env=env)

        # --- the lines ---
        network = FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
        lustre = LustreFileSystem(self, "Fsx", LustreSpec(storage_capacity_gib=4800), network=network)
        lustre.allow_mount_from(network.security_group)
        mount = ec2.MultipartUserData()
        mount.add_user_data_part(ec2.UserData.for_linux(), ec2.MultipartBody.SHELL_SCRIPT, make_default=True)
        mount.add_commands(
            "dnf install -y lustre-client && mkdir -p /fsx",
            f"mount -t lustre -o relatime,flock {lustre.dns_name}@tcp:/{lustre.mount_name} /fsx",
        )
        machines = batch.ManagedEc2EcsComputeEnvironment(
            self,
            "Machines",
            vpc=network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=list(network.compute_subnets.values())),
            security_groups=[network.security_group],
            launch_template=ec2.LaunchTemplate(self, "Mount", user_data=mount, require_imdsv2=True),
        )
        batch.JobQueue(self, "Queue").add_compute_environment(machines, 1)
        # --- end ---


def main(outdir: str = "cdk.out") -> None:
    """Synthesize the stack for an account and region, into `outdir`."""
    app = cdk.App(outdir=outdir)
    BatchStack(app, "Batch", env=cdk.Environment(account="111122223333", region="us-west-2"))
    app.synth()


if __name__ == "__main__":
    main()
