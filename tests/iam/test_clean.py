"""Every checker that a careful user would run, on a role with every feature."""

import aws_cdk as cdk
import pytest

from llm_fleet.iam.node_role import NodeRole
from tests import clean
from tests.iam.test_permissions import FEATURE_SETS


@pytest.mark.parametrize(
    "finder",
    [
        clean.nag_findings,
        clean.validator_findings,
        clean.annotation_findings,
        clean.cfn_lint_findings,
        clean.cloudformation_validate_findings,
    ],
    ids=lambda finder: finder.__name__,
)
def test_no_checker_finds_anything(app: cdk.App, stack: cdk.Stack, finder: clean.Finder) -> None:
    NodeRole(stack, "Role", features=FEATURE_SETS["all"])
    assert finder(app) == []
