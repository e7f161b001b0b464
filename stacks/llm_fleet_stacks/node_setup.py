"""What a cluster's nodes are set up with, as values of the construct."""

from collections.abc import Iterable, Mapping

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.fleet_file.downloads import DownloadsConfig
from llm_fleet.fleet_file.neuron import NeuronConfig
from llm_fleet.fleet_file.node_setup import FleetDirectory
from llm_fleet.fleet_file.s3_mount import S3MountConfig
from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.lifecycle.node_setup import NeuronHost, S3Mount
from llm_fleet.references import key_of
from llm_fleet.spec.people import Directory
from llm_fleet_stacks.lifecycle_scripts import buckets_from, existing_bucket


def s3_mounts_from(
    scope: Construct, configs: Iterable[S3MountConfig], *, own: Mapping[str, s3.IBucket]
) -> list[S3Mount]:
    """Return the mounts of `configs`: of the fleet's `own` buckets, or of existing ones."""
    return [
        S3Mount(
            bucket=buckets_from(scope, [config.bucket], own=own)[0],
            prefix=config.prefix,
            mount_path=config.mount_path,
            read_only=config.read_only,
            groups=config.groups,
        )
        for config in configs
    ]


def neuron_from(config: NeuronConfig | None) -> NeuronHost | None:
    """Return the Neuron release of the hosts, where the file names one."""
    return None if config is None else NeuronHost(release=config.release, install=config.install)


def downloads_from(scope: Construct, config: DownloadsConfig | None) -> Downloads:
    """Return what nodes may fetch: nothing unless the file says it."""
    if config is None:
        return Downloads.none()
    if config.mirror_bucket is None:
        return Downloads.vendor(lock=config.lock_path)
    bucket = existing_bucket(scope, f"s3://{config.mirror_bucket}")
    return Downloads.mirror(bucket=bucket, prefix=config.mirror_prefix, lock=config.lock_path)


def directory_from(scope: Construct, config: FleetDirectory | None) -> Directory | None:
    """Return the directory that `config` describes, with its secret in the stack of `scope`; `None` for none."""
    if config is None:
        return None
    secret = secretsmanager.Secret.from_secret_attributes(
        scope,
        "DirectorySecret",
        secret_complete_arn=config.bind_secret_arn,
        encryption_key=key_of(scope, "DirectorySecretKey", config.bind_secret_key),
    )
    return config.in_place.model_copy(update={"bind_secret": secret})
