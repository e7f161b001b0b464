"""Checks of the storage of a fleet file, with the same rules as the constructs, and of references to its buckets."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.clusters import FLEET_DATABASE, NodeSetupModel
from llm_fleet.fleet_file.fleet import FSX, HOME, Fleet, FleetLustre, FleetOpenZfs, NetworkConfig
from llm_fleet.rules.buckets import check_bucket, check_data_repositories
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import RetainedCode
from llm_fleet.rules.file_systems import check_has_network, check_mount_source, check_open_zfs, check_volume
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.network_layout import database_slots
from llm_fleet.rules.node_setup import check_bucket_address
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.slurm_database import check_slurm_database, check_subnets
from llm_fleet.rules.values import did_you_mean


def check_storage(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in file systems, buckets and the accounting database, by attribute names."""
    storage = fleet.storage
    if storage.fsx is not None:
        yield from (problem.under("storage", "fsx") for problem in _check_fsx(storage.fsx))
    if storage.home is not None:
        yield from (problem.under("storage", "home") for problem in _check_home(storage.home))
        yield from (problem.under("storage", "home", "volumes") for problem in _check_volumes(fleet, storage.home))
    for name, bucket in storage.buckets.items():
        yield from (p.under("storage", "buckets", name) for p in check_bucket(bucket))
        if bucket.existing and bucket.bucket_name is None:
            yield Problem(
                code=RetainedCode.BUCKET_UNNAMED,
                message="an existing bucket needs its name",
                remedy="write the bucket's name as `name`, or remove `existing`",
                path=("storage", "buckets", name, "existing"),
                value=bucket.existing,
            )
    yield from _check_database(fleet)


def _check_fsx(fsx: FleetLustre) -> Iterator[Problem]:
    if fsx.existing is not None:
        yield from _next_to_existing(fsx)
        yield from (problem.under("existing") for problem in check_mount_source(fsx.existing))
        return
    yield from check_lustre(fsx)
    last = len(fsx.data_repositories)
    for problem in check_data_repositories(fsx, fsx.repositories):
        # `import` is a data repository, too, the last one.
        of_import = problem.path[:2] == ("data_repositories", last)
        whole_list = problem.path == ("data_repositories",) and not last
        yield replace(problem, path=("import_from",)) if of_import or whole_list else problem


def _check_home(home: FleetOpenZfs) -> Iterator[Problem]:
    if home.existing is not None:
        yield from _next_to_existing(home)
        yield from (problem.under("existing") for problem in check_mount_source(home.existing))
        return
    yield from check_open_zfs(home)


def _next_to_existing(file_system: FleetLustre | FleetOpenZfs) -> Iterator[Problem]:
    for attribute in sorted(file_system.model_fields_set - {"existing", "mount_path"}):
        yield Problem(
            code=Code.CONTRADICTION,
            message="this setting is for a new file system, but `existing` is set",
            remedy="remove it, or remove `existing`",
            path=(attribute,),
            value=getattr(file_system, attribute),
        )


def _check_volumes(fleet: Fleet, home: FleetOpenZfs) -> Iterator[Problem]:
    """Return the errors in the volumes of `home`, by the keys below `volumes`.

    The rules of each cluster check their mount paths.
    """
    if not home.volumes or home.existing is not None:  # With an existing file system the key itself is an error.
        return
    if fleet.hyperpod_clusters and not fleet.parallelclusters:
        yield _no_one_mounts(home)
    taken = _taken(fleet, home)
    for name, volume in home.volumes.items():
        found = check_volume(volume, name, capacity_gib=home.storage_capacity_gib, taken=taken)
        yield from (replace(p, path=(name,) if p.path == ("name",) else (name, *p.path)) for p in found)


def _taken(fleet: Fleet, home: FleetOpenZfs) -> dict[str, str]:
    taken: dict[str, str] = dict.fromkeys((FSX, HOME), "this name is already used for a file system of the fleet")
    if home.mount_path.rstrip("/") != "/home":
        return taken
    # FSx creates a volume in the root volume, as a directory with the volume's name.
    users = {name for cluster in fleet.clusters.values() for name in cluster.people}
    return taken | dict.fromkeys(users, "a user has this name, and the volume would be at the path of this user's home")


