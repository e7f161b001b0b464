"""An inference service in your own stack: the lines between the markers, and the app around them.

python examples/strangers_inference.py      synthesizes it to cdk.out, without an AWS account
"""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet import FleetNetwork, Front, InferenceService, Model, NetworkSpec, ServiceSpec, TgiServer

CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"


class ProductStack(cdk.Stack):
    """A team's stack with a model that its application can call."""

    def __init__(self, scope: Construct, id: str, *, env: cdk.Environment | None = None) -> None:
        """Create the resources of the stack."""
        super().__init__(scope, id, env=env)
        application = iam.Role.from_role_name(self, "Application", "shop-backend")

        # --- the fifteen lines ---
        network = FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az4"]))
        spec = ServiceSpec(
            name="chat",
            model=Model(s3_uri="s3://my-models/tanuki-8b"),
            server=TgiServer(batch_size=4, sequence_length=4096),
            instance_type="inf2.xlarge",
            desired=2,
            front=Front(certificate_arn=CERTIFICATE, domain_name="chat.example.com"),
        )
        chat = InferenceService(self, "Chat", spec, network=network)
        chat.grants.read_api_key(application)
        chat.grants.describe(application)
        chat.add_outputs()
        # --- end ---


def main(outdir: str = "cdk.out") -> None:
    """Synthesize the stack for an account and region, into `outdir`."""
    app = cdk.App(outdir=outdir)
    ProductStack(app, "Product", env=cdk.Environment(account="111122223333", region="us-west-2"))
    app.synth()


if __name__ == "__main__":
    main()
