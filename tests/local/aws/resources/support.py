"""Shared by tests of resources: a deployer of single resources, and a network for most of them."""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.resource_provider import Created, Request
from llm_fleet_local.aws.resources.catalog_provider import CatalogProvider

REGION, ACCOUNT = "us-west-2", "123456789012"
STACK_ID = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/Fleet/0a1b2c3d-0000-1111-2222-333344445555"


def trust(service: str) -> dict[str, Any]:
    """Return a trust policy for one service."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return {"Version": "2012-10-17", "Statement": [statement]}


class Deployer:
    """Creates, updates and deletes single resources as the engine does."""

    def __init__(self, provider: CatalogProvider) -> None:
        self.provider = provider

    def client(self, service: str) -> Any:
        return self.provider.services.client(service, REGION)

    def create(self, resource_type: str, /, logical_id: str = "Thing", **properties: Any) -> Created:
        return self.provider.create(self._request(resource_type, properties, logical_id))

    def update(
        self, resource_type: str, created: Created, old: Mapping[str, Any], new: Mapping[str, Any], **more: Any
    ) -> Created:
        request = self._request(resource_type, new, old_properties=old, physical_id=created.physical_id, **more)
        return self.provider.update(request)

    def delete(self, resource_type: str, created: Created, /, **properties: Any) -> None:
        self.provider.delete(self._request(resource_type, properties, physical_id=created.physical_id))

    def _request(
        self, resource_type: str, properties: Mapping[str, Any], logical_id: str = "Thing", **more: Any
    ) -> Request:
        return Request(
            resource_type=resource_type,
            logical_id=logical_id,
            properties=properties,
            stack_name="Fleet",
            stack_id=STACK_ID,
            region=REGION,
            account=ACCOUNT,
            tags={"fleet": "test", "aws:cloudformation:stack-name": "Fleet"},
            **more,
        )


class Network:
    """A VPC with one compute subnet and a security group for EFA."""

    def __init__(self, deployer: Deployer, *, self_rules: bool = True) -> None:
        self._deployer = deployer
        self.vpc = deployer.create("AWS::EC2::VPC", CidrBlock="10.0.0.0/16").physical_id
        self.subnet_created = deployer.create(
            "AWS::EC2::Subnet", VpcId=self.vpc, CidrBlock="10.0.0.0/20", AvailabilityZoneId="usw2-az2"
        )
        self.subnet = self.subnet_created.physical_id
        self.group_created = deployer.create("AWS::EC2::SecurityGroup", GroupDescription="nodes", VpcId=self.vpc)
        self.group = self.group_created.physical_id
        if self_rules:
            self.open_to_itself()

    def open_to_itself(self, protocol: str = "-1", **ports: int) -> None:
        rule: dict[str, Any] = {"GroupId": self.group, "IpProtocol": protocol, **ports}
        self._deployer.create("AWS::EC2::SecurityGroupIngress", **rule, SourceSecurityGroupId=self.group)
        self._deployer.create("AWS::EC2::SecurityGroupEgress", **rule, DestinationSecurityGroupId=self.group)

    def lustre(self, **more: Any) -> dict[str, Any]:
        """Return properties of a file system in this network."""
        configuration = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250} | more
        return {
            "FileSystemType": "LUSTRE",
            "FileSystemTypeVersion": "2.15",
            "StorageCapacity": 4800,
            "SubnetIds": [self.subnet],
            "SecurityGroupIds": [self.group],
            "LustreConfiguration": configuration,
        }