def _no_one_mounts(home: FleetOpenZfs) -> Problem:
    return Problem(
        code=Code.OPEN_ZFS_VOLUME_UNMOUNTED,
        message="HyperPod's nodes mount only the root volume of an OpenZFS file system, no other volumes",
        remedy="use a directory of `home` or of `fsx` instead, and remove `volumes`",
        value=", ".join(home.volumes),
    )


def _check_database(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the database, and references to a database that does not exist, by attribute names."""
    database = fleet.storage.slurm_database
    if database is None:
        yield from _check_users(fleet)
        return
    found = (
        *check_slurm_database(database),
        *_check_database_place(fleet.network, len(database.subnets)),
    )
    yield from (problem.under("storage", FLEET_DATABASE) for problem in found)


def _check_database_place(network: NetworkConfig | None, subnets: int) -> list[Problem]:
    if network is None:
        remedy = "write a `network`, e.g. `network: {az: usw2-az4}`"
        return [replace(problem, path=(), remedy=remedy) for problem in check_has_network(network, "a database")]
    if subnets:
        return check_subnets(subnets, remedy="add a subnet in another AZ")
    zones = len(network.zones)
    if network.vpc is not None:
        return check_subnets(zones, remedy="write two subnets as `subnets`, since the existing network has only one AZ")
    # A new network has enough addresses for two more subnets, unless it has almost the maximum number of AZs.
    remedy = "write two existing subnets as `subnets`, since the network's AZs use all its addresses"
    return check_subnets(2 if zones <= database_slots()[0] else 0, remedy=remedy)


def _check_users(fleet: Fleet) -> Iterator[Problem]:
    named = [
        *(("accounting_database", name, own.accounting_database) for name, own in fleet.hyperpod_clusters.items()),
        *(("accounting", name, own.accounting) for name, own in fleet.parallelclusters.items()),
    ]
    for attribute, name, accounting in named:
        if accounting is not None and accounting.of_fleet:
            yield Problem(
                code=Code.UNKNOWN_REFERENCE,
                path=("clusters", name, attribute),
                value=FLEET_DATABASE,
                message=f"`{FLEET_DATABASE}` is not set under `storage`",
                remedy=f"add `{FLEET_DATABASE}: {{}}` there",
            )


_S3 = "s3://"


def check_bucket_names(config: NodeSetupModel, fleet: Fleet) -> Iterator[Problem]:
    """Return references to buckets that do not exist, by attribute names below the cluster."""
    for index, mount in enumerate(config.s3_mounts):
        yield from _check_own(mount.bucket, fleet, "s3_mounts", index, "bucket")
    for attribute, names in (("reads", config.reads), ("writes", config.writes)):
        for index, name in enumerate(names):
            yield from check_bucket_address(name, attribute, index)
            yield from _check_own(name, fleet, attribute, index)


def _check_own(bucket: object, fleet: Fleet, *path: PathPart) -> Iterator[Problem]:
    if isinstance(bucket, str) and not bucket.startswith(_S3):
        yield from check_own_bucket(
            bucket, fleet, *path, otherwise="`s3://` and the name of an existing bucket", also="s3://<bucket>"
        )


def check_own_bucket(
    name: str | None, fleet: Fleet, *path: PathPart, otherwise: str, also: str | None = None
) -> Iterator[Problem]:
    """Return a problem at `path` unless `name` is one of the fleet's own buckets, or `None`.

    `otherwise`: what to write for another bucket. `also`: what else is allowed besides the names.
    """
    names = fleet.storage.buckets
    if name is not None and name not in names:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message=f"unknown bucket {name!r}: it is not under `storage.buckets`",
            remedy=did_you_mean(name, names, otherwise=f"add it there, or write {otherwise}"),
            path=path,
            value=name,
            allowed=", ".join([*names, *([also] if also else [])]),
        )


def check_no_own_key(key: str | None, bucket: object | None) -> Iterator[Problem]:
    """Return a problem at `key_arn` if `key` is set together with a bucket of the fleet, which has its own key."""
    if key is not None and bucket is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="this setting has no effect: the KMS key of the fleet's own bucket is used",
            remedy="remove it",
            path=("key_arn",),
            value=key,
        )
