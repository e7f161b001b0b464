"""Retained resources as their services describe them: what still exists, how large it is, and its price."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from llm_fleet.catalog.ec2_instances import PriceTable, hours_of_a_month, prices
from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.retained.buckets import own_bucket
from llm_fleet.cli.retained.traces import Trace, Traces
from llm_fleet.cli.screen import progress
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.fleet_cost import lustre_price_item, open_zfs_price_items
from llm_fleet.rules.feature_codes import RetainedCode
from llm_fleet.rules.problem import Problem, raise_problems

NO_CHARGE = Decimal(0)
LUSTRE, OPEN_ZFS = "LUSTRE", "OPENZFS"
FILE_SYSTEM, KEY = "file system", "KMS key"
_DATA_DAYS = 3
"""S3 writes the metric of a bucket's size once a day, a day later.
Source: document https://docs.aws.amazon.com/AmazonS3/latest/userguide/metrics-dimensions.html"""
_GB = 10**9
_BY_PHYSICAL_ID = (
    "AWS::APS::Workspace",
    "AWS::DynamoDB::GlobalTable",
    "AWS::DynamoDB::Table",
    "AWS::SageMaker::Domain",
    "AWS::SecretsManager::Secret",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
)
"""Types whose id in CloudFormation is the one for Cloud Control; with another id, each would seem to be gone.
Source: document https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-identifier.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A service's description of a resource."""

    name: str = ""
    size: str = ""
    month_usd: Decimal | None = None
    """`None`: no price is known."""
    price_region: str = ""
    """Region of the price if it is another one, because that of the resource has no price."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The service's response."""
    created: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """A resource that exists and belongs to no stack."""

    kind: str
    trace: Trace
    described: Description
    fleet: str
    """Name of the fleet."""
    is_checked: bool = True
    """Whether its service was queried; otherwise it may not exist any more."""
    vpc_users: tuple[str, ...] = ()
    """Ids of resources of others in its VPC; for a key, in all VPCs of the list."""

    @property
    def id(self) -> str:
        """Its id for AWS."""
        return self.trace.id

    @property
    def since(self) -> datetime | None:
        """When its stack left it behind; if that is unknown, when it was created."""
        return self.trace.since or self.described.created

    @property
    def part(self) -> str:
        """Name of its stack without the fleet's, e.g. `storage`."""
        return self.trace.stack.removeprefix(f"{self.fleet}-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found, and what could not be queried."""

    items: tuple[Retained, ...]
    others: tuple[Retained, ...] = ()
    """Those that were not chosen with `--only`."""
    stacks: tuple[str, ...]
    """Stacks of the fleet that exist."""
    problems: tuple[Problem, ...]
    unsure: tuple[Problem, ...] = ()
    """Those of `problems` without whose answer it is unknown which stack has which resource."""

    def of(self, kind: str) -> tuple[Retained, ...]:
        """Return the items of `kind`."""
        return tuple(item for item in self.items if item.kind == kind)


def survey(clients: AwsClients, fleet: Fleet, *, only: Sequence[str] = ()) -> Survey:
    """Return the retained resources of `fleet`, only those with the ids `only` if it is not empty.

    Raises `FleetError` (LF1239) for an id that is not among them.
    """
    with progress("searching retained resources") as step:
        traces = Traces(clients, fleet)
        problems, items = list(traces.problems), list[Retained]()
        step(total=len(traces.found))
        for trace in traces.found:
            item, refused = _describe(clients, fleet, trace)
            items += [item] if item is not None else []
            problems += [problem for problem in refused if problem not in problems]
            step()
    items.sort(key=lambda item: (list(KINDS).index(item.kind) if item.kind in KINDS else len(KINDS), item.id))
    for id in only:
        if id not in {item.id for item in items}:
            unknown = Problem(
                code=RetainedCode.ID_UNKNOWN,
                message="no retained resource that was found has this id",
                remedy="choose an id that `llm-fleet retained` lists",
                value=id,
            )
            raise_problems([unknown, *traces.problems], subject="--only")
    chosen = tuple(item for item in items if not only or item.id in only)
    others = tuple(item for item in items if item not in chosen)
    return Survey(
        items=chosen,
        others=others,
        stacks=traces.stacks,
        problems=tuple(problems),
        unsure=tuple(traces.problems),
    )


def _describe(clients: AwsClients, fleet: Fleet, trace: Trace) -> tuple[Retained | None, tuple[Problem, ...]]:
    kind = next((kind for kind, (of, _) in KINDS.items() if of == trace.resource_type), trace.resource_type)
    unchecked = Retained(kind=kind, trace=trace, described=Description(), fleet=fleet.name, is_checked=False)
    if kind not in KINDS:
        return (None if _is_gone(clients, trace) else unchecked), ()
    try:
        with aws_errors_reported(f"{kind} {trace.id}"):
            described = KINDS[kind][1](clients, trace.id, fleet.region)
    except AwsGone:
        return None, ()
    except AwsRefusal as refused:
        return unchecked, refused.problems
    return (None if described is None else replace(unchecked, described=described, is_checked=True)), ()


def _is_gone(clients: AwsClients, trace: Trace) -> bool:
    """Return whether Cloud Control reports that the resource does not exist; without permission it may exist.

    Source: document https://docs.aws.amazon.com/cloudcontrolapi/latest/APIReference/API_GetResource.html
    """
    if trace.resource_type not in _BY_PHYSICAL_ID:
        return False
    try:
        with aws_errors_reported(f"{trace.resource_type} {trace.id}"):
            control = clients.client("cloudcontrol")
            try:
                control.get_resource(TypeName=trace.resource_type, Identifier=trace.id)
            except control.exceptions.ResourceNotFoundException:
                return True
    except AwsRefusal:  # `AwsGone`, too: e.g. an unknown type says nothing about the resource.
        pass
    return False


def _named(found: Mapping[str, Any]) -> str:
    tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}
    return str(tags.get("Name", ""))


