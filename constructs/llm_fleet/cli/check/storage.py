"""Checks the existing buckets and file systems of a fleet."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from llm_fleet.catalog.fsx import lustre_limits, open_zfs_limits
from llm_fleet.cli.check.network import security_group
from llm_fleet.cli.check.question import Account, Answer, Question, Topic, header_of, own_ids
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.account.existing_resources import (
    ExistingFileSystem,
    ReportedFileSystem,
    check_bucket,
    check_file_system,
    check_new_bucket,
)
from llm_fleet.rules.account.keys import ExistingKey, check_key
from llm_fleet.rules.account.subnets import check_ports
from llm_fleet.rules.feature_codes import CheckCode, CommandCode
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.spec.references import KEY, Key

_S3 = "s3://"
_REGION = "x-amz-bucket-region"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBucket:
    """A bucket that a fleet file names."""

    name: str
    used_for: str
    """Its use; follows the word `which` in messages."""
    same_region: bool
    """Whether it must be in the fleet's Region. SageMaker's guides say so for jobs and endpoints; for a data
    repository of FSx: assumption: fsx-links-buckets-of-its-region"""
    path: tuple[PathPart, ...]


def questions_of_buckets(fleet: Fleet) -> Iterator[Question]:
    """Yield one check per bucket."""
    made = {bucket.bucket_name for bucket in fleet.storage.buckets.values() if not bucket.existing}
    seen: set[str] = set()
    for bucket in bucket_places(fleet):
        if bucket.name not in seen and bucket.name not in made:
            seen.add(bucket.name)
            yield Question(Topic.STORAGE, f"bucket {bucket.name}", partial(_ask_bucket, bucket))
    for key, new in fleet.storage.buckets.items():
        if new.bucket_name is not None and not new.existing:
            path = ("storage", "buckets", key, "name")
            yield Question(
                Topic.STORAGE,
                f"name of the new bucket {new.bucket_name}",
                partial(_ask_new_bucket, fleet, new.bucket_name, path),
            )


def bucket_places(fleet: Fleet) -> Iterator[NamedBucket]:
    """Return the buckets that must exist before the deployment."""
    yield from _of_storage(fleet)
    yield from _of_clusters(fleet)
    yield from _of_models(fleet)
    yield from _of_jobs(fleet)


def _of_storage(fleet: Fleet) -> Iterator[NamedBucket]:
    for key, bucket in fleet.storage.buckets.items():
        if bucket.existing and bucket.bucket_name is not None:
            path = ("storage", "buckets", key, "name")
            yield _of(_S3 + bucket.bucket_name, "the fleet file names as existing", False, path)
    for repository in fleet.storage.fsx.repositories if fleet.storage.fsx is not None else ():
        yield _of(repository.data_repository_path, "FSx mirrors", True, ("storage", "fsx"))


def _of_clusters(fleet: Fleet) -> Iterator[NamedBucket]:
    for name, cluster in fleet.hyperpod_clusters.items():
        bucket = cluster.scripts.bucket
        if isinstance(bucket, str):
            path = ("clusters", name, "scripts", "bucket")
            yield _of(_S3 + bucket, "nodes fetch their lifecycle scripts from", True, path)
    for name, cluster in fleet.clusters.items():
        for index, mount in enumerate(cluster.s3_mounts):
            if isinstance(mount.bucket, str) and mount.bucket.startswith(_S3):
                yield _of(mount.bucket, "nodes mount", False, ("clusters", name, "s3_mounts", index))


def _of_models(fleet: Fleet) -> Iterator[NamedBucket]:
    for name, service in fleet.services.items():
        if service.model.s3_uri is not None:
            yield _of(service.model.s3_uri, "the model is served from", False, ("services", name, "model"))
    for name, endpoint in fleet.endpoints.items():
        uri = endpoint.model.s3_uri or endpoint.model.tarball_uri
        if uri is not None:
            yield _of(uri, "the model is served from", True, ("endpoints", name, "model"))


def _of_jobs(fleet: Fleet) -> Iterator[NamedBucket]:
    for name, job in fleet.training_jobs.items():
        for key, channel in job.channels.items():
            if channel.uri is not None:
                yield _of(channel.uri, "the job reads", True, ("training_jobs", name, "channels", key))


def _of(uri: str, used_for: str, same_region: bool, path: tuple[PathPart, ...]) -> NamedBucket:
    return NamedBucket(name=urlsplit(uri).netloc, used_for=used_for, same_region=same_region, path=path)


def _ask_bucket(bucket: NamedBucket, account: Account) -> Answer:
    exists, where = True, None
    try:
        head = account.ask("s3", "head_bucket", Bucket=bucket.name)
        where = head.get("BucketRegion") or head["ResponseMetadata"]["HTTPHeaders"].get(_REGION)
    except AwsRefusal as refusal:
        where = header_of(refusal, _REGION)
        exists = refusal.code is not CommandCode.GONE
        if exists and (not bucket.same_region or where in (None, account.region)):
            raise
    problems = check_bucket(
        bucket.name,
        exists=exists,
        bucket_region=where,
        region=account.region,
        used_for=bucket.used_for,
        same_region=bucket.same_region,
        path=bucket.path,
    )
    return Answer(detail=f"in {where or account.region}" if exists else "the bucket does not exist", problems=problems)


def _ask_new_bucket(fleet: Fleet, name: str, path: tuple[PathPart, ...], account: Account) -> Answer:
    try:
        account.ask("s3", "head_bucket", Bucket=name)
    except AwsRefusal as refusal:
        # S3 returns 403 for an existing bucket without access to it, 404 if it does not exist.
        if refusal.code not in (CommandCode.GONE, CommandCode.DENIED):
            raise
        taken = refusal.code is CommandCode.DENIED
        return Answer(
            detail="the bucket exists in another account" if taken else "the name is free",
            problems=check_new_bucket(name, exists=taken, path=path),
        )
    own = name in own_ids(account, fleet)
    return Answer(
        detail="the bucket of this fleet exists" if own else "the bucket exists in this account",
        problems=check_new_bucket(name, exists=not own, path=path),
    )


def questions(fleet: Fleet) -> Iterator[Question]:
    """Yield the checks of existing file systems, buckets and KMS keys, and of the names of new buckets."""
    for file_system_id, reported, let_in in _existing(fleet):
        yield Question(
            Topic.STORAGE, f"file system {file_system_id}", partial(_ask_file_system, fleet, file_system_id, reported)
        )
        if fleet.network is not None and fleet.network.vpc is not None:
            yield Question(
                Topic.STORAGE,
                f"ports of {file_system_id}",
                partial(_ask_ports, fleet, file_system_id, reported, let_in),
            )
    yield from questions_of_buckets(fleet)
    yield from questions_of_keys(fleet)


def questions_of_keys(fleet: Fleet) -> Iterator[Question]:
    """Yield the checks of the KMS keys of storage and network, each with its first place in the fleet file."""
    network, storage = fleet.network, fleet.storage
    parts = network.existing if network is not None else None
    places: dict[tuple[PathPart, ...], Key | None] = {
        ("storage", "key"): storage.encryption_key,
        ("network", "existing", "key"): parts.encryption_key if parts is not None else None,
        **{("storage", "buckets", name, "key"): bucket.encryption_key for name, bucket in storage.buckets.items()},
    }
    first = {KEY.name_of(key): place for place, key in reversed(places.items()) if key is not None}
    for arn, place in first.items():
        topic = Topic(place[0])
        yield Question(topic, f"KMS key {arn}", partial(_ask_key, arn, place))


def _ask_key(arn: str, place: tuple[PathPart, ...], account: Account) -> Answer:
    here = arn.split(":")[3] == account.region  # KMS in one Region does not describe the keys of another.
    found = account.find("kms", "describe_key", KeyId=arn).get("KeyMetadata") if here else None
    key = None
    if found:  # CreateKey's defaults. Source: model botocore kms CreateKeyRequest
        usage, spec = found.get("KeyUsage", "ENCRYPT_DECRYPT"), found.get("KeySpec", "SYMMETRIC_DEFAULT")
        key = ExistingKey(state=found["KeyState"], usage=usage, spec=spec)
    problems = check_key(arn, key, region=account.region, path=place)
    return Answer(detail=key.state if key is not None else "cannot be used", problems=problems)


def _existing(fleet: Fleet) -> Iterator[tuple[str, ReportedFileSystem, str | None]]:
    """Yield the id, its value in the fleet file, and the security group that the deployment opens to the nodes."""
    vpc = fleet.network.existing_vpc_id if fleet.network is not None else None
    fsx = fleet.storage.fsx.existing if fleet.storage.fsx is not None else None
    home = fleet.storage.home.existing if fleet.storage.home is not None else None
    if fsx is not None:
        reported = ReportedFileSystem(
            kind="LUSTRE",
            path=("storage", "fsx", "existing"),
            vpc_id=vpc,
            zone=fsx.availability_zone_id,
            mount_name=fsx.mount_name,
            dns_name=fsx.dns_name,
            efa=fsx.efa_enabled,
        )
        yield fsx.file_system_id, reported, fsx.security_group_id
    if home is not None:
        reported = ReportedFileSystem(
            kind="OPENZFS",
            path=("storage", "home", "existing"),
            vpc_id=vpc,
            zone=home.availability_zone_id,
            dns_name=home.dns_name,
        )
        yield home.file_system_id, reported, home.security_group_id


def _ask_file_system(fleet: Fleet, file_system_id: str, reported: ReportedFileSystem, account: Account) -> Answer:
    found = _file_system(account, file_system_id)
    if found is None:
        return Answer(detail="the file system does not exist", problems=[_missing(account, file_system_id, reported)])
    lustre = found.get("LustreConfiguration", {})
    real = ExistingFileSystem(
        file_system_id=file_system_id,
        kind=found["FileSystemType"],
        lifecycle=found["Lifecycle"],
        vpc_id=found["VpcId"],
        zones=_zones(account, found["SubnetIds"]),
        dns_name=found["DNSName"],
        mount_name=lustre.get("MountName"),
        efa=lustre.get("EfaEnabled"),
    )
    detail = f"{real.kind}, {real.lifecycle}, in {', '.join(real.zones)}"
    return Answer(detail=detail, problems=check_file_system(real, reported))


def _ask_ports(
    fleet: Fleet, file_system_id: str, reported: ReportedFileSystem, let_in: str | None, account: Account
) -> Answer:
    assert fleet.network is not None
    assert fleet.network.vpc is not None
    existing = fleet.network.vpc
    found = _file_system(account, file_system_id)
    nodes = security_group(account, existing.security_group_id) if existing.security_group_id else None
    if found is None or nodes is None:
        why = "the nodes' security group is new: allow it after the deployment" if found else "nothing to check"
        return Answer(detail=why)
    lustre = reported.kind == "LUSTRE"
    ports = lustre_limits().ports if lustre else open_zfs_limits().ports
    node_cidrs = _cidrs(account, list(existing.subnet_ids.values()))
    server_cidrs = _cidrs(account, found["SubnetIds"])
    servers = [security_group(account, one) for one in ([let_in] if let_in else _groups_of(account, found))]
    missing = [
        check_ports(
            nodes,
            server,
            ports,
            what=file_system_id,
            both_ways=lustre,
            let_in=let_in is not None,
            node_cidrs=node_cidrs,
            server_cidrs=server_cidrs,
            region=account.region,
            path=reported.path,
        )
        for server in servers
        if server is not None
    ]
    best = min(missing, key=len) if missing else []  # One security group that allows the nodes is enough.
    shown = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ports)
    return Answer(detail=f"TCP {shown}, {len(best)} rules missing" if best else f"TCP {shown}", problems=best)


def _file_system(account: Account, file_system_id: str) -> dict[str, Any] | None:
    found = account.find("fsx", "describe_file_systems", FileSystemIds=[file_system_id])
    return next(iter(found.get("FileSystems", ())), None)


def _missing(account: Account, file_system_id: str, reported: ReportedFileSystem) -> Problem:
    return Problem(
        code=CheckCode.FILE_SYSTEM_STATE,
        path=(*reported.path, "id"),
        message=f"the file system {file_system_id} does not exist in this account and Region",
        value=file_system_id,
        remedy=f"write an id that `aws fsx describe-file-systems --region {account.region}` lists",
    )


def _groups_of(account: Account, found: dict[str, Any]) -> list[str]:
    ids = found.get("NetworkInterfaceIds", [])
    if not ids:
        return []
    reported = account.ask("ec2", "describe_network_interfaces", NetworkInterfaceIds=ids)["NetworkInterfaces"]
    return sorted({group["GroupId"] for interface in reported for group in interface["Groups"]})


def _zones(account: Account, subnet_ids: list[str]) -> tuple[str, ...]:
    reported = account.ask("ec2", "describe_subnets", SubnetIds=subnet_ids)["Subnets"]
    return tuple(dict.fromkeys(subnet["AvailabilityZoneId"] for subnet in reported))


def _cidrs(account: Account, subnet_ids: list[str]) -> list[str]:
    return [one["CidrBlock"] for one in account.ask("ec2", "describe_subnets", SubnetIds=subnet_ids)["Subnets"]]
