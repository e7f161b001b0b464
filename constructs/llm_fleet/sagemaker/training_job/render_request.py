"""The request by which SageMaker starts a training job (`CreateTrainingJob`), and where the job runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.catalog.training_job import launchers, training_instances, training_job_fact
from llm_fleet.rules.sagemaker.training_job_values import hyperparameter_text
from llm_fleet.spec.spec import in_request
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import DistributionKind
from llm_fleet.spec.training_job_data import Channel, InputMode


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """What the construct around a `TrainingJobSpec` knows of it. Every text may be a CDK token."""

    name: str
    """What stands for the job's name, which each start makes anew."""
    region: str
    """For the image's address; no token, unless the image is one's own."""
    role_arn: str
    """The role that the container has."""
    output_uri: str
    """Where results go unless the description says otherwise."""
    source_uri: str | None = None
    """`s3://…/sourcedir.tar.gz` with the source bundle; `None` without one."""
    checkpoint_uri: str | None = None
    """Where checkpoints go unless the description says otherwise."""
    subnet_ids: tuple[str, ...] = ()
    """Empty: in no network of the account's."""
    security_group_ids: tuple[str, ...] = ()
    volume_key_arn: str | None = None
    """Encrypts the volumes; those with local disks have keys of their own, and take none."""
    output_key_arn: str | None = None
    """Encrypts results, where they go to `output_uri`."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of each job, beside those of the description."""


def render_hyperparameters(spec: TrainingJobSpec, *, source_uri: str | None, region: str) -> dict[str, str]:
    """Return all hyperparameters as texts, the user's first.

    With a source bundle they are JSON, as the toolkit reads them; without one they are for an image of the user's own,
    which gets texts as they are.
    """
    if spec.source is None or source_uri is None:
        return {name: _plain(value) for name, value in spec.hyperparameters.items()}
    told = {**spec.hyperparameters, **_of_script(spec.source.entry_point, source_uri, region), **_of_launcher(spec)}
    return {name: hyperparameter_text(value) for name, value in told.items()}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else hyperparameter_text(value)


def _of_script(entry_point: str, source_uri: str, region: str) -> dict[str, Any]:
    return {
        "sagemaker_program": entry_point,
        "sagemaker_submit_directory": source_uri,
        "sagemaker_container_log_level": training_job_fact("log_level"),
        "sagemaker_region": region,
    }


def _of_launcher(spec: TrainingJobSpec) -> dict[str, Any]:
    distribution = spec.distribution
    told = dict(launchers()[distribution.kind.value].hyperparameters)
    if not told:
        return {}
    if distribution.processes_per_host is not None:
        told["sagemaker_mpi_num_of_processes_per_host"] = distribution.processes_per_host
    if distribution.kind is not DistributionKind.MPI:
        told["sagemaker_instance_type"] = spec.instance_type
    if distribution.smp_configuration is not None:
        told["mp_parameters"] = distribution.smp_configuration.for_library
    return told


def render_request(spec: TrainingJobSpec, place: JobPlace) -> dict[str, Any]:
    """Return the request for one job of `spec`, as boto3 takes it; the same for the same arguments, keys in order."""
    network = place.subnet_ids or place.security_group_ids
    checkpoint_uri = _checkpoint_uri(spec, place)
    values = in_request(spec)
    request: dict[str, Any] = {
        "TrainingJobName": place.name,
        "AlgorithmSpecification": _algorithm(spec, place),
        "RoleArn": place.role_arn,
        "HyperParameters": render_hyperparameters(spec, source_uri=place.source_uri, region=place.region),
        "InputDataConfig": [_channel(name, channel) for name, channel in spec.channels.items()],
        "OutputDataConfig": _output(spec, place),
        "ResourceConfig": {**_resources(spec, place), **values.pop("ResourceConfig", {})},
        "StoppingCondition": {**values.pop("StoppingCondition"), **_longest_wait(spec)},
        "RetryStrategy": values.pop("RetryStrategy", None),
        "CheckpointConfig": None
        if spec.checkpoints is None
        else {"S3Uri": checkpoint_uri, "LocalPath": spec.checkpoints.local_path},
        "VpcConfig": {"SecurityGroupIds": list(place.security_group_ids), "Subnets": list(place.subnet_ids)}
        if network
        else None,
        "EnableNetworkIsolation": spec.network_isolation,
        "EnableInterContainerTrafficEncryption": _encrypted_between(spec),
        "EnableManagedSpotTraining": spec.spot is not None,
        "Environment": dict(spec.environment),
        **_record(spec),
        "RemoteDebugConfig": {"EnableRemoteDebug": True} if spec.remote_debug else None,
        "InfraCheckConfig": {"EnableInfraCheck": True} if spec.infra_check else None,
        **values,
        "Tags": [{"Key": key, "Value": value} for key, value in {**place.tags, **spec.tags}.items()],
    }
    return {key: value for key, value in request.items() if value is not None and value not in ([], {})}


