"""Where a load balancer writes who asked for what."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from llm_fleet.storage.buckets import AccessLogBucket

_DELIVERY = "logdelivery.elasticloadbalancing.amazonaws.com"


class FrontLogs(Construct):
    """Access and connection logs of a load balancer in a bucket.

    The bucket has a key of S3's own, as load balancers write to no other. Its policy lets Elastic Load Balancing write
    the logs of this account's load balancers, and nothing else: the account is part of every key, and Elastic Load
    Balancing writes it. A condition on `aws:SourceArn` would tell the region too, but where the service does not send
    it the load balancer could not be made. Paths and addresses are in the logs; headers and bodies, and so keys,
    prompts and answers, are not.
    Source: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/enable-access-logging.html
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service_name: str,
        bucket: s3.IBucket | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Take `bucket`, or make one; `removal_policy` is for one that is made.

        `bucket`: encrypted with S3's own key. The policy of one that is imported must let Elastic Load Balancing write
        below `load-balancer/`, by the statement that is added to any other: the CDK cannot change it.
        """
        super().__init__(scope, id)
        self.prefix = f"load-balancer/{service_name}"
        """What the keys of all objects begin with."""
        self.bucket: s3.IBucket = bucket or cast(
            s3.IBucket, AccessLogBucket(self, "Bucket", removal_policy=removal_policy)
        )
        """The bucket."""
        stack = cdk.Stack.of(self)
        added = self.bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid=f"LoadBalancerLogs{self.node.addr[-8:]}",
                principals=[iam.ServicePrincipal(_DELIVERY)],  # pyright: ignore[reportArgumentType]
                actions=["s3:PutObject"],
                resources=[self.bucket.arn_for_objects(f"{self.prefix}/AWSLogs/{stack.account}/*")],
            )
        )
        self.writable: list[IDependable] = [added.policy_dependable] if added.policy_dependable else []
        """A load balancer must wait for this: it writes a first object when it is told of the bucket."""
