"""Where the model is, and what goes with which place."""

import json
import re
from collections.abc import Iterator

from llm_fleet.catalog.neuron import host_facts
from llm_fleet.rules.buckets import check_bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model_shape import check_shape
from llm_fleet.rules.inference.protocols import ModelLike
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.key_prefix import check_key_prefix
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

S3_SCHEME = "s3://"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_HUB_ID_LENGTH = 96
_PATH = re.compile(r"(/[\w.-]+)+/?")
_REVISION = re.compile(r"[\w][\w./-]*")
_SECRET = re.compile(r"arn:aws[\w-]*:secretsmanager:[\w-]+:\d{12}:secret:\S+")
_NAME = re.compile(r"[\w][\w./:@+-]{0,127}")
_OBJECT_URL = re.compile(r"https?://(?:s3[.-][\w.-]+/(?P<path>.+)|(?P<host>[^/]+?)\.s3[.-][\w.-]+/(?P<key>.*))")
_ARN = re.compile(r"arn:aws[\w-]*:s3:::(?P<path>.+)")


def check_model(model: ModelLike) -> list[Problem]:
    """Return what is wrong with `model` by itself, at paths such as `("location",)`."""
    place = {ModelSource.S3: _in_s3, ModelSource.HUB: _on_hub, ModelSource.IMAGE: _in_image}[model.source]
    # Of an address in S3 the bucket alone may be unknown: that of a bucket of the same app.
    unknown = model.source is not ModelSource.S3 and is_unresolved(model.location)
    of_place = [] if unknown else list(place(model.location))
    return [
        *of_place,
        *_revision(model),
        *_token(model),
        *_served_name(model),
        # The size is known by the end of the address: of a wrong one nobody asks for it.
        *([] if of_place and model.shape is None else _shape(model)),
    ]


def bucket_and_prefix(location: str) -> tuple[str, str]:
    """Return bucket and prefix of `s3://bucket/prefix`, without slashes at the prefix's ends."""
    bucket, _, prefix = location.removeprefix(S3_SCHEME).partition("/")
    return bucket, prefix.strip("/")


def _in_s3(location: str) -> Iterator[Problem]:
    if is_unresolved(location) and not str(location).startswith(S3_SCHEME):
        return
    if not location.startswith(S3_SCHEME):
        yield Problem(
            code=Code.MODEL_PLACE,
            message="the model's place in S3 is no s3:// address",
            remedy=_instead(location),
            path=("location",),
            value=location,
            allowed="s3://bucket/prefix",
        )
        return
    bucket, prefix = bucket_and_prefix(location)
    found = [*check_bucket_name(bucket), *(check_key_prefix(prefix, Code.MODEL_PLACE) if prefix else ())]
    for problem in found:
        yield Problem(
            code=Code.MODEL_PLACE,
            message=problem.message,
            remedy="write s3://bucket/prefix, the folder that holds the model's config.json",
            path=("location",),
            value=location,
            allowed=problem.allowed,
        )
    yield from _long(location, prefix)


def _long(location: str, prefix: str) -> Iterator[Problem]:
    size, room = len(json.dumps(prefix, ensure_ascii=False).encode(errors="surrogatepass")) - 2, host_facts()
    if is_unresolved(prefix) or size <= room.model_prefix_bytes:
        return
    yield Problem(
        code=Code.MODEL_PLACE,
        message=f"the prefix takes {size} bytes of the user data that tells hosts of it, of which EC2 takes "
        f"{room.user_data_bytes} in all",
        remedy="put the model under a shorter prefix",
        path=("location",),
        value=location,
        allowed=f"up to {room.model_prefix_bytes} bytes of prefix, in UTF-8 and as JSON writes it",
    )


