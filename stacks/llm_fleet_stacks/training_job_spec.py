"""From a training job of the fleet file to the construct's description of it."""

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.job_channel import JobChannelConfig
from llm_fleet.config.sagemaker.job_distribution import JobDistributionConfig
from llm_fleet.config.sagemaker.training_job import TrainingJobConfig
from llm_fleet.config.sagemaker.training_job_view import training_job_name
from llm_fleet.jobs.smp_configuration import SmpConfiguration
from llm_fleet.sagemaker.training_job.channel import Channel
from llm_fleet.sagemaker.training_job.checkpoints import Checkpoints
from llm_fleet.sagemaker.training_job.distribution import Distribution
from llm_fleet.sagemaker.training_job.job_metric import JobMetric
from llm_fleet.sagemaker.training_job.source_bundle import SourceBundle
from llm_fleet.sagemaker.training_job.spot import Spot
from llm_fleet.sagemaker.training_job.tracking import Tracking
from llm_fleet.sagemaker.training_job.training_image import TrainingImage
from llm_fleet.sagemaker.training_job.training_job_spec import TrainingJobSpec
from llm_fleet.sagemaker.training_job.warm_pool import WarmPool
from llm_fleet_stacks.storage_stack import StorageStack


def spec_of(config: TrainingJobConfig, fleet: Fleet, storage: StorageStack) -> TrainingJobSpec:
    """Return what `config` of `fleet` describes; `storage` has the fleet's own buckets and its file system."""
    image, source, spot, pool = config.image, config.source, config.spot, config.warm_pool
    return TrainingJobSpec(
        name=training_job_name(fleet.name, config),
        image=TrainingImage(kind=image.kind, version=image.version, own_uri=image.uri),
        source=None if source is None else SourceBundle(source.path, entry_point=source.entry_point),
        instance_type=config.instance_type,
        instance_count=config.instance_count,
        volume_gib=config.volume_gib,
        max_run_seconds=config.max_run_seconds,
        max_pending_seconds=config.max_pending_seconds,
        spot=None if spot is None else Spot(max_wait_seconds=spot.max_wait_seconds),
        warm_pool=None
        if pool is None
        else WarmPool(keep_alive_seconds=pool.keep_alive_seconds, cap_seconds=pool.cap_seconds),
        training_plan_arn=config.training_plan_arn,
        retries=config.retries,
        hyperparameters=config.hyperparameters,
        environment=config.environment,
        channels=tuple(_channel(channel, storage) for channel in config.channels.values()),
        checkpoints=_checkpoints(config),
        output_uri=config.output.uri,
        output_key_arn=config.output.key_arn,
        compress_output=config.output.compress,
        metrics=tuple(
            JobMetric(name=metric.name, regex=metric.regex, above=metric.above, below=metric.below)
            for metric in config.metrics.values()
        ),
        distribution=_distribution(config.distribution),
        tracking=_tracking(config),
        remote_debug=config.remote_debug,
        infra_check=config.infra_check,
        network_isolation=config.network_isolation,
        encrypt_between_nodes=config.encrypt_between_nodes,
        tags={**fleet.tags, **config.tags},
    )


def _channel(config: JobChannelConfig, storage: StorageStack) -> Channel:
    if config.fsx is not None:
        assert storage.lustre is not None, "the fleet file has been refused"
        return Channel.from_lustre(config.name, storage.lustre, directory=config.fsx, read_only=config.read_only)
    own = None if config.bucket is None else storage.buckets[config.bucket]
    key_arn = config.key_arn
    if own is not None:
        key_arn = own.encryption_key.key_arn if own.encryption_key else None
    return Channel.s3(
        config.name,
        (config.s3_uri or "") if own is None else f"s3://{own.bucket_name}/{(config.prefix or '').strip('/')}",
        input_mode=config.input_mode,
        sharded=config.sharded,
        manifest=config.manifest,
        compressed=config.compressed,
        content_type=config.content_type,
        key_arn=key_arn,
    )


def _checkpoints(config: TrainingJobConfig) -> Checkpoints | None:
    told = config.checkpoints
    if told is None:
        return None
    return Checkpoints(uri=told.uri, local_path=told.local_path, key_arn=told.key_arn)


def _distribution(config: JobDistributionConfig) -> Distribution:
    smp = config.smp_configuration
    return Distribution(
        kind=config.kind,
        smp_configuration=None if smp is None else SmpConfiguration.of(smp),
        processes_per_host=config.processes_per_host,
    )


def _tracking(config: TrainingJobConfig) -> Tracking | None:
    told = config.tracking
    if told is None:
        return None
    return Tracking(
        mlflow_arn=told.mlflow_arn,
        experiment=told.experiment,
        tensorboard_uri=told.tensorboard_uri,
        tensorboard_key_arn=told.tensorboard_key_arn,
    )
