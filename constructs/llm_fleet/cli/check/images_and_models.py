"""Checks that images of clusters and services, and models, exist and can be read; and the age of running images."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.catalog.hyperpod import ImageFeature, image_feature
from llm_fleet.catalog.neuron import ami_for, ami_parameter
from llm_fleet.cli.check.question import Account, Answer, Question, Topic
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.fleet_file.clusters import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.service import ServedModelConfig, ServiceConfig
from llm_fleet.needs.machines import machines_of
from llm_fleet.rules.account.existing_resources import (
    CONFIG,
    ExistingImage,
    check_certificate,
    check_hub_model,
    check_image,
    check_image_age,
    check_image_release,
    check_model_in_bucket,
    check_token_secret,
)
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.inference.hosts import driver_for, is_ami_id
from llm_fleet.rules.problem import PathPart, Problem

_DATE = re.compile(r"(20\d{2})-?(\d{2})-?(\d{2})")


def ask_running_images(
    cluster: HyperPodConfig, name: str, features: Collection[ImageFeature], account: Account
) -> Answer:
    """Check the images by their dates. A new cluster gets the newest HyperPod AMI, whose date no API returns."""
    reported = account.find("sagemaker", "describe_cluster", ClusterName=cluster.cluster_name)
    if not reported:
        return Answer(detail="not deployed yet: it gets the newest HyperPod AMI")
    problems: list[Problem] = []
    for group in reported["InstanceGroups"]:
        release = str(group.get("CurrentImageReleaseVersion") or "")
        problems += check_image_age(
            _date_of(release),
            features,
            image=f"the image release {release}",
            owner=f"{name}/{group['InstanceGroupName']}",
            remedy=f"update it with `aws sagemaker update-cluster-software --cluster-name {cluster.cluster_name} "
            f"--region {account.region}`, which replaces root volumes; `llm-fleet upgrade {name}` shows what is lost",
            path=("clusters", name),
        )
    releases = {str(group.get("CurrentImageReleaseVersion") or "") for group in reported["InstanceGroups"]} - {""}
    if not releases:
        return Answer(detail="AWS does not return its release", problems=problems, checked=False)
    return Answer(detail=", ".join(sorted(releases)), problems=problems)


def _date_of(release: str) -> date | None:
    """Return the date in a release's name; `None` for releases such as 1.2.0."""
    found = _DATE.search(release)
    if found is None:
        return None
    year, month, day = map(int, found.groups())
    try:
        return date(year, month, day)
    except ValueError:  # A build number, not a date.
        return None


_DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedImage:
    image_id: str
    owner: str
    path: tuple[PathPart, ...]
    for_hyperpod: bool
    features: tuple[ImageFeature, ...] = ()


def image_questions(fleet: Fleet) -> Iterator[Question]:
    """Yield the checks of custom images, releases of the ECS AMI, and images of running clusters."""
    for image in _named(fleet):
        yield Question(
            Topic.IMAGES,
            f"image {image.image_id} of {image.owner}",
            partial(_ask_image, image, _architectures(fleet, image.path)),
        )
    for release, owner, path in releases_of(fleet):
        yield Question(
            Topic.IMAGES, f"ECS Neuron AMI {release} of {owner}", partial(_ask_release, release, owner, path)
        )
    for name, cluster in fleet.hyperpod_clusters.items():
        yield Question(
            Topic.IMAGES, f"image of cluster {name}", partial(ask_running_images, cluster, name, features_of(cluster))
        )


def releases_of(fleet: Fleet) -> Iterator[tuple[str, str, tuple[PathPart, ...]]]:
    """Yield each release of the ECS Neuron AMI that hosts use, its service, and its path in the fleet file."""
    for name, service in fleet.services.items():
        hosts = service.hosts
        release = hosts.ami or ami_for(hosts.driver_version or driver_for(service.server))
        if not hosts.managed and not is_ami_id(release):
            yield release, f"service {name}", ("services", name, "hosts", *(("ami",) if hosts.ami else ()))


def features_of(cluster: HyperPodConfig) -> tuple[ImageFeature, ...]:
    """Return the features of the cluster that older images do not have."""
    found = [] if cluster.scripts.legacy else [image_feature("slurm-config")]
    if cluster.accounting_database is not None:
        found.append(image_feature("accounting-database"))
    return tuple(found)