def _algorithm(spec: TrainingJobSpec, place: JobPlace) -> dict[str, Any]:
    metrics = [{"Name": name, "Regex": metric.regex} for name, metric in spec.metrics.items()]
    return {
        "TrainingImage": spec.image.uri(region=place.region, instance_type=spec.instance_type),
        "TrainingInputMode": InputMode.FILE.value,
        **({"MetricDefinitions": metrics, "EnableSageMakerMetricsTimeSeries": True} if metrics else {}),
    }


def _channel(name: str, channel: Channel) -> dict[str, Any]:
    rendered: dict[str, Any] = {"ChannelName": name, "DataSource": _data_source(channel)}
    if channel.content_type is not None:
        rendered["ContentType"] = channel.content_type
    if channel.compressed:
        rendered["CompressionType"] = "Gzip"
    rendered["InputMode"] = channel.input_mode.value
    return rendered


def _data_source(channel: Channel) -> dict[str, Any]:
    if channel.uri is not None:
        return {
            "S3DataSource": {
                "S3DataType": "ManifestFile" if channel.manifest else "S3Prefix",
                "S3Uri": channel.uri,
                "S3DataDistributionType": "ShardedByS3Key" if channel.sharded else "FullyReplicated",
            }
        }
    return {
        "FileSystemDataSource": {
            "FileSystemId": channel.file_system_id,
            "FileSystemAccessMode": "ro" if channel.read_only else "rw",
            "FileSystemType": "FSxLustre",
            "DirectoryPath": channel.directory,
        }
    }


def _output(spec: TrainingJobSpec, place: JobPlace) -> dict[str, Any]:
    own = spec.output.uri is None
    key = place.output_key_arn if own else spec.output.key_arn
    return {
        **({} if key is None else {"KmsKeyId": key}),
        "S3OutputPath": place.output_uri if own else spec.output.uri,
        "CompressionType": "GZIP" if spec.output.compress else "NONE",
    }


def _resources(spec: TrainingJobSpec, place: JobPlace) -> dict[str, Any]:
    instance = training_instances()[spec.instance_type]
    rendered: dict[str, Any] = {
        "InstanceType": spec.instance_type,
        "InstanceCount": spec.instance_count,
        "VolumeSizeInGB": training_job_fact("volume_gib") if spec.volume_gib is None else spec.volume_gib,
    }
    if place.volume_key_arn is not None and not instance.has_local_disks:
        rendered["VolumeKmsKeyId"] = place.volume_key_arn
    return rendered


def _longest_wait(spec: TrainingJobSpec) -> dict[str, Any]:
    return {} if spec.wait_seconds is None else {"MaxWaitTimeInSeconds": spec.wait_seconds}


def _checkpoint_uri(spec: TrainingJobSpec, place: JobPlace) -> str | None:
    if spec.checkpoints is None:
        return None
    uri = spec.checkpoints.uri or place.checkpoint_uri
    if uri is None:
        raise ValueError("a job with checkpoints needs a place for them: give JobPlace a checkpoint_uri")
    return uri


def _encrypted_between(spec: TrainingJobSpec) -> bool:
    if spec.encrypt_between_nodes is not None:
        return spec.encrypt_between_nodes
    return spec.instance_count > 1


def _record(spec: TrainingJobSpec) -> dict[str, Any]:
    tracking = spec.tracking
    if tracking is None:
        return {}
    rendered: dict[str, Any] = {}
    if tracking.tensorboard_uri is not None:
        rendered["TensorBoardOutputConfig"] = {
            "LocalPath": training_job_fact("tensorboard_path"),
            "S3OutputPath": tracking.tensorboard_uri,
        }
    if tracking.mlflow_arn is not None:
        # The youngest of the members that come only when they are asked for.
        # assumption: step-functions-knows-mlflow-config
        rendered["MlflowConfig"] = {
            "MlflowResourceArn": tracking.mlflow_arn,
            "MlflowExperimentName": tracking.experiment or spec.name,
        }
    return rendered
