"""Asks about buckets: those that a fleet names, and the names of those that it makes."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account, header_of
from llm_fleet.cli.check.own import own_ids
from llm_fleet.cli.check.question import Answer, Ask, Question
from llm_fleet.cli.check.topic import Topic
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.account.bucket import check_bucket, check_new_bucket
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import PathPart

_S3 = "s3://"
_REGION = "x-amz-bucket-region"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBucket:
    """A bucket that a fleet file names."""

    name: str
    used_for: str
    """What it does, to follow the word `which`."""
    same_region: bool
    """Whether it must be in the region of the fleet. So SageMaker's guides say of jobs and endpoints; of a data
    repository of FSx it is assumption: fsx-links-buckets-of-its-region"""
    path: tuple[PathPart, ...]


def questions_of_buckets(fleet: Fleet, *, region: str) -> Iterator[Question]:
    """Ask for each bucket once."""
    made = {bucket.bucket_name for bucket in fleet.storage.buckets.values()}
    seen: set[str] = set()
    for bucket in named_buckets(fleet):
        if bucket.name not in seen and bucket.name not in made:
            seen.add(bucket.name)
            yield Question(topic=Topic.STORAGE, what=f"bucket {bucket.name}", answer=_asking(bucket, region))
    for key, new in fleet.storage.buckets.items():
        if new.bucket_name is not None:
            path = ("storage", "buckets", key, "name")
            yield Question(
                topic=Topic.STORAGE,
                what=f"name of the new bucket {new.bucket_name}",
                answer=_asking_new(fleet, new.bucket_name, path),
            )


def named_buckets(fleet: Fleet) -> Iterator[NamedBucket]:
    """Return the buckets that must be there before the deployment."""
    yield from _of_storage(fleet)
    yield from _of_clusters(fleet)
    yield from _of_models(fleet)
    yield from _of_jobs(fleet)


def _of_storage(fleet: Fleet) -> Iterator[NamedBucket]:
    for repository in fleet.storage.fsx.repositories if fleet.storage.fsx is not None else ():
        yield _of(repository.data_repository_path, "FSx mirrors", True, ("storage", "fsx"))


def _of_clusters(fleet: Fleet) -> Iterator[NamedBucket]:
    for name, cluster in fleet.hyperpod_clusters.items():
        bucket = cluster.scripts.bucket_name
        if bucket is not None:
            path = ("clusters", name, "scripts", "bucket")
            yield _of(_S3 + bucket, "nodes fetch their lifecycle scripts from", True, path)
    for name, cluster in fleet.clusters.items():
        for index, mount in enumerate(cluster.s3_mounts):
            if mount.bucket.startswith(_S3):
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


def _asking(bucket: NamedBucket, region: str) -> Ask:
    def answer(account: Account) -> Answer:
        exists, where = True, None
        try:
            head = account.ask("s3", "head_bucket", Bucket=bucket.name)
            where = head.get("BucketRegion") or head["ResponseMetadata"]["HTTPHeaders"].get(_REGION)
        except AwsRefusal as refusal:
            where = header_of(refusal, _REGION)
            exists = refusal.code is not CommandCode.GONE
            if exists and (not bucket.same_region or where in (None, region)):
                raise
        problems = check_bucket(
            bucket.name,
            exists=exists,
            bucket_region=where,
            region=region,
            used_for=bucket.used_for,
            same_region=bucket.same_region,
            path=bucket.path,
        )
        return Answer(detail=f"in {where or region}" if exists else "there is no such bucket", problems=problems)

    return answer


def _asking_new(fleet: Fleet, name: str, path: tuple[PathPart, ...]) -> Ask:
    def answer(account: Account) -> Answer:
        try:
            account.ask("s3", "head_bucket", Bucket=name)
        except AwsRefusal as refusal:
            # Whom S3 does not let look, it tells nevertheless that the bucket is there: 403 in place of 404.
            if refusal.code not in (CommandCode.GONE, CommandCode.DENIED):
                raise
            taken = refusal.code is CommandCode.DENIED
            return Answer(
                detail="somebody has it" if taken else "free", problems=check_new_bucket(name, exists=taken, path=path)
            )
        own = name in own_ids(account, fleet)
        return Answer(
            detail="the fleet has it already" if own else "this account has it",
            problems=check_new_bucket(name, exists=not own, path=path),
        )

    return answer
