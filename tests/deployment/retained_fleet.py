"""A fleet with file systems and a bucket that is deployed, gets an object, and is destroyed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import LAUNCH_POST, synthesize
from tests.deployment.what_is_there import what_is_there

OBJECT = b"the first life"
_STORAGE = "storage:                    # retained, also when its stack is deleted\n"
_BUCKETS = "  buckets:\n    data: {}               # models and data\n  home: {}\n"


class RetainedFleet:
    """The launch post's fleet with a bucket and home directories, in its own emulation."""

    def __init__(self, aws: LocalAws, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.aws = aws
        self.folder = folder
        self.file = folder / "fleet.yaml"
        text = LAUNCH_POST.read_text(encoding="utf-8")
        assert _STORAGE in text
        self.file.write_text(text.replace(_STORAGE, _STORAGE + _BUCKETS), encoding="utf-8")
        for name, value in aws.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        aws.bootstrap()
        self.before = self.there()
        self._lives = 0
        self.first_network: dict[str, Any] = {}

    def there(self) -> dict[str, set[str]]:
        """What each service has now."""
        return {kind: set(found) for kind, found in what_is_there(self.aws).items()}

    def left(self) -> dict[str, set[str]]:
        """What is there in addition to what was there before the first life."""
        return {kind: found - self.before[kind] for kind, found in self.there().items() if found - self.before[kind]}

    def deploy(self) -> Callable[[], None]:
        """Deploy the file as it is now; return the function that destroys it."""
        self._lives += 1
        assembly = synthesize(self.folder / f"life-{self._lives}", self.file)
        report = self.aws.deploy(assembly)
        assert report.succeeded, report

        def destroy() -> None:
            ended = self.aws.destroy(assembly, unprotect=True)
            assert ended.succeeded, ended

        return destroy

    def live_once(self) -> None:
        """Deploy, put an object into the bucket, destroy."""
        destroy = self.deploy()
        self.first_network = self.network()
        self.aws.client("s3").put_object(Bucket=self.bucket, Key="models/one", Body=OBJECT)
        destroy()

    @property
    def bucket(self) -> str:
        """Name of the fleet's bucket."""
        (name,) = (one for one in self.there()["buckets"] if "bucketdata" in one)
        return name

    @property
    def vpc(self) -> str:
        (id,) = self.there()["VPCs"] - self.before["VPCs"]
        return id

    def network(self) -> dict[str, Any]:
        """What the VPC has besides itself: routes of the compute subnet, endpoints, gateways, outbound addresses."""
        ec2 = self.aws.client("ec2")
        of_vpc = [{"Name": "vpc-id", "Values": [self.vpc]}]
        attached = [{"Name": "attachment.vpc-id", "Values": [self.vpc]}]
        subnets = ec2.describe_subnets(Filters=of_vpc)["Subnets"]
        (compute,) = (one["SubnetId"] for one in subnets if one["CidrBlock"] == "10.1.0.0/17")
        of_subnet = [{"Name": "association.subnet-id", "Values": [compute]}]
        nats = ec2.describe_nat_gateways(Filters=[*of_vpc, {"Name": "state", "Values": ["available"]}])["NatGateways"]
        endpoints = ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
        groups = {one["GroupId"] for one in ec2.describe_security_groups(Filters=of_vpc)["SecurityGroups"]}
        rules = ec2.describe_security_group_rules()["SecurityGroupRules"]
        logs = ec2.describe_flow_logs(Filters=[{"Name": "resource-id", "Values": [self.vpc]}])["FlowLogs"]
        return {
            "routes": sorted(
                (
                    route.get("DestinationCidrBlock", "S3"),
                    route.get("NatGatewayId") in [one["NatGatewayId"] for one in nats],
                )
                for table in ec2.describe_route_tables(Filters=of_subnet)["RouteTables"]
                for route in table["Routes"]
            ),
            "addresses": len([one for nat in nats for one in nat["NatGatewayAddresses"]]),
            "endpoints": sorted(one["ServiceName"] for one in endpoints if one["State"] == "available"),
            "subnets": sorted(one["CidrBlock"] for one in subnets),
            "internet gateways": len(ec2.describe_internet_gateways(Filters=attached)["InternetGateways"]),
            "flow logs": len(logs),
            "outbound": sorted(
                one["CidrIpv4"] for one in rules if one["GroupId"] in groups and one["IsEgress"] and "CidrIpv4" in one
            ),
        }
