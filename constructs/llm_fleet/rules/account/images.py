"""Images and models that a fleet names."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date

from llm_fleet.catalog.hyperpod import ImageFeature
from llm_fleet.rules.command_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingImage:
    """What EC2 says of one image."""

    image_id: str
    state: str
    architecture: str
    """`x86_64` or `arm64`."""
    created: date | None
    owner: str
    encrypted: bool
    """Whether a volume of it is encrypted."""
    volumes: int
    """How many EBS volumes it has."""


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
) -> list[Problem]:
    """Return why nodes of `owner` cannot start from an image; `None` for one that EC2 does not show.

    HyperPod takes images of the same account only, unencrypted, of one volume (developer guide).
    """
    if image is None:
        return [
            _problem(
                image_id,
                path,
                f"there is no image {image_id} in {region} that this account may use, and {owner} starts from it",
                f"copy it there with `aws ec2 copy-image`, or name one of `aws ec2 describe-images --owners self "
                f"--region {region}`",
            )
        ]
    return list(_unfit(image, owner, architectures, account if for_hyperpod else None, for_hyperpod, path))


def _unfit(
    image: ExistingImage,
    owner: str,
    architectures: Collection[str],
    account: str | None,
    for_hyperpod: bool,
    path: tuple[PathPart, ...],
) -> Iterator[Problem]:
    name = f"the image {image.image_id} of {owner}"
    if image.state != "available":
        yield _problem(image.image_id, path, f"{name} is {image.state}", "wait until it is available, or make it anew")
    if architectures and image.architecture not in architectures:
        wanted = " and ".join(sorted(architectures))
        yield _problem(
            image.image_id, path, f"{name} is for {image.architecture}, and its nodes are {wanted}", "name one for them"
        )
    if account is not None and image.owner != account:
        yield _problem(
            image.image_id,
            path,
            f"{name} is of account {image.owner}, and HyperPod takes images of the cluster's account only",
            "copy it into this account with `aws ec2 copy-image`, and name the copy",
        )
    if for_hyperpod and image.encrypted:
        yield _problem(
            image.image_id,
            path,
            f"{name} has an encrypted volume, which HyperPod does not take",
            "make it again from an unencrypted snapshot; `root_volume_key` encrypts the nodes' volumes",
        )
    if for_hyperpod and image.volumes > 1:
        yield _problem(
            image.image_id,
            path,
            f"{name} has {image.volumes} volumes, and HyperPod takes the root volume alone",
            "make it again without the others; `ebs` gives nodes a second volume",
        )


def check_image_age(
    created: date | None,
    features: Collection[ImageFeature],
    *,
    image: str,
    owner: str,
    remedy: str,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return which features an image of that day cannot have; a custom one is never older than HyperPod's below it."""
    return [
        Problem(
            code=CheckCode.IMAGE_AGE,
            path=path,
            message=f"{image} of {owner} is of {created}, and {feature.what} needs one of {feature.since} or later",
            value=str(created),
            allowed=f"{feature.since} or later",
            remedy=remedy,
        )
        for feature in features
        if created is not None and created < feature.since
    ]


def check_image_release(
    release: str, *, there: bool, parameter: str, owner: str, region: str, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem when AWS publishes no such release of the ECS Neuron image in the region."""
    if there:
        return []
    folder = parameter.rpartition("/al2023")[0] or parameter.rpartition("/")[0]
    return [
        Problem(
            code=CheckCode.IMAGE_PARAMETER,
            path=path,
            message=f"the hosts of {owner} start from the release {release} of the ECS Neuron AMI, and AWS publishes "
            f"none of that name in {region}",
            value=parameter,
            remedy=f"write one of `aws ssm get-parameters-by-path --path {folder} --region {region}` as `ami`",
        )
    ]


def _problem(image_id: str, path: tuple[PathPart, ...], message: str, remedy: str) -> Problem:
    return Problem(code=CheckCode.IMAGE_STATE, path=path, message=message, remedy=remedy, value=image_id)


CONFIG = "config.json"


def check_model_in_bucket(
    uri: str, *, files: int, has_config: bool, owner: str, exported: bool, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem when the folder has no model. `exported`: whether the fleet itself puts it there later."""
    if has_config or exported:
        return []
    what = f"no {CONFIG}" if files else "nothing"
    return [
        Problem(
            code=CheckCode.MODEL_MISSING,
            path=path,
            message=f"{owner} serves {uri}, and there is {what} in that folder",
            value=uri,
            allowed=f"a folder with the model's {CONFIG}",
            remedy=f"copy the model there with `aws s3 sync <folder> {uri}`, or name the folder that has its {CONFIG}",
        )
    ]


def check_token_secret(
    arn: str, *, there: bool, deleted: bool, owner: str, region: str, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem when the secret with the Hub's token is not there, or is being deleted."""
    if there and not deleted:
        return []
    state = "is being deleted" if there else "does not exist"
    return [
        Problem(
            code=CheckCode.TOKEN_SECRET,
            path=path,
            message=f"the secret of {owner} with the Hub's token {state}",
            value=arn,
            remedy=f"take it back with `aws secretsmanager restore-secret --secret-id {arn} --region {region}`"
            if there
            else "make one with `aws secretsmanager create-secret --name hugging-face-token --secret-string "
            f"file://token.txt --region {region}`, and write its ARN",
        )
    ]


def check_hub_model(
    model_id: str, *, status: int, with_token: bool, owner: str, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return why the Hub does not hand out a model; `status` is that of HTTP for its config.json."""
    if status < 400 or status >= 500:
        return []
    page = f"https://huggingface.co/{model_id}"
    if status in (401, 403):
        why = "does not hand it to this token" if with_token else "asks for a token"
        remedy = (
            f"accept its licence at {page} with the token's own account, and let the token read gated repositories"
            if with_token
            else f"accept its licence at {page}, put a token into a secret, and write its ARN as `token_secret`; a "
            "name that is misspelt is answered like this too"
        )
        message = f"{owner} serves {model_id}, and the Hugging Face Hub {why}"
    else:
        message = f"{owner} serves {model_id}, and the Hub has no {CONFIG} of that name and revision ({status})"
        remedy = f"see {page}: write the name and revision as they stand there"
    return [Problem(code=CheckCode.GATED, path=path, message=message, remedy=remedy, value=model_id)]
