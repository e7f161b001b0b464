"""Rules of a model: its location, the keys for each kind of location, its size, and what a server requires of it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import NeuronInstance, host_facts
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.rules.buckets import bucket_and_prefix, check_bucket_name, check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import host_bytes
from llm_fleet.rules.inference.server import cores_of
from llm_fleet.rules.problem import Problem, is_unresolved, rule, under
from llm_fleet.rules.values import check_number
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.model_shape import S3_SCHEME, Model, ModelShape, ModelSource
from llm_fleet.spec.spec import Spec

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_HUB_ID_LENGTH = 96
_PATH = re.compile(r"(/[\w.-]+)+/?")
_REVISION = re.compile(r"[\w][\w./-]*")
_SECRET = re.compile(r"arn:aws[\w-]*:secretsmanager:[\w-]+:\d{12}:secret:\S+")
_NAME = re.compile(r"[\w][\w./:@+-]{0,127}")
_OBJECT_URL = re.compile(r"https?://(?:s3[.-][\w.-]+/(?P<path>.+)|(?P<host>[^/]+?)\.s3[.-][\w.-]+/(?P<key>.*))")
_ARN = re.compile(r"arn:aws[\w-]*:s3:::(?P<path>.+)")


_PLACES = ("s3_uri", "bucket", "hub_id", "image_path")


def check_place(model: Model) -> list[Problem]:
    """Return what is wrong with the keys of the location of `model`, and with keys for one kind of location only.

    When it returns problems, the other rules of the model must not run.
    """
    nowhere = all(getattr(model, attribute) is None for attribute in _PLACES)
    of_place = check_one_place(model, _PLACES, remedy="add it, e.g. s3_uri='s3://my-models/tanuki-8b'")
    return of_place if nowhere else [*of_place, *_prefix(model), *_mounted(model)]


@rule
def check_one_place(model: Spec, attributes: Sequence[str], *, remedy: str, in_file: bool = False) -> Iterator[Problem]:
    """Return a problem unless one of `attributes` is the location of `model`; `in_file`: with the file's keys."""
    names = {attribute: model.key_of(attribute) if in_file else attribute for attribute in attributes}
    allowed = f"one of {', '.join(names.values())}"
    written = [attribute for attribute in attributes if getattr(model, attribute) is not None]
    if not written:
        yield Problem(
            code=Code.MISSING_KEY, message="the location of the model is required", allowed=allowed, remedy=remedy
        )
    for attribute in written[1:]:
        yield model.wrong(
            attribute,
            Code.CONTRADICTION,
            f"set only one of `{names[written[0]]}` and `{names[attribute]}`",
            "remove one of them",
            allowed=allowed,
        )


def check_model(model: Model) -> list[Problem]:
    """Return what is wrong with `model` by itself, at paths such as `("s3_uri",)`; call `check_place` first."""
    place = {ModelSource.S3: _in_s3, ModelSource.HUB: _on_hub, ModelSource.IMAGE: _in_image}[model.source]
    # In an S3 URI, only the bucket may be a CDK token: the name of a bucket of the same app.
    unknown = model.source is not ModelSource.S3 and is_unresolved(model.location)
    found = () if unknown else place(model.location)
    of_place = [replace(problem, path=model.place, value=model.place_value) for problem in found]
    return [
        *of_place,
        *_revision(model),
        *_token(model),
        *_served_name(model),
        # A known size depends on the end of the location: for a wrong location it is not checked.
        *([] if of_place and model.size is None else _shape(model)),
    ]


def _in_s3(location: str) -> Iterator[Problem]:
    if is_unresolved(location) and not str(location).startswith(S3_SCHEME):
        return
    if not location.startswith(S3_SCHEME):
        yield Problem(
            code=Code.MODEL_PLACE,
            message="the model's location in S3 must be an s3:// URI",
            remedy=_instead(location),
            allowed="s3://bucket/prefix",
        )
        return
    bucket, prefix = bucket_and_prefix(location)
    found = [*check_bucket_name(bucket), *(check_key_prefix(prefix, Code.MODEL_PLACE) if prefix else ())]
    for problem in found:
        yield Problem(
            code=Code.MODEL_PLACE,
            message=problem.message,
            remedy="write s3://bucket/prefix, the folder that contains the model's config.json",
            allowed=problem.allowed,
        )
    yield from _long(location, prefix)


def _long(location: str, prefix: str) -> Iterator[Problem]:
    size, room = len(json.dumps(prefix, ensure_ascii=False).encode(errors="surrogatepass")) - 2, host_facts()
    if is_unresolved(prefix) or size <= room.model_prefix_bytes:
        return
    yield Problem(
        code=Code.MODEL_PLACE,
        message=f"the prefix has {size} bytes, which is too long for the hosts' user data: EC2 allows "
        f"{room.user_data_bytes} bytes in total",
        remedy="move the model to a shorter prefix",
        allowed=f"up to {room.model_prefix_bytes} bytes, in UTF-8 and escaped as in JSON",
    )


