"""Facts that the emulated services return for the resources in a configuration: whether they exist, and where."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.account_context import AccountContext


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of resource that exists when a call for it succeeds."""

    keys: tuple[str, ...]
    call: tuple[str, str]
    asks: Callable[[str], dict[str, Any]]
    under: str | None = None


_KINDS = (
    _Kind(
        keys=("SecurityGroups", "AdditionalSecurityGroups", "SecurityGroupIds"),
        call=("ec2", "DescribeSecurityGroups"),
        asks=lambda name: {"GroupIds": [name]},
    ),
    _Kind(keys=("KeyName",), under="Ssh", call=("ec2", "DescribeKeyPairs"), asks=lambda name: {"KeyNames": [name]}),
    _Kind(keys=("Policy", "PermissionsBoundary"), call=("iam", "GetPolicy"), asks=lambda name: {"PolicyArn": name}),
    _Kind(keys=("InstanceRole",), call=("iam", "GetRole"), asks=lambda name: {"RoleName": _last(name)}),
    _Kind(
        keys=("InstanceProfile",),
        call=("iam", "GetInstanceProfile"),
        asks=lambda name: {"InstanceProfileName": _last(name)},
    ),
    _Kind(
        keys=("PasswordSecretArn", "MungeKeySecretArn"),
        call=("secretsmanager", "DescribeSecret"),
        asks=lambda name: {"SecretId": name},
    ),
    _Kind(keys=("KmsKeyId",), call=("kms", "DescribeKey"), asks=lambda name: {"KeyId": name}),
    _Kind(
        keys=("FileSystemId",),
        under="FsxLustreSettings",
        call=("fsx", "DescribeFileSystems"),
        asks=lambda name: {"FileSystemIds": [name]},
    ),
    _Kind(
        keys=("VolumeId",),
        under="FsxOpenZfsSettings",
        call=("fsx", "DescribeVolumes"),
        asks=lambda name: {"VolumeIds": [name]},
    ),
)


def account_context(services: Services, region: str, configuration: Mapping[str, Any]) -> AccountContext:
    """Query the emulated services as a configuration's validators would query AWS."""
    queries = _Queries(services, region)
    subnets = queries.subnets(named.values(configuration, "SubnetId", "SubnetIds"))
    missing = [
        name
        for kind in _KINDS
        for name in named.values(configuration, *kind.keys, under=kind.under)
        if queries.query(*kind.call, kind.asks(name)) is None
    ]
    missing += [name for name, facts in subnets.items() if facts is None]
    missing += [uri for uri in named.s3_uris(configuration) if not queries.has_object(uri)]
    found = {name: facts for name, facts in subnets.items() if facts}
    return AccountContext(
        zones={name: facts["AvailabilityZone"] for name, facts in found.items()},
        public_subnets=[name for name, facts in found.items() if facts["MapPublicIpOnLaunch"]],
        missing=missing,
        file_system_vpcs=queries.foreign_file_systems(configuration, found),
    )


class _Queries:
    def __init__(self, services: Services, region: str) -> None:
        self._services = services
        self._region = region

    def query(self, service: str, operation: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return the response; `None` if the service returns an error, as for a missing resource."""
        try:
            return self._services.call(service, self._region, operation, params)
        except ResourceFailed:
            return None

    def subnets(self, names: list[str]) -> dict[str, dict[str, Any] | None]:
        """Return each subnet's facts, `None` for a missing one."""
        answers = {name: self.query("ec2", "DescribeSubnets", {"SubnetIds": [name]}) for name in names}
        return {name: answer["Subnets"][0] if answer else None for name, answer in answers.items()}

    def has_object(self, uri: str) -> bool:
        """Return whether an object exists at an S3 URI."""
        parts = urlsplit(uri)
        return self.query("s3", "HeadObject", {"Bucket": parts.netloc, "Key": parts.path.lstrip("/")}) is not None

    def foreign_file_systems(self, configuration: Mapping[str, Any], subnets: dict[str, Any]) -> dict[str, str]:
        """Return the VPCs of file systems that are not in the cluster's VPC."""
        own = {facts["VpcId"] for facts in subnets.values()}
        vpcs: dict[str, str] = {}
        for name in named.values(configuration, "FileSystemId", under="FsxLustreSettings"):
            answer = self.query("fsx", "DescribeFileSystems", {"FileSystemIds": [name]})
            if answer and (vpc := answer["FileSystems"][0].get("VpcId")) not in own:
                vpcs[name] = vpc
        return vpcs


def _last(arn: str) -> str:
    return arn.rsplit("/", 1)[-1]
