"""Endpoints of a fleet file, judged by the rules that judge the construct."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import network_of_services
from llm_fleet.config.sagemaker.endpoint import EndpointConfig, FleetEndpointModel
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_roles import check_tags
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint import check_endpoint
from llm_fleet.rules.sagemaker.endpoint_model import PLACES, check_one_place

_ATTRIBUTES = {
    attribute: model.key_of(attribute)
    for model in (EndpointConfig, FleetEndpointModel)
    for attribute in model.model_fields
    if "_" in attribute and model.key_of(attribute) != attribute
}
_WORD = re.compile(rf"\b({'|'.join(sorted(_ATTRIBUTES, key=len, reverse=True))})\b")


def check_endpoints(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with endpoints of `fleet`, by attribute names."""
    for name, endpoint in fleet.endpoints.items():
        of_place = [*_check_place(endpoint.model, fleet)]
        judged = _judged(endpoint, fleet)
        if of_place:  # Of a place that is none nothing else is known.
            judged = [problem for problem in judged if problem.path[:1] != ("model",)]
        found = [
            *(problem.under("model") for problem in of_place),
            *(_in_file(problem, endpoint) for problem in judged),
            *_check_network(endpoint, fleet),
            *check_tags(endpoint.tags),
        ]
        yield from (problem.under("endpoints", name) for problem in found)


def _judged(endpoint: EndpointConfig, fleet: Fleet) -> list[Problem]:
    network = fleet.network
    return check_endpoint(
        endpoint.in_fleet(fleet.name),
        region=fleet.region,
        # Of a network that exists already, the file does not say how it leads out.
        internet=fleet.way_out,
        in_network=endpoint.stands_in_network(fleet_has_one=network is not None),
        has_topic=endpoint.alarms.topic_arn is not None,
    )


def _in_file(problem: Problem, endpoint: EndpointConfig) -> Problem:
    """Return `problem` where the user wrote what it is about, and in the file's words."""
    path = () if problem.path == ("name",) else problem.path
    if endpoint.model.bucket is not None and path in (("model", "s3_uri"), ("model", "tarball_uri")):
        path = ("model", "key")
    return replace(problem, path=path, message=_translated(problem.message), remedy=_translated(problem.remedy))


def _translated(text: str) -> str:
    return _WORD.sub(lambda found: f"`{_ATTRIBUTES[found[0]]}`", text)


def _check_network(endpoint: EndpointConfig, fleet: Fleet) -> Iterator[Problem]:
    if endpoint.in_network is True and fleet.network is None:
        yield Problem(
            code=SageMakerCode.NETWORK_NEEDED,
            path=("in_network",),
            message="the endpoint is to stand in the fleet's network, and the fleet has none",
            value=True,
            remedy=f"write `network: {network_of_services(fleet.region)}` at the top, or leave it out here",
        )


def _check_place(model: FleetEndpointModel, fleet: Fleet) -> Iterator[Problem]:
    places = check_one_place(model, (*PLACES, "bucket"), in_file=True)
    yield from places
    if places and places[0].code is Code.MISSING_KEY:
        return
    names = list(fleet.storage.buckets)
    if model.bucket is not None and model.bucket not in names:
        yield Problem(
            code=Code.UNKNOWN_REFERENCE,
            message=f"there is no bucket {model.bucket!r} under `storage.buckets`",
            remedy=did_you_mean(model.bucket, names, otherwise="add it there, or write `s3: s3://<bucket>/<folder>/`"),
            path=("bucket",),
            value=model.bucket,
            allowed=", ".join(names),
        )
    if (model.key is None) != (model.bucket is None):
        yield Problem(
            code=Code.CONTRADICTION,
            message="`key` is a folder or an archive in `bucket`, and one is told without the other",
            remedy="write both, or the whole address after `s3` or `tarball`",
            path=("key",) if model.key is not None else ("bucket",),
            value=model.key or model.bucket,
        )
    if model.key_arn is not None and model.bucket is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="the bucket is the fleet's own, which knows its key",
            remedy="remove `encryption_key`",
            path=("key_arn",),
            value=model.key_arn,
        )
