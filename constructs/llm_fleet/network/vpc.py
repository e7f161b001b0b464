"""A VPC with its two CIDR blocks, VPC endpoints, and flow logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.interfaces.aws_kms import IKeyRef
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.network import node_endpoints
from llm_fleet.logs import log_group
from llm_fleet.network.zones import Zone


def vpc_of_zones(
    scope: Construct, *, vpc_id: str, cidr: str, zones: Sequence[Zone]
) -> tuple[ec2.IVpc, list[ec2.ISubnet]]:
    """Return the VPC, with subnet groups `Public`, `Private` and `Compute`, and its compute subnets in `zones`' order.

    The CDK's own `Vpc` is not used because it chooses AZs by name, never by id. Without public subnets the others are
    isolated: they have no route to the internet.
    """
    private, compute = [zone.private for zone in zones], [zone.compute_id for zone in zones]
    public = [zone.public for zone in zones if zone.public]
    kind = "private" if public else "isolated"
    attributes: dict[str, Any] = {
        f"{kind}_subnet_ids": [*(subnet.ref for subnet in private), *compute],
        f"{kind}_subnet_names": ["Private", "Compute"],
        f"{kind}_subnet_route_table_ids": [zone.route_table.ref for zone in zones] * 2,
        f"{kind}_subnet_ipv4_cidr_blocks": [
            *(subnet.cidr_block or "" for subnet in private),
            *(zone.compute_cidr for zone in zones),
        ],
    }
    if public:
        attributes["public_subnet_ids"] = [subnet.subnet_id for subnet in public]
        attributes["public_subnet_names"] = ["Public"]
        attributes["public_subnet_route_table_ids"] = [subnet.route_table_id for subnet in public]
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        "Vpc",
        vpc_id=vpc_id,
        vpc_cidr_block=cidr,
        availability_zones=[zone.private.attr_availability_zone for zone in zones],
        **attributes,
    )
    return vpc, (vpc.private_subnets if public else vpc.isolated_subnets)[len(zones) :]


def make_vpc(scope: Construct, *, cidr: str, compute_cidr: str, name: str) -> tuple[ec2.CfnVPC, ec2.CfnVPCCidrBlock]:
    """Make a VPC of `cidr` and associate `compute_cidr`; `name` is its Name tag."""
    vpc = ec2.CfnVPC(
        scope,
        "Resource",
        cidr_block=cidr,
        enable_dns_support=True,
        enable_dns_hostnames=True,  # private DNS names of endpoints and of FSx require it
        tags=[cdk.CfnTag(key="Name", value=name)],
    )
    acknowledge(
        vpc,
        "CloudFormation cannot take rules out of a VPC's default group; only a custom resource could. Nothing is put "
        "into it: every network interface here is made with a group of its own.",
        "NIST.800.53.R5-VPCDefaultSecurityGroupClosed",
    )
    return vpc, ec2.CfnVPCCidrBlock(scope, "ComputeCidr", vpc_id=vpc.ref, cidr_block=compute_cidr)


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
        """Create them.

        - `cidrs`: sources that may call the interface endpoints: the CIDR blocks of the VPC.
        - `subnet_ids`: of each interface endpoint, by its name after `com.amazonaws.<region>.`, the subnets in which it
          has an interface: one in each AZ.
        - `route_table_ids`: the tables that lead to S3.
        - `name`: what Name tags begin with.
        """
        super().__init__(scope, id)
        self._service_prefix = f"com.amazonaws.{cdk.Stack.of(self).region}."
        self._account = cdk.Stack.of(self).account
        # No policy here: nodes fetch container layers and the service's own files from AWS's buckets, whose list
        # AWS does not publish. The node's role limits what it can read and write.
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
            # Without any rule EC2 adds one that allows all outbound traffic; an endpoint only answers.
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="-1", cidr_ip="127.0.0.1/32", description="nothing: endpoints only answer"
                )
            ],
            tags=[cdk.CfnTag(key="Name", value=f"{name}/endpoints")],
        )

    def _own_principals_policy(self) -> dict[str, Any]:
        """Return a policy that allows principals of this account only.

        Credentials of another account, which could send secrets or data out of the VPC, are denied.
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


_SERVICE = "vpc-flow-logs.amazonaws.com"


class FlowLogs(Construct):
    """Flow logs of a VPC in a CloudWatch log group. The log group is retained, so that its records are kept after the
    VPC is deleted."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc_id: str,
        retention_days: int,
        encryption_key: IKeyRef | None,
        name: str,
    ) -> None:
        """Log accepted and rejected traffic of `vpc_id`.

        - `retention_days`: how long CloudWatch keeps it.
        - `encryption_key`: its policy must let CloudWatch Logs use it. `None`: CloudWatch Logs' own encryption.
        - `name`: what Name tags begin with.
        """
        super().__init__(scope, id)
        self.log_group = log_group(
            self,
            "LogGroup",
            retention_days=retention_days,
            encryption_key=encryption_key,
            holds=". Flow logs hold addresses and byte counts, no payload; set encryption_key if your own key is "
            "required",
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        self.role = iam.CfnRole(
            self,
            "Role",
            description="Lets VPC flow logs write into their log group",
            assume_role_policy_document=self._trust(),
        )
        # A managed policy, so that it is listed and can be audited like any other.
        self.policy = iam.CfnManagedPolicy(
            self,
            "Policy",
            description="VPC flow logs: write into their log group",
            roles=[self.role.ref],
            policy_document=self._permissions(),
        )
        self.flow_log = ec2.CfnFlowLog(
            self,
            "Resource",
            resource_id=vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_group_name=self.log_group.ref,
            deliver_logs_permission_arn=self.role.attr_arn,
            tags=[cdk.CfnTag(key="Name", value=f"{name}/flow-logs")],
        )
        # The role alone is not enough: without its policy the first records are lost.
        self.flow_log.add_resource_dependency(self.policy)

    def _trust(self) -> dict[str, Any]:
        """Only flow logs of this account may assume the role, not those of another account (confused deputy)."""
        stack = cdk.Stack.of(self)
        return {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"Service": _SERVICE},
                    "Action": "sts:AssumeRole",
                    "Condition": {
                        "StringEquals": {"aws:SourceAccount": stack.account},
                        "ArnLike": {
                            "aws:SourceArn": f"arn:{stack.partition}:ec2:{stack.region}:{stack.account}:vpc-flow-log/*"
                        },
                    },
                }
            ],
        }

    def _permissions(self) -> dict[str, Any]:
        return {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "WriteFlowRecords",
                    "Effect": "Allow",
                    "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                    # The attribute ends in `:*`: all streams of the group, whose names the service generates.
                    "Resource": self.log_group.attr_arn,
                }
            ],
        }
