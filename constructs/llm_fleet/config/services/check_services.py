"""The inference services of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.inference_sight import collector_facts
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.services.in_file import in_file
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.own_bucket import own_bucket
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.config.services.view import ServiceView
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_names import check_tags
from llm_fleet.rules.inference.alarms import check_thresholds
from llm_fleet.rules.inference.check import check_service
from llm_fleet.rules.inference.closed_network import check_pulled_image
from llm_fleet.rules.inference.model_cache import default_cache_gib
from llm_fleet.rules.inference.service import check_grace, check_log_days
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem

_PLACES = ("s3_uri", "bucket", "hub_id", "image_path")
_KEYS = tuple(ServedModelConfig.key_of(attribute) for attribute in _PLACES)


def check_services(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the services of `fleet`, by attribute names."""
    for service in fleet.services.values():
        own = [problem.under("services", service.name) for problem in _check_own(service, fleet)]
        yield from own
        judged = _judged(service, fleet)
        if any(problem.path[2:3] == ("model",) for problem in own):
            judged = [problem for problem in judged if problem.path[:1] != ("model",)]
        yield from (in_file(problem, service) for problem in judged)


def _judged(service: ServiceConfig, fleet: Fleet) -> list[Problem]:
    network = fleet.network
    internet = network.internet if network is not None and network.vpc is None else None
    view = ServiceView(config=service, fleet=fleet)
    problems = [
        *check_service(view, internet=internet, cache_gib=_cache_gib(service.model)),
        *check_pulled_image(
            service.collector_image or collector_facts().image,
            "collector_image",
            region=fleet.region,
            internet=internet,
        ),
    ]
    if service.model.config is not None:  # What is wrong with the file is told of the file.
        problems = [problem for problem in problems if problem.code is not Code.MODEL_SHAPE_UNKNOWN]
    return problems


def _cache_gib(model: ServedModelConfig) -> int | None:
    """Return what each host keeps of the model on its disk; `None` of one that is not in S3."""
    if model.source is not ModelSource.S3:
        return None
    return default_cache_gib(model.shape) if model.cache_gib is None else model.cache_gib


def _check_own(service: ServiceConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has, and with those that are of no part."""
    if fleet.network is None:
        yield Problem(
            code=Code.SERVICE_NETWORK,
            message="a service stands in a network: its load balancer and its hosts have addresses there",
            remedy="write `network: {azs: [<az>, <another>]}` in place of `network: none`",
        )
    yield from (problem.under("model") for problem in _check_model(service.model, fleet))
    yield from check_log_days(service.log_retention_days)
    yield from check_grace(service.health_check_grace_seconds)
    yield from check_tags(service.tags)
    yield from (problem.under("alarms") for problem in check_thresholds(service.alarms))


def _check_model(model: ServedModelConfig, fleet: Fleet) -> Iterator[Problem]:
    written = [attribute for attribute in _PLACES if getattr(model, attribute) is not None]
    if not written:
        yield Problem(
            code=Code.MISSING_KEY,
            message="nobody told where the model is",
            allowed=f"one of {', '.join(_KEYS)}",
            remedy="add it, e.g. `s3: s3://my-models/tanuki-8b`",
        )
        return
    for attribute in written[1:]:
        yield Problem(
            code=Code.CONTRADICTION,
            message=f"the model is in one place, and `{model.key_of(written[0])}` names another",
            allowed=f"one of {', '.join(_KEYS)}",
            remedy="keep one of them",
            path=(attribute,),
            value=getattr(model, attribute),
        )
    yield from _check_bucket(model, fleet)
    yield from _check_only_in_s3(model)
    if model.own_shape is not None and model.config is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`shape` says how large the model is, and `config` says it too",
            remedy="keep one of them",
            path=("config",),
            value=model.config,
        )
    yield from (replace(problem, path=("config",), value=model.config) for problem in model.unread)


def _check_bucket(model: ServedModelConfig, fleet: Fleet) -> Iterator[Problem]:
    names = list(fleet.storage.buckets)
    if model.bucket is not None and model.bucket not in names:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message=f"there is no bucket {model.bucket!r} under `storage.buckets`",
            remedy=did_you_mean(model.bucket, names, otherwise="add it there, or write `s3: s3://<bucket>/<folder>`"),
            path=("bucket",),
            value=model.bucket,
            allowed=", ".join(names),
        )
    if model.prefix is not None and model.bucket is None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`prefix` is a folder of `bucket`, which is not told",
            remedy="write the folder at the end of `s3`, or name the `bucket`",
            path=("prefix",),
            value=model.prefix,
        )
    if model.kms_key_arn is not None and own_bucket(model, fleet) is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="the bucket is the fleet's own, which knows its key",
            remedy="remove `key`",
            path=("kms_key_arn",),
            value=model.kms_key_arn,
        )


def _check_only_in_s3(model: ServedModelConfig) -> Iterator[Problem]:
    if model.source is ModelSource.S3:
        return
    for attribute in ("kms_key_arn", "cache_gib"):
        if getattr(model, attribute) is not None:
            yield Problem(
                code=Code.CONTRADICTION,
                message=f"`{model.key_of(attribute)}` is of a model in S3, and this one is not",
                remedy="remove it",
                path=(attribute,),
                value=getattr(model, attribute),
            )