def _instead(location: str) -> str:
    """Return the remedy for what is no s3:// address: the address that was meant, where it can be told."""
    if url := _OBJECT_URL.fullmatch(location):
        return f"write '{S3_SCHEME}{url['path'] or url['host'] + '/' + url['key']}'".replace("/'", "'")
    if arn := _ARN.fullmatch(location):
        return f"write '{S3_SCHEME}{arn['path'].removesuffix('/*')}'"
    if location.startswith("/"):
        return "write s3://bucket/prefix; a folder of the image is no model in S3, but one in the image"
    if _HUB_ID.fullmatch(location) and "/" in location:
        return (
            f"write 's3://{location}' for a bucket of this name; one of the Hub is no model in S3, but one on the Hub"
        )
    return "write s3://bucket/prefix, the folder that holds the model's config.json"


def _on_hub(location: str) -> Iterator[Problem]:
    if _HUB_ID.fullmatch(location) and len(location) <= _HUB_ID_LENGTH and ".." not in location:
        return
    address = location.removeprefix("https://huggingface.co/").strip("/")
    meant = "/".join(address.split("/")[:2])
    told = location.startswith("https://") and _HUB_ID.fullmatch(meant)
    yield Problem(
        code=Code.MODEL_HUB_ID,
        message="no id of a model on the Hugging Face Hub",
        remedy=f"write {meant!r}" if told else "write owner/name, as the model's page on huggingface.co shows it",
        path=("location",),
        value=location,
        allowed="owner/name",
    )


def _in_image(location: str) -> Iterator[Problem]:
    if _PATH.fullmatch(location) and not {".", ".."} & set(location.split("/")):
        return
    yield Problem(
        code=Code.MODEL_IMAGE_PATH,
        message="no absolute path of a folder in the image",
        remedy="write the folder that holds the model's config.json, e.g. /opt/model",
        path=("location",),
        value=location,
    )


def _revision(model: ModelLike) -> Iterator[Problem]:
    revision = model.revision
    if revision is None or is_unresolved(revision):
        return
    if model.source is not ModelSource.HUB:
        yield Problem(
            code=Code.MODEL_REVISION,
            message="only a model on the Hub has revisions",
            remedy="leave `revision` out; in S3 another prefix is another revision",
            path=("revision",),
            value=revision,
        )
    elif not _REVISION.fullmatch(revision):
        yield Problem(
            code=Code.MODEL_REVISION,
            message="no branch, tag or commit",
            remedy="write a commit, so that what is served stays the same",
            path=("revision",),
            value=revision,
        )


def _token(model: ModelLike) -> Iterator[Problem]:
    arn = model.token_secret_arn
    if arn is None or is_unresolved(arn):
        return
    if model.source is not ModelSource.HUB:
        yield Problem(
            code=Code.MODEL_TOKEN,
            message="nothing is fetched from the Hub, so that no token is used",
            remedy="leave `token_secret_arn` out",
            path=("token_secret_arn",),
        )
    elif not _SECRET.fullmatch(arn):
        # The value may be the token itself: it must not be in a message.
        yield Problem(
            code=Code.MODEL_TOKEN,
            message="this is no ARN of a Secrets Manager secret",
            remedy="put the token into a secret, as its whole text, and write the secret's ARN",
            path=("token_secret_arn",),
            allowed="arn:aws:secretsmanager:<region>:<account>:secret:<name>",
        )


def _served_name(model: ModelLike) -> Iterator[Problem]:
    name = model.served_name
    if name is None or is_unresolved(name) or _NAME.fullmatch(name):
        return
    yield Problem(
        code=Code.MODEL_NAME,
        message="no name that clients can write as `model`",
        remedy="write a short name, e.g. tanuki-8b, or leave it out for the service's own",
        path=("served_name",),
        value=name,
        allowed="1 to 128 letters, digits and . _ - / : @ +",
    )


def _shape(model: ModelLike) -> Iterator[Problem]:
    if model.shape is not None:
        yield from (problem.under("shape") for problem in check_shape(model.shape))
        return
    yield Problem(
        code=Code.MODEL_SHAPE_UNKNOWN,
        message="nobody told how large the model is, so that nobody can tell whether it fits",
        remedy="give its `shape`: the path of its config.json on this machine, or its numbers",
        path=("shape",),
        value=model.location,
        allowed="a folder or id that ends in the name of a known model needs no shape, e.g. s3://bucket/tanuki-8b",
    )
