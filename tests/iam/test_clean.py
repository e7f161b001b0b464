"""No checker finds anything in a role with all features."""

import aws_cdk as cdk

from llm_fleet.iam.node_role import NodeRole
from tests.clean import all_findings
from tests.iam.test_permissions import FEATURE_SETS


def test_no_checker_finds_anything(app: cdk.App, stack: cdk.Stack) -> None:
    NodeRole(stack, "Role", features=FEATURE_SETS["all"])
    assert all_findings(app) == []