def _instead(location: str) -> str:
    """Return the remedy for a location that is not an s3:// URI: the probable URI, if it can be derived."""
    if url := _OBJECT_URL.fullmatch(location):
        return f"write `{S3_SCHEME}{url['path'] or url['host'] + '/' + url['key']}`".replace("/`", "`")
    if arn := _ARN.fullmatch(location):
        return f"write `{S3_SCHEME}{arn['path'].removesuffix('/*')}`"
    if location.startswith("/"):
        return "write s3://bucket/prefix, or write a folder in the image as a model in the image"
    if _HUB_ID.fullmatch(location) and "/" in location:
        return f"write `s3://{location}` for a bucket of this name, or write a model of the Hub as a model on the Hub"
    return "write s3://bucket/prefix, the folder that contains the model's config.json"


def _on_hub(location: str) -> Iterator[Problem]:
    if _HUB_ID.fullmatch(location) and len(location) <= _HUB_ID_LENGTH and ".." not in location:
        return
    address = location.removeprefix("https://huggingface.co/").strip("/")
    meant = "/".join(address.split("/")[:2])
    is_page = location.startswith("https://") and _HUB_ID.fullmatch(meant)
    yield Problem(
        code=Code.MODEL_HUB_ID,
        message="this is not the id of a model on the Hugging Face Hub",
        remedy=f"write `{meant}`" if is_page else "write owner/name, as the model's page on huggingface.co shows it",
        allowed="owner/name",
    )


def _in_image(location: str) -> Iterator[Problem]:
    if _PATH.fullmatch(location) and not {".", ".."} & set(location.split("/")):
        return
    yield Problem(
        code=Code.MODEL_IMAGE_PATH,
        message="this is not an absolute path of a folder in the image",
        remedy="write the folder that contains the model's config.json, e.g. /opt/model",
    )


def _revision(model: Model) -> Iterator[Problem]:
    revision = model.revision
    if revision is None or is_unresolved(revision):
        return
    if model.source is not ModelSource.HUB:
        yield model.wrong(
            "revision",
            Code.MODEL_REVISION,
            "`revision` has no effect: only a model on the Hugging Face Hub has revisions",
            "remove `revision`; in S3, use a different prefix for each revision",
        )
    elif not _REVISION.fullmatch(revision):
        yield model.wrong(
            "revision",
            Code.MODEL_REVISION,
            "this is not a branch, tag or commit",
            "write a commit, so that the served model does not change",
        )


def _token(model: Model) -> Iterator[Problem]:
    arn = model.token_secret_arn
    if arn is None or is_unresolved(arn):
        return
    if model.source is not ModelSource.HUB:
        yield model.wrong(
            "token_secret_arn",
            Code.MODEL_TOKEN,
            "the token has no effect: only a model on the Hugging Face Hub needs one",
            "remove `token_secret_arn`",
            value=None,
        )
    elif not _SECRET.fullmatch(arn):
        # The value may be the token itself, so it is not shown.
        yield model.wrong(
            "token_secret_arn",
            Code.MODEL_TOKEN,
            "this is not the ARN of a Secrets Manager secret",
            "store the token as the plain text of a secret, and write the secret's ARN",
            allowed="arn:aws:secretsmanager:<region>:<account>:secret:<name>",
            value=None,
        )


def _served_name(model: Model) -> Iterator[Problem]:
    name = model.served_name
    if name is not None and not is_unresolved(name) and not _NAME.fullmatch(name):
        yield model.wrong(
            "served_name",
            Code.MODEL_NAME,
            "this is not a valid name for clients' `model` parameter",
            "write a short name, e.g. tanuki-8b, or remove it to use the name of the service",
            allowed="1 to 128 letters, digits and . _ - / : @ +",
        )


def _shape(model: Model) -> Iterator[Problem]:
    if model.size is not None:
        yield from under(check_shape(model.size), "shape")
        return
    yield model.wrong(
        "shape",
        Code.MODEL_SHAPE_UNKNOWN,
        "the size of the model is unknown, so llm-fleet cannot check whether it fits",
        "set `shape`: the path of the model's config.json on this machine, or its numbers",
        allowed="a location that ends in the name of a known model needs no `shape`, e.g. s3://bucket/tanuki-8b",
        value=model.location,
    )


_KEY = re.compile(r"arn:aws[\w-]*:kms:[\w-]+:\d{12}:key/[\w-]+")


def _prefix(model: Model) -> Iterator[Problem]:
    if model.prefix is not None and model.bucket is None:
        yield model.wrong(
            "prefix",
            Code.CONTRADICTION,
            "`prefix` requires `bucket`",
            "write the prefix at the end of `s3_uri`, or set `bucket`",
        )


def _mounted(model: Model) -> Iterator[Problem]:
    """Return what is wrong with the KMS keys of bucket and token, and with the cache on hosts."""
    in_s3, on_hub = model.source is ModelSource.S3, model.source is ModelSource.HUB
    yield from check_key(model.key_arn, "key_arn", used=in_s3, owner="a bucket")
    yield from _cache(model)
    yield from check_key(model.token_key_arn, "token_key_arn", used=on_hub, owner="the secret of the Hub's token")


