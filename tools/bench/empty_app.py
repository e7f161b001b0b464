"""The reference: the smallest Python CDK app."""

import os

import aws_cdk as cdk

app = cdk.App(outdir=os.environ["CDK_OUTDIR"])
cdk.Stack(app, "Empty")
app.synth()
