"""Existing resources that a fleet refers to: images, models, secrets, certificates, buckets, file systems."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from llm_fleet.catalog.hyperpod import ImageFeature
from llm_fleet.rules.account.instance_capacity import when
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem, rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingImage:
    """One image, as DescribeImages returns it."""

    image_id: str
    state: str
    architecture: str
    """`x86_64` or `arm64`."""
    created: date | None
    owner: str
    encrypted: bool
    """Whether one of its volumes is encrypted."""
    volumes: int
    """Number of EBS volumes."""


@rule
def check_image(
    image: ExistingImage | None,
    image_id: str,
    *,
    owner: str,
    architectures: Collection[str],
    account: str | None,
    for_hyperpod: bool,
    region: str,
    path: tuple[PathPart, ...] = (),
) -> Iterator[Problem]:
    """Return why nodes of `owner` cannot start from an image. `None`: DescribeImages returns none.

    HyperPod supports only unencrypted images of the same account with one volume (developer guide).
    """
    if image is None:
        yield _wrong_image(
            image_id,
            path,
            f"{owner} uses the image {image_id}, which does not exist in {region} or is not shared with this account",
            f"copy it there with `aws ec2 copy-image`, or write one of `aws ec2 describe-images --owners self "
            f"--region {region}`",
        )
        return
    name = f"the image {image.image_id} of {owner}"
    if image.state != "available":
        yield _wrong_image(image_id, path, f"{name} is {image.state}", "wait until it is available, or create it again")
    if architectures and image.architecture not in architectures:
        wanted = " and ".join(sorted(architectures))
        yield _wrong_image(
            image_id,
            path,
            f"{name} is for {image.architecture}, but its nodes are {wanted}",
            f"write an image for {wanted}",
        )
    if not for_hyperpod:
        return
    if account is not None and image.owner != account:
        yield _wrong_image(
            image_id,
            path,
            f"{name} belongs to account {image.owner}, but HyperPod supports only images of the cluster's account",
            "copy it into this account with `aws ec2 copy-image`, and write the ID of the copy",
        )
    if image.encrypted:
        yield _wrong_image(
            image_id,
            path,
            f"{name} has an encrypted volume, which HyperPod does not support",
            "create it again from an unencrypted snapshot; `root_volume_key` encrypts the nodes' volumes",
        )
    if image.volumes > 1:
        yield _wrong_image(
            image_id,
            path,
            f"{name} has {image.volumes} volumes, but HyperPod supports only the root volume",
            "create it again without the others; `ebs` gives nodes a second volume",
        )


@rule
def check_image_age(
    created: date | None,
    features: Collection[ImageFeature],
    *,
    image: str,
    owner: str,
    remedy: str,
    path: tuple[PathPart, ...] = (),
) -> Iterator[Problem]:
    """Return the features that an image of this date cannot have. A custom image is newer than its base image."""
    for feature in features:
        if created is not None and created < feature.since:
            yield Problem(
                code=CheckCode.IMAGE_AGE,
                path=path,
                message=f"{image} of {owner} was released on {created}, but {feature.what} requires a release "
                f"of {feature.since} or later",
                value=str(created),
                allowed=f"{feature.since} or later",
                remedy=remedy,
            )


@rule
def check_image_release(
    release: str, *, there: bool, parameter: str, owner: str, region: str, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when AWS does not publish this release of the ECS Neuron AMI in the region."""
    if there:
        return
    folder = parameter.rpartition("/al2023")[0] or parameter.rpartition("/")[0]
    yield Problem(
        code=CheckCode.IMAGE_PARAMETER,
        path=path,
        message=f"the hosts of {owner} use the release {release} of the ECS Neuron AMI, which AWS does not publish "
        f"in {region}",
        value=parameter,
        remedy=f"write one of `aws ssm get-parameters-by-path --path {folder} --region {region}` as `ami`",
    )


def _wrong_image(image_id: str, path: tuple[PathPart, ...], message: str, remedy: str) -> Problem:
    return Problem(code=CheckCode.IMAGE_STATE, path=path, message=message, remedy=remedy, value=image_id)


CONFIG = "config.json"


