"""What a training job needs around it: addresses of its network, and rights on what it reads and writes."""

from aws_cdk import aws_s3 as s3

from llm_fleet.iam.statements import BucketAccess, Place
from llm_fleet.network.network import Network
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.sagemaker.s3_place import bucket_and_key
from llm_fleet.rules.training.image import ecr_repository
from llm_fleet.sagemaker.training_job.job_permissions import JobFeatures
from llm_fleet.sagemaker.training_job.source_archive import SourceArchive
from llm_fleet.spec.training_job import TrainingJobSpec

_ADDRESSES = 2
"""Of each instance: docs.aws.amazon.com/sagemaker/latest/dg/train-vpc.html asks for two or more."""


def address_claims(job: TrainingJobSpec, network: Network, *, owner: str) -> list[AddressClaim]:
    """Return what a job takes of each compute subnet: in which of them it is placed, SageMaker decides at its start."""
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
    """Return what the job's role is switched on to do. `bucket`: the job's own. `key_arn`: of its volumes."""
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
    """Return the parts of the job's own bucket that it writes."""
    parts = ["output"] if job.output.uri is None else []
    if job.checkpoints is not None and job.checkpoints.uri is None:
        parts.append(f"checkpoints/{job.name}")
    return tuple(BucketAccess.of(bucket, prefix=part) for part in parts)


def _accesses(places: tuple[tuple[str, str | None], ...], place: Place) -> tuple[BucketAccess, ...]:
    return tuple(
        BucketAccess(bucket_arn=f"arn:{place.partition}:s3:::{bucket}", prefix=prefix, key_arn=key_arn)
        for uri, key_arn in dict.fromkeys(places)
        for bucket, prefix in [bucket_and_key(uri)]
    )
