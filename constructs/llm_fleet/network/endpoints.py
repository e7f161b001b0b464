"""The endpoints through which a VPC reaches AWS's services without the internet."""

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.catalog.network import node_endpoints

_HTTPS = 443


class Endpoints(Construct):
    """S3's gateway endpoint, and interface endpoints with private DNS names and a security group of their own."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc_id: str,
        cidrs: Sequence[str],
        subnet_ids: Mapping[str, Sequence[str]],
        route_table_ids: Sequence[str],
        name: str,
    ) -> None:
        """Make them.

        - `cidrs`: who may call the interface endpoints: the blocks of the VPC.
        - `subnet_ids`: of each interface endpoint, by its name after `com.amazonaws.<region>.`, the subnets that it has
          an interface in: one an AZ.
        - `route_table_ids`: the tables that lead to S3.
        - `name`: what Name tags begin with.
        """
        super().__init__(scope, id)
        self._service_prefix = f"com.amazonaws.{cdk.Stack.of(self).region}."
        self._account = cdk.Stack.of(self).account
        # No policy here: nodes fetch container layers and the service's own files from AWS's buckets, whose list
        # AWS does not publish. What a node may read and write is for its role to say.
        self.s3 = ec2.CfnVPCEndpoint(
            self,
            "s3",
            vpc_id=vpc_id,
            service_name=f"{self._service_prefix}s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=list(route_table_ids),
            tags=[cdk.CfnTag(key="Name", value=f"{name}/s3")],
        )
        self.interfaces: dict[str, ec2.CfnVPCEndpoint] = {}
        if not subnet_ids:
            return
        group = self._security_group(vpc_id, cidrs, name)
        own_only = {endpoint.name for endpoint in node_endpoints() if endpoint.own_principals_only}
        for service, subnets in subnet_ids.items():
            self.interfaces[service] = ec2.CfnVPCEndpoint(
                self,
                service,
                vpc_id=vpc_id,
                service_name=f"{self._service_prefix}{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=list(subnets),
                security_group_ids=[group.ref],
                policy_document=self._own_principals_policy() if service in own_only else None,
                tags=[cdk.CfnTag(key="Name", value=f"{name}/{service}")],
            )

    def _security_group(self, vpc_id: str, cidrs: Sequence[str], name: str) -> ec2.CfnSecurityGroup:
        return ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            vpc_id=vpc_id,
            group_description="Interface endpoints: HTTPS from the VPC",
            security_group_ingress=[
                ec2.CfnSecurityGroup.IngressProperty(
                    ip_protocol="tcp", from_port=_HTTPS, to_port=_HTTPS, cidr_ip=cidr, description="HTTPS from the VPC"
                )
                for cidr in cidrs
            ],
            # Without any rule EC2 adds one that lets everything out; an endpoint only answers.
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="-1", cidr_ip="127.0.0.1/32", description="nothing: endpoints only answer"
                )
            ],
            tags=[cdk.CfnTag(key="Name", value=f"{name}/endpoints")],
        )

    def _own_principals_policy(self) -> dict[str, Any]:
        """Return a policy that admits principals of this account only.

        Credentials that somebody carries into the VPC, to send secrets or data to another account, do not pass.
        """
        return {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "OwnPrincipalsOnly",
                    "Effect": "Allow",
                    "Principal": "*",
                    "Action": "*",
                    "Resource": "*",
                    "Condition": {"StringEquals": {"aws:PrincipalAccount": self._account}},
                }
            ],
        }
