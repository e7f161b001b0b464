"""A CDK app with one error; without error it can be deployed."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3


def faulty_app(app: cdk.App, fault: str = "") -> None:
    """Synthesize a stack with `fault` (`unknown property`, `unknown policy`) in `app`."""
    stack = cdk.Stack(app, "Faulty")
    bucket = s3.Bucket(stack, "Data", removal_policy=cdk.RemovalPolicy.DESTROY)
    if fault == "unknown property":
        resource = bucket.node.default_child
        assert isinstance(resource, s3.CfnBucket)
        resource.add_property_override("Color", "red")
    policy = "NoSuchPolicy" if fault == "unknown policy" else "AmazonS3ReadOnlyAccess"
    iam.CfnRole(
        stack,
        "Reader",
        assume_role_policy_document={
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}},
            ],
        },
        managed_policy_arns=[f"arn:aws:iam::aws:policy/{policy}"],
    )
    app.synth()