def _named(fleet: Fleet) -> Iterator[_NamedImage]:
    for name, cluster in fleet.hyperpod_clusters.items():
        for group in cluster.groups:
            if group.image_id is not None and group.image_id != _DEFAULT:
                yield _NamedImage(
                    image_id=group.image_id,
                    owner=f"{name}/{group.name}",
                    path=("clusters", name, "groups", group.name, "image"),
                    for_hyperpod=True,
                    features=features_of(cluster),
                )
    for name, cluster in fleet.parallelclusters.items():
        if cluster.image_id is not None:
            yield _NamedImage(
                image_id=cluster.image_id, owner=name, path=("clusters", name, "image"), for_hyperpod=False
            )
    for name, service in fleet.services.items():
        if service.hosts.ami is not None and is_ami_id(service.hosts.ami):
            path = ("services", name, "hosts", "ami")
            yield _NamedImage(image_id=service.hosts.ami, owner=f"service {name}", path=path, for_hyperpod=False)


def _architectures(fleet: Fleet, path: tuple[PathPart, ...]) -> set[str]:
    """Return the instances below the part of the fleet file that sets the image."""
    part = path[: path.index("hosts")] if "hosts" in path else path[:-1]
    types = [one.ec2_type for one in machines_of(fleet) if one.path[: len(part)] == part]
    return {facts.architecture for name in types if (facts := ec2_instance(name)) is not None}


def _ask_image(image: _NamedImage, architectures: set[str], account: Account) -> Answer:
    real = _image(account, image.image_id)
    problems = check_image(
        real,
        image.image_id,
        owner=image.owner,
        architectures=architectures,
        account=str(account.identity["Account"]),
        for_hyperpod=image.for_hyperpod,
        region=account.region,
        path=image.path,
    )
    if real is None:
        return Answer(detail="the image does not exist", problems=problems)
    problems += check_image_age(
        real.created,
        image.features,
        image=f"the image {image.image_id}",
        owner=image.owner,
        remedy="build it again from the newest HyperPod AMI, or remove `image`",
        path=image.path,
    )
    return Answer(detail=f"{real.state}, {real.architecture}, created {real.created}", problems=problems)


def _image(account: Account, image_id: str) -> ExistingImage | None:
    found: list[dict[str, Any]] = account.find("ec2", "describe_images", ImageIds=[image_id]).get("Images", [])
    if not found:
        return None
    reported = found[0]
    volumes = [one["Ebs"] for one in reported.get("BlockDeviceMappings", ()) if one.get("Ebs")]
    created = str(reported.get("CreationDate", ""))[:10]
    return ExistingImage(
        image_id=image_id,
        state=reported["State"],
        architecture=reported.get("Architecture", "x86_64"),
        created=date.fromisoformat(created) if created else None,
        owner=reported.get("OwnerId", ""),
        encrypted=any(volume.get("Encrypted") for volume in volumes),
        volumes=len(volumes),
    )


def _ask_release(release: str, owner: str, path: tuple[PathPart, ...], account: Account) -> Answer:
    name = ami_parameter(release)
    image = image_parameter(account, name)
    problems = check_image_release(
        release, there=image is not None, parameter=name, owner=owner, region=account.region, path=path
    )
    return Answer(detail=image or "AWS does not publish it", problems=problems)


def image_parameter(account: Account, name: str) -> str | None:
    """Return the AMI id in the public parameter `name`; `None` if AWS does not publish it."""
    found = account.ask("ssm", "get_parameters", Names=[name])["Parameters"]
    return found[0]["Value"] if found else None


HUB = "https://huggingface.co"
_SECONDS = 15


class _NoRedirects(HTTPRedirectHandler):
    """Takes a redirect as the response: the file exists. The token is not sent to another host."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def hub_status(model_id: str, *, revision: str | None, token: str | None, hub: str = HUB) -> int:
    """Return the HTTP status of the model's config.json. Raises `AwsRefusal` if the Hub does not respond."""
    url = f"{hub}/{quote(model_id)}/resolve/{quote(revision or 'main', safe='')}/{CONFIG}"
    headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
    request = Request(url, method="HEAD", headers=headers)  # noqa: S310 - HTTPS, except in tests
    try:
        with build_opener(_NoRedirects()).open(request, timeout=_SECONDS) as answer:
            return answer.status
    except HTTPError as error:
        return error.code
    except (URLError, OSError, ValueError) as error:
        _unreachable(hub, error)


def _unreachable(hub: str, error: Exception) -> NoReturn:
    reason = (
        error.reason if isinstance(error, URLError) else type(error).__name__
    )  # Never print the request: it has the token.
    problem = Problem(
        code=CommandCode.UNREACHABLE,
        message=f"{hub} does not respond: {reason}",
        remedy="check that this machine can connect to the Hub, or remove --hub",
    )
    raise AwsRefusal([problem], subject="huggingface.co") from None


_Served = tuple[ServedModelConfig, tuple[PathPart, ...], str, bool]
"""A model, its path in the fleet file, its owner, and whether the fleet itself writes it later."""


