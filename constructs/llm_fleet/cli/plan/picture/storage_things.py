"""Cards of what keeps state: file systems, databases, buckets."""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.cli.plan.picture.names import construct_name, short
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.terms import Column, Tone
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View

FILE_SYSTEM, DATABASE, BUCKET = "AWS::FSx::FileSystem", "AWS::RDS::DBCluster", "AWS::S3::Bucket"
_KINDS = {"LUSTRE": "FSx for Lustre", "OPENZFS": "FSx for OpenZFS"}


def storage_things(view: View) -> Iterator[Thing]:
    """Give each of them."""
    for system in view.of_type(FILE_SYSTEM):
        kind = system.properties["FileSystemType"]
        title = _KINDS.get(kind, f"FSx {kind}")
        places = view.places(system, system.properties.get("SubnetIds"))
        yield _card(system, title, tuple(_of_file_system(system.properties)), Column.STORAGE, places)
    for database in view.of_type(DATABASE):
        groups = view.named(database, database.properties.get("DBSubnetGroupName"))
        places = tuple(key for one in groups for key in view.places(one, one.properties.get("SubnetIds")))
        lines = tuple(_of_database(database.properties))
        yield _card(database, short(f"Database {database.properties['Engine']}"), lines, Column.STORAGE, places)
    for bucket in view.of_type(BUCKET):
        yield _card(bucket, "S3 bucket", (_bucket_name(view, bucket),), Column.REGION, ())


def _of_file_system(known: Mapping[str, Any]) -> Iterator[str]:
    yield f"{known['StorageCapacity']:,} GiB {known.get('StorageType', '')}".strip()
    lustre, zfs = known.get("LustreConfiguration", {}), known.get("OpenZFSConfiguration", {})
    deployment = (lustre or zfs).get("DeploymentType")
    if deployment:
        yield deployment
    if "PerUnitStorageThroughput" in lustre:
        yield f"{lustre['PerUnitStorageThroughput']} MB/s/TiB"
    if "ThroughputCapacity" in zfs:
        yield f"{zfs['ThroughputCapacity']} MB/s"


def _of_database(known: Mapping[str, Any]) -> Iterator[str]:
    scaling = known.get("ServerlessV2ScalingConfiguration")
    if scaling:
        yield f"{scaling['MinCapacity']:g}-{scaling['MaxCapacity']:g} ACU"
    yield f"port {known.get('Port', 3306)}"


def _bucket_name(view: View, bucket: Resource) -> str:
    """Return its name, with `…` for what a deployment adds; the name of its construct when CloudFormation names it."""
    name = bucket.properties.get("BucketName")
    if name is not None:
        return short(view.references.told(name))
    return construct_name(bucket.path, bucket.logical_id).removeprefix("Bucket-")


def _card(resource: Resource, title: str, lines: tuple[str, ...], column: Column, subnets: tuple[str, ...]) -> Thing:
    return Thing(
        key=resource.key,
        title=title,
        lines=lines,
        tone=Tone.STORAGE,
        column=column,
        stack=resource.stack,
        subnets=subnets,
    )