def check_key(arn: str | None, path: str, *, used: bool, owner: str) -> Iterator[Problem]:
    """Return a problem at `path` when `arn` is not the ARN of a key, or has no effect (not `used`)."""
    if arn is None or is_unresolved(arn) or (used and _KEY.fullmatch(arn)):
        return
    yield Problem(
        code=Code.MODEL_KEY,
        message="this is not the ARN of a KMS key" if used else f"`{path}` has no effect: it is the key of {owner}",
        remedy="write the ARN of the key itself; IAM policies do not support aliases" if used else f"remove `{path}`",
        path=(path,),
        value=arn,
        allowed="arn:aws:kms:<region>:<account>:key/<id>" if used else "",
    )


def _cache(model: Model) -> Iterator[Problem]:
    size = model.cache_gib
    if size is not None and not is_unresolved(size) and model.source is not ModelSource.S3:
        yield model.wrong(
            "cache_gib", Code.MODEL_CACHE, "the cache has no effect: only a model in S3 is cached", "remove `cache_gib`"
        )
        return
    remedy = "write 0 for no cache, or remove it for a cache of the model's size"
    yield from check_number(size, Limit(minimum=0), Code.MODEL_CACHE, "cache_gib", what="the cache", remedy=remedy)


@rule
def check_compiled(server: ModelServer, model: Model) -> Iterator[Problem]:
    """Return a problem when `model` is a plain checkpoint and `server` cannot compile it; paths are those of the model.

    TGI looks for compiled code in the Hub's public cache and exits when there is none (`fetch_model` in
    text-generation-inference's backends/neuron/server/text_generation_server/model.py), and so does Hugging Face's vLLM
    by default (optimum-neuron's vllm/model_loader.py). For a model that is not on the Hub there is
    none. For a model on the Hub it is unknown at synth. AWS's images compile models that are not in the cache.
    """
    if model.is_compiled or model.source is ModelSource.HUB or not _needs_the_cache(server):
        return
    vllm = server.kind is ServerKind.HUGGING_FACE_VLLM
    allow = ", or let the server compile it at each start: allow_non_cached_model=True" if vllm else ""
    yield model.wrong(
        "compiled",
        Code.MODEL_NOT_COMPILED,
        f"{server.kind} does not compile models, and this model is not exported for Neuron",
        f"export it first with ModelExport, and remove `compiled`{allow}",
        value=False,
    )


def _needs_the_cache(server: ModelServer) -> bool:
    if server.kind is ServerKind.HUGGING_FACE_VLLM:
        return not server.settings.get("allow_non_cached_model")
    return server.kind is ServerKind.TGI


_OPTIMUM = (ServerKind.TGI, ServerKind.HUGGING_FACE_VLLM)
"""Servers that load models exported by optimum-neuron."""
_CAST_TYPE = "bf16"
"""The usual data type of published models."""


def requested_of_model(server: ModelServer, model: Model, instance: NeuronInstance) -> Mapping[str, Any]:
    """Return what `server` on `instance` requires of `model`, as the argument of `findings` in the model's check.

    The compiler in the user's own image is unknown, and not compared.
    """
    return {
        "compiled": model.is_compiled,
        "target": instance.target,
        "tensor_parallel": cores_of(server, instance),
        "batch_size": server.batch_size,
        "sequence_length": server.sequence_length,
        "compiler": model_servers()[server.kind].compiler if server.image is None else None,
        "layout": "optimum" if server.kind in _OPTIMUM else "other",
        "dtype": cast_type(server) if server.kind is ServerKind.TGI else None,
        "shards_needed": _shards_needed(model.size, instance),
    }


def cast_type(server: ModelServer) -> str:
    """Return the data type to which TGI casts weights. Default: `bf16`."""
    return str(server.settings.get("cast_type") or _CAST_TYPE)


def _shards_needed(shape: ModelShape | None, instance: NeuronInstance) -> bool:
    """Return whether the host memory is too small for the whole checkpoint, which is loaded when it has no shards."""
    return shape is not None and host_bytes(shape, compiled=False) > task_memory_mib(instance) * 1024**2


def check_shape(shape: ModelShape) -> list[Problem]:
    """Return a problem for each impossible number."""
    names = ("parameters", "layers", "attention_heads", "kv_heads", "head_dim", "bytes_per_parameter")
    return check_shape_numbers(shape, names) or list(_heads(shape))


@rule
def check_shape_numbers(shape: ModelShape, names: Sequence[str]) -> Iterator[Problem]:
    """Return a problem for each of the numbers `names` of `shape` that is below 1."""
    for name in names:
        what = name.replace("_", " ")
        yield from check_number(getattr(shape, name), Limit(minimum=1), Code.MODEL_SHAPE, name, what=what)


def _heads(shape: ModelShape) -> Iterator[Problem]:
    heads, kv_heads = shape.attention_heads, shape.kv_heads
    if is_unresolved(heads) or is_unresolved(kv_heads) or heads % kv_heads == 0:
        return
    yield shape.wrong(
        "kv_heads",
        Code.MODEL_SHAPE,
        f"`kv_heads` must divide the number of attention heads, {heads}",
        "write num_attention_heads and num_key_value_heads from the model's config.json",
        allowed=f"a divisor of {heads}",
    )
