"""Checks of the clusters of a fleet file, with the same rules as the constructs."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from llm_fleet.fleet_file.check_storage import check_bucket_names
from llm_fleet.fleet_file.clusters import HyperPodConfig, NodeSetupModel, ParallelClusterConfig
from llm_fleet.fleet_file.fleet import FSX, HOME, Fleet
from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.named_files.named_file import check_own_folder, files_of, lock_problems
from llm_fleet.rules.bundle import check_scripts_place
from llm_fleet.rules.codes import Code
from llm_fleet.rules.downloads_lock import check_mirror
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from llm_fleet.rules.node_setup import check_node_settings_used, check_node_setup
from llm_fleet.rules.own_steps import check_neuron_pinned
from llm_fleet.rules.parallelcluster.cluster_names import check_iam_prefix
from llm_fleet.rules.parallelcluster.node_network import check_place
from llm_fleet.rules.parallelcluster.nodes import node_groups
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.problem import FleetError, PathPart, Problem, is_unresolved
from llm_fleet.rules.regions import check_az_id
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.cluster import NodeGroup, NodeMount, NodeScripts
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec, PlacedCluster
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage
from llm_fleet.spec.parallelcluster_queue import OF_ITS_RESOURCE, Instances, Queue
from llm_fleet.spec.references import BUCKET


def placed_cluster(fleet: Fleet, config: HyperPodConfig) -> PlacedCluster:
    """Return the cluster that `config` of `fleet` describes, as the input of its rules."""
    scripts = config.scripts
    bucket = "sagemaker-made-by-the-fleet" if scripts.bucket is None else BUCKET.name_of(scripts.bucket)
    return PlacedCluster(
        spec=config.narrowed(
            HyperPodClusterSpec,
            **config.of_fleet,
            groups=config.running_groups,
            slurm_config_strategy=config.effective_strategy,
            availability_zone_id=config.availability_zone_id or fleet.zone_of_fsx or fleet.first_zone,
        ),
        region=fleet.region,
        has_vpc=fleet.network is not None,
        mounts=tuple(_mounts(fleet)),
        # If the fleet creates the bucket, a valid name.
        lifecycle_source_s3_uri=f"s3://{bucket}/{scripts.prefix or ''}",
    )


def _mounts(fleet: Fleet) -> Iterator[NodeMount]:
    storage = fleet.storage
    if storage.fsx is not None:
        zone = fleet.zone_of_fsx
        yield NodeMount(kind="lustre", mount_path=storage.fsx.mount_path, availability_zone_id=zone)
    if storage.home is not None:
        zone = fleet.zone_of_home
        yield NodeMount(kind="open_zfs", mount_path=storage.home.mount_path, availability_zone_id=zone)


def check_nodes_in_file(
    config: NodeSetupModel,
    scripts: NodeScripts,
    *,
    groups: Sequence[NodeGroup],
    mount_paths: Sequence[str],
    home_is_shared: bool,
) -> Iterator[Problem]:
    """Return the errors in the node settings of `groups`, by attribute names below the cluster.

    The other arguments describe their cluster, as in `check_node_setup`.
    """
    found = check_node_setup(config, scripts, groups=groups, mount_paths=mount_paths, home_is_shared=home_is_shared)
    yield from (_by_login_name(problem, config) for problem in found)
    if config.downloads is not None:
        yield from (problem.under("downloads") for problem in check_mirror(config.downloads))


def check_node_setup_files(config: NodeSetupModel, scripts: NodeScripts) -> Iterator[Problem]:
    """Return the errors in the files of the node settings: the user's own scripts and the lock file."""
    own = check_own_folder(scripts, start="the fleet file is located")
    yield from (problem.under("scripts") for problem in own)
    unreadable = lock_problems(config.downloads.lock_path) if config.downloads is not None else []
    for problem in unreadable:
        # Lines of the lock file are not lines of the fleet file.
        inner = replace(problem, message=f"{problem.where}: {problem.message}" if problem.path else problem.message)
        yield replace(inner, path=("downloads", "lock"))
    if config.neuron is not None and config.neuron.install and not unreadable:
        files = files_of(config.downloads) if config.downloads is not None else None
        yield from (problem.under("neuron", "host") for problem in check_neuron_pinned(config.neuron.release, files))


def _by_login_name(problem: Problem, config: NodeSetupModel) -> Problem:
    """Return a problem with the path of the file, where users are under their names."""
    match problem.path:
        case ("users", int(index), *rest):
            return replace(problem, path=("users", config.users[index].name, *rest))
        case _:
            return problem


_FILE_SYSTEMS = {"lustre": "fsx", "open_zfs": "home"}


