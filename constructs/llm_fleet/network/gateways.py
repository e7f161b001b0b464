"""The way out to the internet: an internet gateway, and the public route table that leads to it."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

_ANYWHERE = "0.0.0.0/0"


class InternetExit(Construct):
    """An internet gateway attached to a VPC, and a route table for public subnets.

    NAT gateways, their addresses and the default route name the attachment as a dependency: nothing in their
    properties refers to it, and without it CloudFormation makes them, and fails, before the gateway is attached.
    """

    def __init__(self, scope: Construct, id: str, *, vpc_id: str, name: str) -> None:
        """Make it in the VPC `vpc_id`; `name` is what Name tags begin with."""
        super().__init__(scope, id)
        gateway = ec2.CfnInternetGateway(self, "Resource", tags=[cdk.CfnTag(key="Name", value=name)])
        self.attachment = ec2.CfnVPCGatewayAttachment(
            self, "Attachment", vpc_id=vpc_id, internet_gateway_id=gateway.ref
        )
        self.route_table = ec2.CfnRouteTable(
            self, "RouteTable", vpc_id=vpc_id, tags=[cdk.CfnTag(key="Name", value=f"{name}/public")]
        )
        self.route = ec2.CfnRoute(
            self,
            "DefaultRoute",
            route_table_id=self.route_table.ref,
            destination_cidr_block=_ANYWHERE,
            gateway_id=gateway.ref,
        )
        self.route.add_resource_dependency(self.attachment)
        cdk.Validations.of(self.route).acknowledge(
            cdk.Acknowledgment(
                id="NIST.800.53.R5-VPCNoUnrestrictedRouteToIGW",
                reason="Only the public subnets use this table. Nothing but NAT gateways and load balancers that are "
                "asked to be public stands in them, and they give out no public addresses: nodes reach package mirrors "
                "and registries through NAT alone.",
            )
        )