@rule
def check_model_in_bucket(
    uri: str, *, files: int, has_config: bool, owner: str, exported: bool, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when the folder has no model. `exported`: whether a job of the fleet exports it there later."""
    if has_config or exported:
        return
    what = f"no {CONFIG}" if files else "nothing"
    yield Problem(
        code=CheckCode.MODEL_MISSING,
        path=path,
        message=f"{owner} serves {uri}, but there is {what} in that folder",
        value=uri,
        allowed=f"a folder with the model's {CONFIG}",
        remedy=f"copy the model there with `aws s3 sync <folder> {uri}`, or write the folder that has its {CONFIG}",
    )


@rule
def check_token_secret(
    arn: str, *, there: bool, deleted: bool, owner: str, region: str, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when the secret with the Hub token does not exist, or is being deleted."""
    if there and not deleted:
        return
    state = "is being deleted" if there else "does not exist"
    yield Problem(
        code=CheckCode.TOKEN_SECRET,
        path=path,
        message=f"the secret with the Hub token of {owner} {state}",
        value=arn,
        remedy=f"restore it with `aws secretsmanager restore-secret --secret-id {arn} --region {region}`"
        if there
        else "create it with `aws secretsmanager create-secret --name hugging-face-token --secret-string "
        f"file://token.txt --region {region}`, and write its ARN",
    )


@rule
def check_hub_model(
    model_id: str, *, status: int, with_token: bool, owner: str, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return why the Hub does not serve a model. `status`: the HTTP status of its config.json."""
    if status < 400 or status >= 500:
        return
    page = f"https://huggingface.co/{model_id}"
    if status in (401, 403):
        why = "denies access with this token" if with_token else "requires a token"
        remedy = (
            f"accept its license at {page} with the account of the token, and give the token read access to "
            "gated repositories"
            if with_token
            else f"accept its license at {page}, store a token in a secret, and write its ARN as `token_secret`. A "
            "misspelled name gets the same answer"
        )
        message = f"{owner} serves {model_id}, but the Hugging Face Hub {why}"
    else:
        message = f"{owner} serves {model_id}, but the Hub has no {CONFIG} of this name and revision ({status})"
        remedy = f"write the name and revision as {page} shows them"
    yield Problem(code=CheckCode.GATED, path=path, message=message, remedy=remedy, value=model_id)


_SOON = timedelta(days=14)
"""ACM renews 60 days before the end; with two weeks left, the renewal has failed. Our choice."""


@rule
def check_certificate(
    arn: str,
    *,
    status: str | None,
    ends: datetime | None,
    names: tuple[str, ...],
    domain: str | None,
    owner: str,
    now: datetime,
    path: tuple[PathPart, ...] = (),
) -> Iterator[Problem]:
    """Return why a load balancer cannot use the certificate. `status`: `None` when it does not exist."""
    name = f"the certificate of {owner}"
    if status is None:
        yield _wrong_certificate(arn, path, f"{name} does not exist", "request one with `aws acm request-certificate`")
        return
    if status != "ISSUED":
        remedy = (
            f"add the DNS records that `aws acm describe-certificate --certificate-arn {arn}` shows, and wait"
            if status == "PENDING_VALIDATION"
            else "request another with `aws acm request-certificate`"
        )
        yield _wrong_certificate(arn, path, f"{name} is {status}, and a load balancer cannot use it", remedy)
        return
    if ends is not None and ends - now < _SOON:
        yield _wrong_certificate(
            arn,
            path,
            f"{name} {'ended' if ends <= now else 'ends'} at {when(ends)}",
            "renew it: check that its DNS records still exist, or import a new one under the same ARN",
        )
    if domain is not None and names and not any(_covers(pattern, domain) for pattern in names):
        yield _wrong_certificate(
            arn,
            path,
            f"{name} is for {', '.join(names)}, but clients use {domain}",
            f"request one for {domain} with `aws acm request-certificate --domain-name {domain}`",
        )


def _covers(pattern: str, domain: str) -> bool:
    if pattern.startswith("*."):
        return domain.partition(".")[2].lower() == pattern[2:].lower()
    return pattern.lower() == domain.lower()


def _wrong_certificate(arn: str, path: tuple[PathPart, ...], message: str, remedy: str) -> Problem:
    return Problem(code=CheckCode.CERTIFICATE, path=path, message=message, remedy=remedy, value=arn)


@rule
def check_bucket(
    name: str,
    *,
    exists: bool,
    bucket_region: str | None,
    region: str,
    used_for: str,
    same_region: bool,
    path: tuple[PathPart, ...] = (),
) -> Iterator[Problem]:
    """Return what is wrong with a bucket that must exist.

    `same_region`: whether its use requires the same region, e.g. an FSx data repository.
    """
    place = f" --create-bucket-configuration LocationConstraint={region}" if region != "us-east-1" else ""
    if not exists:
        yield Problem(
            code=CheckCode.BUCKET_MISSING,
            path=path,
            message=f"the bucket {name}, which {used_for}, does not exist",
            value=name,
            remedy=f"correct the name, or create it with `aws s3api create-bucket --bucket {name} "
            f"--region {region}{place}`",
        )
    elif same_region and bucket_region not in (None, region):
        yield Problem(
            code=CheckCode.BUCKET_REGION,
            path=path,
            message=f"the bucket {name}, which {used_for}, is in {bucket_region}, and must be in {region}",
            value=bucket_region,
            allowed=region,
            remedy=f"write a bucket in {region}, or copy with `aws s3 sync s3://{name} s3://<bucket in {region}>`",
        )


@rule
def check_new_bucket(name: str, *, exists: bool, path: tuple[PathPart, ...] = ()) -> Iterator[Problem]:
    """Return a problem when the name of a new bucket is in use: bucket names are global."""
    if exists:
        yield Problem(
            code=CheckCode.BUCKET_TAKEN,
            path=path,
            message=f"the bucket name {name} is already in use, in this account or another",
            value=name,
            remedy="write another `name`, or remove `name`: CloudFormation then generates a unique one. Refer to an "
            "existing bucket of yours where it is used, as s3://…",
        )


_USABLE = ("AVAILABLE", "UPDATING")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingFileSystem:
    """One file system, as DescribeFileSystems returns it."""

    file_system_id: str
    kind: str
    """E.g. `LUSTRE`."""
    lifecycle: str
    vpc_id: str
    zones: tuple[str, ...]
    """AZ IDs of its subnets."""
    dns_name: str
    mount_name: str | None = None
    efa: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFileSystem:
    """The file system as the fleet file describes it; `None` for what it leaves out."""

    kind: str
    path: tuple[PathPart, ...]
    vpc_id: str | None = None
    zone: str | None = None
    mount_name: str | None = None
    dns_name: str | None = None
    efa: bool | None = None


@rule
def check_file_system(real: ExistingFileSystem, reported: ReportedFileSystem) -> Iterator[Problem]:
    """Return how the two differ, and whether the file system cannot be mounted now."""
    if real.lifecycle in _USABLE:
        yield from _place(real, reported)
        yield from _differences(real, reported)
        return
    yield Problem(
        code=CheckCode.FILE_SYSTEM_STATE,
        path=reported.path,
        message=f"the file system {real.file_system_id} is {real.lifecycle} and cannot be mounted",
        value=real.lifecycle,
        allowed=" or ".join(_USABLE),
        remedy="look for the reason with `aws fsx describe-file-systems --file-system-ids "
        f"{real.file_system_id}`, and wait, or "
        "write another",
    )


def _place(real: ExistingFileSystem, reported: ReportedFileSystem) -> Iterator[Problem]:
    if reported.zone is not None and reported.zone not in real.zones:
        zones = ", ".join(real.zones)
        yield Problem(
            code=CheckCode.FILE_SYSTEM_ZONE,
            path=(*reported.path, "az"),
            message=f"the file system {real.file_system_id} is in {zones}, but the fleet file says {reported.zone}",
            value=reported.zone,
            allowed=zones,
            remedy=f"write `az: {real.zones[0]}`, and put the nodes there, too: traffic across AZs is slow and charged"
            if real.zones
            else "leave `az` out",
        )
    if reported.vpc_id is not None and real.vpc_id != reported.vpc_id:
        yield Problem(
            code=CheckCode.FILE_SYSTEM_ZONE,
            path=reported.path,
            message=f"the file system {real.file_system_id} is in {real.vpc_id}, but the nodes are in "
            f"{reported.vpc_id}",
            value=real.vpc_id,
            allowed=reported.vpc_id,
            remedy="put the nodes into its VPC, or set up VPC peering with routes in both directions",
        )


def _differences(real: ExistingFileSystem, reported: ReportedFileSystem) -> Iterator[Problem]:
    pairs = {
        "kind": (real.kind, reported.kind),
        "mount_name": (real.mount_name, reported.mount_name),
        "dns_name": (real.dns_name, reported.dns_name),
        "efa": (real.efa, reported.efa),
    }
    for key, (is_so, says) in pairs.items():
        if says is None or is_so is None or is_so == says:
            continue
        shown = str(is_so).lower() if isinstance(is_so, bool) else is_so
        yield Problem(
            code=CheckCode.FILE_SYSTEM_OTHER,
            path=reported.path if key == "kind" else (*reported.path, key),
            message=f"the file system {real.file_system_id} has the {key} {shown}, but the fleet file says "
            f"{str(says).lower() if isinstance(says, bool) else says}",
            value=says,
            allowed=str(shown),
            remedy=f"write a file system that is {reported.kind}" if key == "kind" else f"write `{key}: {shown}`",
        )