def check_cluster_config(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the HyperPod clusters, by attribute names."""
    for name, cluster in fleet.hyperpod_clusters.items():
        placed = placed_cluster(fleet, cluster)
        for problem in check_cluster(placed):
            # An error in an AZ that the cluster takes from another part is reported there; a mount in another AZ is
            # reported here.
            own_zone = cluster.availability_zone_id is not None or problem.code is Code.MOUNT_ZONE
            if problem.path != ("availability_zone_id",) or own_zone:
                yield _hyperpod_in_file(problem, cluster)
        for problem in _check_own_hyperpod(cluster, placed, fleet):
            yield problem.under("clusters", name)


def _hyperpod_in_file(problem: Problem, cluster: HyperPodConfig) -> Problem:
    """Return a problem of a cluster with its path in the file: file systems and region belong to the fleet."""
    first = problem.path[0] if problem.path else None
    if first == "region":
        return problem
    if problem.code is Code.MOUNT_WITHOUT_VPC:
        path = ("storage", _FILE_SYSTEMS[str(first)])
        return replace(problem, path=path, remedy=f"write `network: {{az: usw2-az4}}`, or remove `{'.'.join(path)}`")
    if first in _FILE_SYSTEMS:
        return replace(problem, path=("storage", _FILE_SYSTEMS[str(first)], *problem.path[1:]))
    if problem.code is Code.LIFECYCLE_SCRIPT and not _names_script(cluster, problem):
        problem = replace(problem, path=("scripts", "entry_point"))
    if first == "cluster_name" and "cluster_name" not in cluster.model_fields_set:
        problem = replace(problem, path=("name",))
    return problem.under("clusters", cluster.name)


def _check_own_hyperpod(cluster: HyperPodConfig, placed: PlacedCluster, fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the keys that only a fleet file has."""
    yield from (problem.under("scripts") for problem in check_scripts_place(cluster.scripts))
    yield from check_nodes_in_file(
        cluster,
        cluster.scripts,
        groups=placed.node_groups,
        mount_paths=[mount.mount_path for mount in placed.mounts],
        home_is_shared=False,
    )
    if not is_unresolved(cluster.lifecycle):
        yield from check_node_settings_used(placed.spec, cluster.scripts, placed.node_groups)
    yield from check_bucket_names(cluster, fleet)


def _names_script(cluster: HyperPodConfig, problem: Problem) -> bool:
    """Return whether the group of `problem` sets a script itself."""
    return cluster.by_name[str(problem.path[1])].script is not None


_MADE_FSX, _MADE_VOLUME = "fs-00000000000000000", "fsvol-00000000000000000"
"""Example of an id that is resolved at deployment."""


def placed_parallelcluster(fleet: Fleet, config: ParallelClusterConfig) -> PlacedParallelCluster:
    """Return the cluster of `config` as the input of its rules: queues with their AZs, and with all storage."""
    zone = zone_of_parallelcluster(fleet, config)
    return config.narrowed(
        PlacedParallelCluster,
        **config.of_fleet,
        region=fleet.region,
        queues=tuple(_placed(queue, zone) for queue in config.queues),
        shared_storage=(*_of_fleet(fleet), *config.shared_storage),
    )


def zone_of_parallelcluster(fleet: Fleet, config: ParallelClusterConfig) -> str | None:
    """Return the AZ of the cluster: as written, otherwise that of the fleet's file system, otherwise the network's
    first."""
    return config.availability_zone_id or fleet.zone_of_fsx or fleet.first_zone


def _placed(queue: Queue, zone: str | None) -> Queue:
    if queue.subnets:
        return queue
    return queue.model_copy(update={"availability_zone_id": queue.availability_zone_id or zone})


def _of_fleet(fleet: Fleet) -> Iterator[SharedStorage]:
    """Yield the fleet's own storage. For a file system that the fleet creates, an example replaces the id."""
    fsx, home = fleet.storage.fsx, fleet.storage.home
    if fsx is not None:
        file_system = fsx.existing.file_system_id if fsx.existing else _MADE_FSX
        yield _handed_over(FSX, StorageKind.FSX_LUSTRE, fsx.mount_path, file_system)
    if home is not None:
        volume = (home.existing.volume_id if home.existing else None) or _MADE_VOLUME
        yield _handed_over(HOME, StorageKind.FSX_OPEN_ZFS, home.mount_path, volume)
        for place, (name, each) in enumerate(home.volumes.items(), start=1):
            volume = _MADE_VOLUME[: -len(str(place))] + str(place)
            yield _handed_over(name, StorageKind.FSX_OPEN_ZFS, each.mount_path, volume)


def _handed_over(name: str, kind: StorageKind, mount_dir: str, existing_id: str) -> SharedStorage:
    # Created without validation: the mount path may be invalid, which is reported where it is written.
    return SharedStorage.model_construct(name=name, kind=kind, mount_dir=mount_dir, existing_id=existing_id)


_OF_STORAGE = {"mount_dir": "mount_path"}
"""Attributes of a shared storage, by those of the fleet's own file systems."""


def _pc_in_file(problem: Problem, cluster: ParallelClusterConfig, volumes: Collection[str] = ()) -> Problem:
    """Return a problem of `cluster` by the attributes of the fleet, to which region and file systems belong.

    `volumes`: names of the volumes of the fleet's `home`.
    """
    first, *rest = problem.path or ("",)
    if first == "region":
        return problem
    if first == "shared_storage" and rest and rest[0] not in [storage.name for storage in cluster.shared_storage]:
        inner = [_OF_STORAGE[str(part)] for part in rest[1:2] if part in _OF_STORAGE]
        if rest[0] in (FSX, HOME):
            return replace(problem, path=("storage", rest[0], *inner))
        if rest[0] in volumes:
            return replace(problem, path=("storage", HOME, "volumes", rest[0], *inner))
    if first == "queues" and len(rest) > 1:
        problem = replace(problem, path=("queues", rest[0], *_in_queue(rest[1:], cluster, str(rest[0]))))
    if first == "cluster_name" and "cluster_name" not in cluster.model_fields_set:
        problem = replace(problem, path=("name",))
    return problem.under("clusters", cluster.name)


def _in_queue(path: list[PathPart], cluster: ParallelClusterConfig, name: str) -> list[PathPart]:
    """Return the path below a queue: a queue with its own `type` has its compute resource's attributes."""
    queue = cluster.queue_of.get(name)
    if queue is None or path[0] != "compute_resources":
        return path
    inner: list[PathPart] = path[2:]
    resource = next((each for each in queue.compute_resources if path[1:2] == [each.name]), None)
    if resource is not None and inner[:1] == ["instance_types"]:
        inner = ["instance_types", *inner[1:]] if resource.instance_types else ["instance_type"]
    return [*path[:2], *inner] if queue.resources else inner


def check_parallelclusters(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the ParallelClusters of `fleet`, by attribute names."""
    for name, cluster in fleet.parallelclusters.items():
        placed = placed_parallelcluster(fleet, cluster)
        volumes = fleet.storage.home.volumes if fleet.storage.home else ()
        found = (problem for problem in check_parallelcluster(placed) if not is_unresolved(problem))
        yield from (_pc_in_file(problem, cluster, volumes) for problem in found)
        yield from _check_place(fleet)
        yield from _check_volume_of_home(fleet)
        yield from (problem.under("clusters", name) for problem in _check_own_queues(fleet, cluster, placed))


def _check_place(fleet: Fleet) -> list[Problem]:
    return check_place(has_network=fleet.network is not None, internet=fleet.way_out)


def _check_own_queues(fleet: Fleet, config: ParallelClusterConfig, placed: PlacedParallelCluster) -> Iterator[Problem]:
    """Return the errors in the keys that only a fleet file has."""
    yield from _check_zones(config, fleet.region)
    yield from check_iam_prefix(config.iam_resource_prefix, "iam_resource_prefix")
    for queue in config.queues:
        yield from (problem.under("queues", queue.name) for problem in _check_written_once(queue))
    yield from check_bucket_names(config, fleet)
    yield from check_nodes_in_file(
        config,
        config.scripts,
        groups=node_groups(placed),
        mount_paths=[storage.mount_dir for storage in placed.shared_storage],
        home_is_shared=True,
    )


def _check_zones(config: ParallelClusterConfig, region: str) -> Iterator[Problem]:
    if config.availability_zone_id is not None:
        yield from check_az_id(region, config.availability_zone_id)
    for queue in config.queues:
        if queue.availability_zone_id is not None:
            found = check_az_id(region, queue.availability_zone_id)
            yield from (problem.under("queues", queue.name) for problem in found)


def _check_written_once(queue: Queue) -> Iterator[Problem]:
    """Settings of one kind of instances must be either on the queue or on each of its resources, and `type` or
    `types`."""
    if not queue.resources:
        yield from _check_types_once(queue)
        return
    for resource in queue.resources:
        yield from (problem.under("resources", resource.name) for problem in _check_types_once(resource))
    for attribute in OF_ITS_RESOURCE:
        if attribute in queue.model_fields_set:
            yield Problem(
                code=Code.CONTRADICTION,
                message="this setting is for a queue with one kind of instances, but `resources` is set",
                remedy="write it below each of `resources` that it applies to, or remove `resources`",
                path=(attribute,),
                value=getattr(queue, attribute),
            )


def _check_types_once(instances: Instances) -> Iterator[Problem]:
    if instances.instance_type is not None and instances.instance_types:
        yield Problem(
            code=Code.CONTRADICTION,
            message="set only one of `type` and `types`",
            remedy="write all of them under `types`, or remove `types`",
            path=("instance_types",),
            value=list(instances.instance_types),
        )


def _check_volume_of_home(fleet: Fleet) -> Iterator[Problem]:
    home = fleet.storage.home
    if home is not None and home.existing is not None and home.existing.volume_id is None:
        yield Problem(
            code=Code.PC_OPEN_ZFS_VOLUME,
            message="ParallelCluster needs the volume of an existing OpenZFS file system, but `volume` is not set",
            remedy="add `volume: fsvol-…`; `aws fsx describe-volumes` shows the id of the root volume",
            path=("storage", "home", "existing", "volume_id"),
        )


def check_deployed(cluster: ParallelClusterConfig) -> Sequence[Problem]:
    """Return why the file under `deployed` cannot be used; a file without this cluster is not an error."""
    if cluster.deployed_path is None:
        return ()
    try:
        DeployedConfiguration.if_deployed(cluster.deployed_path, cluster=cluster.cluster_name)
    except FleetError as error:
        return [replace(problem, path=("deployed",), value=cluster.deployed) for problem in error.problems]
    return ()