def _file_system(clients: AwsClients, id: str, region: str) -> Description | None:
    found = next(iter(clients.client("fsx").describe_file_systems(FileSystemIds=[id])["FileSystems"]), None)
    if found is None:
        return None
    month, place = _file_system_month(found, prices(), region)
    return Description(
        name=_named(found),
        size=f"{found['StorageCapacity']} GiB" if found.get("StorageCapacity") else "",
        month_usd=month,
        price_region="" if place == region else place,
        facts=found,
        created=found["CreationTime"],
    )


def _file_system_month(found: Mapping[str, Any], table: PriceTable, region: str) -> tuple[Decimal | None, str]:
    """Return the price of a month and its Region; `None` if a part of it is unknown."""
    service, amounts = _billed(found)
    total, place = Decimal(0), region
    for item, amount in amounts.items():
        price = table.find((service,), item, region)
        if price is None or amount is None:
            return None, region
        total += Decimal(amount) * price.usd * (hours_of_a_month() if price.unit == "hour" else 1)
        place = price.region if price.region != region else place
    return total, place


def _billed(found: Mapping[str, Any]) -> tuple[str, dict[str, int | None]]:
    """Return the service and the amounts by item of the price table."""
    size = found.get("StorageCapacity")
    if found["FileSystemType"] == LUSTRE:
        settings = found["LustreConfiguration"]
        throughput = settings.get("PerUnitStorageThroughput")
        return "lustre", {lustre_price_item(settings["DeploymentType"], found["StorageType"], throughput): size}
    settings = found.get("OpenZFSConfiguration", {})
    storage, throughput = open_zfs_price_items(settings.get("DeploymentType", ""))
    return "openzfs", {storage: size, throughput: settings.get("ThroughputCapacity")}


def _vpc(clients: AwsClients, id: str, region: str) -> Description | None:
    (found,) = clients.client("ec2").describe_vpcs(VpcIds=[id])["Vpcs"]
    blocks = [one["CidrBlock"] for one in found.get("CidrBlockAssociationSet", [])]
    return Description(name=_named(found), size=", ".join(blocks), month_usd=NO_CHARGE, facts=found)


def _subnet(clients: AwsClients, id: str, region: str) -> Description | None:
    (found,) = clients.client("ec2").describe_subnets(SubnetIds=[id])["Subnets"]
    return Description(name=_named(found), size=found["CidrBlock"], month_usd=NO_CHARGE, facts=found)


def _security_group(clients: AwsClients, id: str, region: str) -> Description | None:
    (found,) = clients.client("ec2").describe_security_groups(GroupIds=[id])["SecurityGroups"]
    return Description(name=found["GroupName"], month_usd=NO_CHARGE, facts=found)


