"""Properties of this fleet that a change must not break. Add an assertion for each one that matters to you.

All functions: https://docs.aws.amazon.com/cdk/api/v2/python/aws_cdk.assertions/README.html
"""

from typing import cast

import aws_cdk as cdk
from aws_cdk.assertions import Match, Template


def test_the_fleet_is_as_its_users_expect_it(app: cdk.App) -> None:
    """The nodes have the right instance type, and the data of the file system is retained."""
    workers = Match.object_like({"InstanceGroupName": "workers", "InstanceType": "%type"})
    cluster = _template(app, "%{name}-train")
    cluster.has_resource_properties("AWS::SageMaker::Cluster", {"InstanceGroups": Match.array_with([workers])})

    storage = _template(app, "%{name}-storage")
    storage.has_resource("AWS::FSx::FileSystem", {"DeletionPolicy": "RetainExceptOnCreate"})


def _template(app: cdk.App, stack: str) -> Template:
    return Template.from_stack(cast("cdk.Stack", app.node.find_child(stack)))
