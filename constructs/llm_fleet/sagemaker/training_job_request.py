"""The request of a training job, the archive of its script, and its network addresses and permissions."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from llm_fleet.catalog.training_job import launchers, training_instances, training_job_fact
from llm_fleet.iam.statements import BucketAccess, Place
from llm_fleet.network.network import Network
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.sagemaker.training_job_values import hyperparameter_text
from llm_fleet.rules.training.image import ecr_repository
from llm_fleet.sagemaker.training_job_permissions import JobFeatures
from llm_fleet.spec.spec import in_request
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import DistributionKind
from llm_fleet.spec.training_job_data import Channel, InputMode


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """Values of the construct for a request of a `TrainingJobSpec`. All strings may be CDK tokens."""

    name: str
    """Placeholder for the job's name; each start generates a new one."""
    region: str
    """Region of the image URI; not a token, except with a user's own image."""
    role_arn: str
    """Execution role of the job."""
    output_uri: str
    """Default S3 URI of results."""
    source_uri: str | None = None
    """`s3://…/sourcedir.tar.gz` with the source bundle; `None` without a source bundle."""
    checkpoint_uri: str | None = None
    """Default S3 URI of checkpoints."""
    subnet_ids: tuple[str, ...] = ()
    """Empty: not in a VPC of the account."""
    security_group_ids: tuple[str, ...] = ()
    volume_key_arn: str | None = None
    """Encrypts EBS volumes; instances with local disks use their own keys."""
    output_key_arn: str | None = None
    """Encrypts results in `output_uri`."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of each job, in addition to those of the specification."""


def render_hyperparameters(spec: TrainingJobSpec, *, source_uri: str | None, region: str) -> dict[str, str]:
    """Return all hyperparameters as strings, the user's first.

    With a source bundle, values are JSON, as the toolkit expects; without one they are unquoted strings for a user's
    own image.
    """
    if spec.source is None or source_uri is None:
        return {name: _plain(value) for name, value in spec.hyperparameters.items()}
    merged = {
        **spec.hyperparameters,
        **_of_script(spec.source.entry_point, source_uri, region),
        **_of_launcher(spec),
    }
    return {name: hyperparameter_text(value) for name, value in merged.items()}


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
    parameters = dict(launchers()[distribution.kind.value].hyperparameters)
    if not parameters:
        return {}
    if distribution.processes_per_host is not None:
        parameters["sagemaker_mpi_num_of_processes_per_host"] = distribution.processes_per_host
    if distribution.kind is not DistributionKind.MPI:
        parameters["sagemaker_instance_type"] = spec.instance_type
    if distribution.smp_configuration is not None:
        parameters["mp_parameters"] = distribution.smp_configuration.for_library
    return parameters


def render_request(spec: TrainingJobSpec, place: JobPlace) -> dict[str, Any]:
    """Return the request for one job of `spec`, in boto3's format; deterministic, with a fixed order of keys."""
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
        raise ValueError("a job with checkpoints requires JobPlace.checkpoint_uri")
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
        # Only requests that use it have this member, since it is newer than the others.
        # assumption: step-functions-knows-mlflow-config
        rendered["MlflowConfig"] = {
            "MlflowResourceArn": tracking.mlflow_arn,
            "MlflowExperimentName": tracking.experiment or spec.name,
        }
    return rendered


_NAME = "sourcedir.tar.gz"
_EXECUTABLE, _PLAIN = 0o755, 0o644


class SourceArchive(Construct):
    """An archive of a folder, with the same bytes and name on every machine and at every synth."""

    def __init__(self, scope: Construct, id: str, *, folder: Path, files: frozenset[str]) -> None:
        """Pack `files` of `folder`; paths are relative and use `/`."""
        super().__init__(scope, id)
        contents = {name: (folder / name).read_bytes() for name in sorted(files)}
        executable = {name for name in contents if (folder / name).stat().st_mode & 0o100}
        digest = hashlib.sha256()
        for name, data in contents.items():
            digest.update(f"{name}\0{name in executable}\0{hashlib.sha256(data).hexdigest()}\n".encode())
        with TemporaryDirectory() as place:
            archive = Path(place, _NAME)
            archive.write_bytes(pack(contents, executable))
            self.asset = s3_assets.Asset(self, "Asset", path=str(archive), asset_hash=digest.hexdigest())
            """The CDK's asset."""

    @property
    def uri(self) -> str:
        """`s3://bucket/key`, a CDK token."""
        return self.asset.s3_object_url

    @property
    def object_arn(self) -> str:
        """The ARN of the archive's object, a CDK token."""
        return self.asset.bucket.arn_for_objects(self.asset.s3_object_key)


def pack(contents: Mapping[str, bytes], executable: set[str]) -> bytes:
    """Return a gzipped tar archive of `contents`, sorted by name, without times and owners."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(contents):
            entry = tarfile.TarInfo(name)
            entry.size = len(contents[name])
            entry.mode = _EXECUTABLE if name in executable else _PLAIN
            archive.addfile(entry, io.BytesIO(contents[name]))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as stream:
        stream.write(plain.getvalue())
    return packed.getvalue()


_ADDRESSES = 2
"""Per instance: docs.aws.amazon.com/sagemaker/latest/dg/train-vpc.html requires two or more."""


def address_claims(job: TrainingJobSpec, network: Network, *, owner: str) -> list[AddressClaim]:
    """Return the addresses of a job in each compute subnet: SageMaker selects the subnet at the start."""
    return [
        AddressClaim(
            owner=owner,
            what=job.instance_type,
            count=job.instance_count,
            addresses_each=_ADDRESSES,
            availability_zone_id=zone,
        )
        for zone in network.availability_zone_ids
    ]


def job_features(
    job: TrainingJobSpec,
    *,
    place: Place,
    bucket: s3.IBucket,
    source: SourceArchive | None,
    key_arn: str,
    in_network: bool,
) -> JobFeatures:
    """Return the features for the job's role. `bucket`: the job's own. `key_arn`: the key of its volumes."""
    return JobFeatures(
        source_arn=source.object_arn if source else None,
        read=_accesses(job.s3_read, place),
        write=(*_own(job, bucket), *_accesses(job.s3_written, place)),
        repository_arn=ecr_repository(
            job.image.uri(region=place.region, instance_type=job.instance_type), place.partition
        ),
        in_network=in_network,
        volume_key_arn=key_arn,
        remote_debug=job.remote_debug,
        mlflow_arn=job.tracking.mlflow_arn if job.tracking else None,
    )


def _own(job: TrainingJobSpec, bucket: s3.IBucket) -> tuple[BucketAccess, ...]:
    """Return the prefixes of the job's own bucket that it writes."""
    parts = ["output"] if job.output.uri is None else []
    if job.checkpoints is not None and job.checkpoints.uri is None:
        parts.append(f"checkpoints/{job.name}")
    return tuple(BucketAccess.of(bucket, prefix=part) for part in parts)


def _accesses(places: tuple[tuple[str, str | None], ...], place: Place) -> tuple[BucketAccess, ...]:
    return tuple(
        BucketAccess(bucket_arn=f"arn:{place.partition}:s3:::{bucket}", prefix=prefix, key_arn=key_arn)
        for uri, key_arn in dict.fromkeys(places)
        for bucket, prefix in [bucket_and_prefix(uri)]
    )
