"""A HyperPod cluster of the fleet file with what the rest of the file says of it."""

from collections.abc import Iterator

from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.spec.cluster import NodeMount
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec, PlacedCluster
from llm_fleet.spec.references import BUCKET


def placed_cluster(fleet: Fleet, config: HyperPodConfig) -> PlacedCluster:
    """Return the cluster that `config` of `fleet` describes, as its rules read it."""
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
        # Where the bucket is left to the fleet, one that is sure to be good.
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
