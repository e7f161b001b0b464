"""A valid endpoint, to which tests of rules add mistakes."""

from typing import Any

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint import check_endpoint
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.endpoint import EndpointModel, EndpointSpec

FILES = EndpointModel(s3_uri="s3://my-models/gpt-j/")
TARBALL = EndpointModel(tarball_uri="s3://my-models/gpt-j/model.tar.gz")
INF2 = "ml.inf2.xlarge"
OWN = "123456789012.dkr.ecr.us-west-2.amazonaws.com/mine:1"


def endpoint(**changes: Any) -> EndpointSpec:
    """Return the valid endpoint with these changes."""
    good: dict[str, Any] = {
        "name": "gpt-j",
        "model": EndpointModel.from_hub("EleutherAI/gpt-j-6b"),
        "instance_type": "ml.g4dn.xlarge",
    }
    return EndpointSpec(**{**good, **changes})


def problems(
    internet: InternetAccess | None = None,
    *,
    in_network: bool = False,
    region: str | None = "us-west-2",
    has_topic: bool = False,
    **changes: Any,
) -> list[Problem]:
    """Return the problems of the endpoint with these changes; the valid endpoint has none."""
    return check_endpoint(
        endpoint(**changes), region=region, internet=internet, in_network=in_network, has_topic=has_topic
    )


def only(**changes: Any) -> Problem:
    """Return the only problem of the endpoint with these changes."""
    (problem,) = problems(**changes)
    return problem
