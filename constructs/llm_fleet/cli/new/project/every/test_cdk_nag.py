"""cdk-nag finds nothing. Otherwise the test prints its report: fix each finding, or acknowledge it with a reason."""

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks


def test_cdk_nag_has_no_findings(app: cdk.App) -> None:
    """`cdk.Validations.of(construct).acknowledge(...)` acknowledges a finding."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