def model_questions(fleet: Fleet, *, ask_hub: bool) -> Iterator[Question]:
    """Yield the checks of services' models, checkpoints of exports, secrets with Hub tokens, and certificates."""
    for name, service in fleet.services.items():
        owner, path = f"service {name}", ("services", name)
        models: list[_Served] = [(service.model, (*path, "model"), owner, service.export is not None)]
        if service.export is not None:
            models.append((service.export.source, (*path, "export", "source"), f"the export of {owner}", False))
        for model, model_path, who, exported in models:
            if model.s3_uri is not None:
                yield Question(
                    Topic.MODELS, f"model {model.s3_uri}", partial(_ask_bucket, model.s3_uri, who, exported, model_path)
                )
            yield from _of_hub(model, who, model_path, ask_hub)
        if service.front.certificate_arn is not None:
            yield Question(Topic.MODELS, f"certificate of {owner}", partial(_ask_certificate, service, owner, path))


def _of_hub(model: ServedModelConfig, owner: str, path: tuple[PathPart, ...], ask_hub: bool) -> Iterator[Question]:
    secret = model.token_secret_arn
    if secret is not None:
        yield Question(
            Topic.MODELS, f"Hub token of {owner}", partial(_ask_secret, secret, owner, (*path, "token_secret"))
        )
    if model.hub_id is not None and ask_hub:
        yield Question(Topic.MODELS, f"model {model.hub_id} on the Hub", partial(_ask_hub, model, owner, path))


def _ask_bucket(uri: str, owner: str, exported: bool, path: tuple[PathPart, ...], account: Account) -> Answer:
    parts = urlsplit(uri)
    prefix = f"{parts.path.strip('/')}/".lstrip("/")
    reported = account.find("s3", "list_objects_v2", first_page=True, Bucket=parts.netloc, Prefix=prefix)
    keys = [item["Key"] for item in reported.get("Contents", ())]
    has_config = f"{prefix}{CONFIG}" in keys or _has_key(account, parts.netloc, f"{prefix}{CONFIG}", reported)
    problems = check_model_in_bucket(
        uri, files=len(keys), has_config=has_config, owner=owner, exported=exported, path=path
    )
    if exported and not has_config:
        return Answer(detail="does not exist yet: the service's export writes it")
    return Answer(detail=f"{len(keys)} files{' or more' if reported.get('IsTruncated') else ''}", problems=problems)


def _has_key(account: Account, bucket: str, key: str, reported: dict[str, object]) -> bool:
    """Return whether a key beyond the first page exists."""
    if not reported.get("IsTruncated"):
        return False
    listed = account.ask("s3", "list_objects_v2", first_page=True, Bucket=bucket, Prefix=key, MaxKeys=1)
    return any(item["Key"] == key for item in listed.get("Contents", ()))


def _ask_secret(arn: str, owner: str, path: tuple[PathPart, ...], account: Account) -> Answer:
    reported = account.find("secretsmanager", "describe_secret", SecretId=arn)
    there, deleted = bool(reported), reported.get("DeletedDate") is not None
    problems = check_token_secret(arn, there=there, deleted=deleted, owner=owner, region=account.region, path=path)
    return Answer(detail="exists, not read" if not problems else "not usable", problems=problems)


def _ask_hub(model: ServedModelConfig, owner: str, path: tuple[PathPart, ...], account: Account) -> Answer:
    token = None
    if model.token_secret_arn is not None:
        token = account.ask("secretsmanager", "get_secret_value", SecretId=model.token_secret_arn)["SecretString"]
    assert model.hub_id is not None
    status = hub_status(model.hub_id, revision=model.revision, token=token)
    problems = check_hub_model(
        model.hub_id, status=status, with_token=token is not None, owner=owner, path=(*path, "hub")
    )
    return Answer(detail=f"the Hub returns {status} for its {CONFIG}", problems=problems)


def _ask_certificate(service: ServiceConfig, owner: str, path: tuple[PathPart, ...], account: Account) -> Answer:
    arn = str(service.front.certificate_arn)
    reported: dict[str, Any] = account.find("acm", "describe_certificate", CertificateArn=arn).get("Certificate", {})
    problems = check_certificate(
        arn,
        status=reported.get("Status"),
        ends=reported.get("NotAfter"),
        names=tuple(reported.get("SubjectAlternativeNames", ())),
        domain=service.front.domain_name,
        owner=owner,
        now=datetime.now(UTC),
        path=(*path, "front", "certificate"),
    )
    return Answer(detail=str(reported.get("Status", "the certificate does not exist")), problems=problems)
