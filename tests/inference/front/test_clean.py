"""What fronts synthesize passes the checkers that a careful user would run."""

import aws_cdk as cdk

from tests.clean import FINDERS, nag_findings, validator_findings

# The CDK's validator is the engine of cloudformation-validate once more, and takes as long as all others together.
_READERS = [finder for finder in FINDERS if finder not in (nag_findings, validator_findings)]


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack):
    # cdk-nag comes first, as it must be there before the app is synthesized; the others read what was.
    assert [found for finder in (nag_findings, *_READERS) for found in finder(app)] == []
