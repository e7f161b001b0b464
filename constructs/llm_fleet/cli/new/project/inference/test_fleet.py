"""Properties of this fleet that a change must not break. Add an assertion for each one that matters to you.

All functions: https://docs.aws.amazon.com/cdk/api/v2/python/aws_cdk.assertions/README.html
"""

from typing import cast

import aws_cdk as cdk
from aws_cdk.assertions import Match, Template


def test_the_fleet_is_as_its_users_expect_it(app: cdk.App) -> None:
    """The hosts have the right instance type, and the load balancer has no public address."""
    service = _template(app, "%{name}-chat")
    hosts = {"LaunchTemplateData": Match.object_like({"InstanceType": "%type"})}
    service.has_resource_properties("AWS::EC2::LaunchTemplate", hosts)
    service.has_resource_properties("AWS::ElasticLoadBalancingV2::LoadBalancer", {"Scheme": "internal"})


def _template(app: cdk.App, stack: str) -> Template:
    return Template.from_stack(cast("cdk.Stack", app.node.find_child(stack)))