def _bucket(clients: AwsClients, id: str, region: str) -> Description | None:
    s3 = clients.client("s3")
    bucket = own_bucket(clients, id)
    s3.head_bucket(**bucket)
    return Description(name=id, size=_bucket_size(clients, id), facts={"KMSMasterKeyID": _key_of_bucket(s3, bucket)})


def _key_of_bucket(s3: Any, bucket: Mapping[str, str]) -> str | None:
    try:
        with aws_errors_reported(f"encryption of {bucket['Bucket']}"):
            found = s3.get_bucket_encryption(**bucket)["ServerSideEncryptionConfiguration"]
    except AwsGone:  # Without an encryption of its own.
        return None
    return found["Rules"][0]["ApplyServerSideEncryptionByDefault"].get("KMSMasterKeyID")


def _bucket_size(clients: AwsClients, bucket: str) -> str:
    """Return the size of the last days' metric; empty if there is none, e.g. in the first day."""
    now = datetime.now(UTC)
    points = clients.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/S3",
        MetricName="BucketSizeBytes",
        Dimensions=[{"Name": "BucketName", "Value": bucket}, {"Name": "StorageType", "Value": "StandardStorage"}],
        StartTime=now - timedelta(days=_DATA_DAYS),
        EndTime=now,
        Period=24 * 60 * 60,
        Statistics=["Average"],
    )["Datapoints"]
    last = max(points, key=lambda point: point["Timestamp"], default=None)
    return "" if last is None else f"{last['Average'] / _GB:.1f} GB"


def _key(clients: AwsClients, id: str, region: str) -> Description | None:
    found = clients.client("kms").describe_key(KeyId=id)["KeyMetadata"]
    if found["KeyState"] == "PendingDeletion":
        return None
    return Description(name=found.get("Description", ""), facts=found, created=found["CreationDate"])


def _log_group(clients: AwsClients, id: str, region: str) -> Description | None:
    groups = clients.client("logs").describe_log_groups(logGroupNamePrefix=id)["logGroups"]
    found = next((group for group in groups if group["logGroupName"] == id), None)
    if found is None:
        return None
    created = datetime.fromtimestamp(found["creationTime"] / 1000, UTC)
    return Description(name=id, size=f"{found.get('storedBytes', 0) / _GB:.1f} GB", facts=found, created=created)


def _parameter(clients: AwsClients, id: str, region: str) -> Description | None:
    found = clients.client("ssm").get_parameter(Name=id)["Parameter"]
    return Description(name=id, month_usd=NO_CHARGE, facts=found, created=found["LastModifiedDate"])


def _rds(call: str, key: str, answer: str) -> "Describe":
    def describe(clients: AwsClients, id: str, region: str) -> Description | None:
        (found,) = getattr(clients.client("rds"), call)(**{key: id})[answer]
        size = found.get("AllocatedStorage")
        return Description(name=id, size=f"{size} GiB" if size else "", facts=found)

    return describe


Describe = Callable[[AwsClients, str, str], Description | None]

KINDS: Mapping[str, tuple[str, Describe]] = {
    FILE_SYSTEM: ("AWS::FSx::FileSystem", _file_system),
    "bucket": ("AWS::S3::Bucket", _bucket),
    "VPC": ("AWS::EC2::VPC", _vpc),
    "subnet": ("AWS::EC2::Subnet", _subnet),
    "security group": ("AWS::EC2::SecurityGroup", _security_group),
    "log group": ("AWS::Logs::LogGroup", _log_group),
    "parameter": ("AWS::SSM::Parameter", _parameter),
    "database": ("AWS::RDS::DBCluster", _rds("describe_db_clusters", "DBClusterIdentifier", "DBClusters")),
    "database server": ("AWS::RDS::DBInstance", _rds("describe_db_instances", "DBInstanceIdentifier", "DBInstances")),
    "snapshot": (
        "AWS::RDS::DBClusterSnapshot",
        _rds("describe_db_cluster_snapshots", "DBClusterSnapshotIdentifier", "DBClusterSnapshots"),
    ),
    "server snapshot": (
        "AWS::RDS::DBSnapshot",
        _rds("describe_db_snapshots", "DBSnapshotIdentifier", "DBSnapshots"),
    ),
    KEY: ("AWS::KMS::Key", _key),
}
"""Types of CloudFormation and descriptions by kind, in the order of the list. Other types are listed with their type,
and not queried."""
