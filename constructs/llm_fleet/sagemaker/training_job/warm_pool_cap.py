"""The policy that caps how long people may let instances wait for their next job."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge


class WarmPoolCap(Construct):
    """A managed policy that denies jobs with a longer warm pool, to be attached to whoever starts jobs.

    It denies, where the guide on warm pools shows an Allow with `NumericLessThanIfExists`: an Allow caps nobody who has
    another one, e.g. of AmazonSageMakerFullAccess. A job without a warm pool sends no such key, and is not denied.
    Source: docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools-how-to-use.html
    """

    def __init__(self, scope: Construct, id: str, *, cap_seconds: int) -> None:
        """Deny a `KeepAlivePeriodInSeconds` above `cap_seconds`, in this account and region."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        jobs = stack.format_arn(service="sagemaker", resource="training-job", resource_name="*")
        self.policy = iam.ManagedPolicy(
            self,
            "Resource",
            description=f"Caps warm pools of training jobs at {cap_seconds} seconds",
            statements=[
                iam.PolicyStatement(
                    sid="WarmPoolCap",
                    effect=iam.Effect.DENY,
                    actions=["sagemaker:CreateTrainingJob", "sagemaker:UpdateTrainingJob"],
                    resources=[jobs],
                    conditions={"NumericGreaterThan": {"sagemaker:KeepAlivePeriod": str(cap_seconds)}},
                )
            ],
        )
        """Attach it: `role.add_managed_policy(cap.policy)`."""
        acknowledge(self.policy, "It denies, and so for all jobs.", "AwsSolutions-IAM5")
