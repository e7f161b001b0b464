"""What becomes of a cluster when its stack is deleted, in the CDK's words."""

import aws_cdk as cdk

from llm_fleet.config.choices import Removal

REMOVAL = {
    Removal.DESTROY: cdk.RemovalPolicy.DESTROY,
    Removal.RETAIN: cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
}
