"""Where an endpoint's model is."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import endpoint_settings, retired_tarball
from llm_fleet.rules.buckets import check_bucket_name
from llm_fleet.rules.key_prefix import check_key_prefix
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_protocols import EndpointModelLike
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointModelSource
from llm_fleet.rules.tokens import is_unresolved

S3_SCHEME = "s3://"
TARBALL_ENDING = ".tar.gz"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_HUB_PAGE = "https://huggingface.co/"
_REVISION = re.compile(r"\w[\w./-]*")


def check_endpoint_model(model: EndpointModelLike) -> list[Problem]:
    """Return what is wrong with `model` by itself, at paths such as `("location",)`."""
    of_place = _on_hub(model.location) if model.source is EndpointModelSource.HUB else _in_s3(model)
    return [*of_place, *_revision(model), *_parameters(model)]


def check_tarball_age(model: EndpointModelLike, *, own_image: bool) -> list[Problem]:
    """Return a problem for an archive that no image of ours can load; `own_image`: one of the user's own may."""
    version = None if own_image or is_unresolved(model.location) else retired_tarball(model.location)
    if version is None:
        return []
    return [
        Problem(
            code=SageMakerCode.ENDPOINT_TARBALL,
            path=("location",),
            message=f"this archive holds a pickled object of transformers {version}, which only the retired image of "
            "that version could load",
            value=model.location,
            remedy="serve the same model from the Hub, EleutherAI/gpt-j-6b at the revision float16, or copy its files "
            "to S3 and name their folder",
        )
    ]


def bucket_and_key(location: str) -> tuple[str, str]:
    """Return bucket and key, or prefix, of `s3://bucket/key`; a prefix without slashes at its ends."""
    bucket, _, key = location.removeprefix(S3_SCHEME).partition("/")
    return bucket, key.strip("/")


def _on_hub(location: str) -> Iterator[Problem]:
    if is_unresolved(location) or _HUB_ID.fullmatch(location):
        return
    address = location.removeprefix(_HUB_PAGE).strip("/")
    if location.startswith(S3_SCHEME):
        remedy = "say that it is in S3: a folder, or a .tar.gz archive"
    elif _HUB_ID.fullmatch(address):
        remedy = f"write {address!r}"
    else:
        remedy = "write owner/name, as the model's page has it above the tabs"
    yield Problem(
        code=SageMakerCode.ENDPOINT_MODEL,
        path=("location",),
        message="this is no id of a model on the Hugging Face Hub",
        value=location,
        allowed="owner/name, e.g. EleutherAI/gpt-j-6b",
        remedy=remedy,
    )


def _in_s3(model: EndpointModelLike) -> Iterator[Problem]:
    location = model.location
    if is_unresolved(location) and not str(location).startswith(S3_SCHEME):
        return
    tarball = model.source is EndpointModelSource.TARBALL
    form = f"s3://bucket/path/model{TARBALL_ENDING}" if tarball else "s3://bucket/prefix/"
    fault = _fault(location, tarball=tarball)
    if fault is not None:
        message, remedy = fault
        yield Problem(
            code=SageMakerCode.ENDPOINT_MODEL,
            path=("location",),
            message=message,
            value=location,
            allowed=form,
            remedy=remedy or f"write {form}",
        )


def _fault(location: str, *, tarball: bool) -> tuple[str, str] | None:
    if not location.startswith(S3_SCHEME):
        return "this is no address in S3", ""
    bucket, key = bucket_and_key(location)
    longest = endpoint_settings().model_address
    if not longest.holds(len(location)):
        return f"the address has {len(location)} characters, and SageMaker takes {longest.maximum}", ""
    for problem in (*check_bucket_name(bucket), *check_key_prefix(key or None, SageMakerCode.ENDPOINT_MODEL)):
        return problem.message, ""
    if is_unresolved(key):
        return None
    if tarball and not key.endswith(TARBALL_ENDING):
        return (
            "SageMaker unpacks gzip-compressed tar archives only, and this does not end like one",
            "pack the files with `tar -czf model.tar.gz -C folder .`, or name the folder of the files as they are",
        )
    if not tarball and key.endswith(TARBALL_ENDING):
        return "this is an archive, not a folder of files", "say that it is a tarball"
    return None


def _revision(model: EndpointModelLike) -> Iterator[Problem]:
    revision = model.revision
    if revision is None or is_unresolved(revision):
        return
    if model.source is not EndpointModelSource.HUB:
        yield Problem(
            code=SageMakerCode.ENDPOINT_MODEL,
            path=("revision",),
            message="only models on the Hub have revisions",
            value=revision,
            remedy="leave it out",
        )
    elif not _REVISION.fullmatch(revision):
        yield Problem(
            code=SageMakerCode.ENDPOINT_MODEL,
            path=("revision",),
            message="this is no branch, tag or commit",
            value=revision,
            remedy="write the name of a branch or tag, or better a commit: it stays the same",
        )


def _parameters(model: EndpointModelLike) -> Iterator[Problem]:
    parameters = model.parameters
    if parameters is None or is_unresolved(parameters) or (type(parameters) is int and parameters > 0):
        return
    yield Problem(
        code=SageMakerCode.ENDPOINT_NUMBER,
        path=("parameters",),
        message="a model has one parameter or more, in whole numbers",
        value=parameters,
        remedy="write the number of its weights, e.g. 6_050_000_000, or leave it out",
    )
