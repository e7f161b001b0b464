"""Every checker that a careful user would run, on a role with every feature."""

import aws_cdk as cdk

from llm_fleet.iam.node_role import NodeRole
from tests.clean import Finder, every_checker
from tests.iam.test_permissions import FEATURE_SETS


@every_checker
def test_no_checker_finds_anything(app: cdk.App, stack: cdk.Stack, finder: Finder) -> None:
    NodeRole(stack, "Role", features=FEATURE_SETS["all"])
    assert finder(app) == []
