"""What of an endpoint's requests and answers is kept, and where."""

from typing import Protocol

from llm_fleet.catalog.endpoint_operations import capture_facts
from llm_fleet.rules.key_prefix import check_key_prefix
from llm_fleet.rules.mirror_layout import split_s3_uri
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved

_WHERE = "s3://<bucket>/<prefix>"


class DataCaptureLike(Protocol):
    """What is kept (`DataCapture`)."""

    @property
    def percent(self) -> int:
        """Of a hundred requests, how many are kept."""
        ...

    @property
    def inputs(self) -> bool:
        """Whether requests are kept."""
        ...

    @property
    def outputs(self) -> bool:
        """Whether answers are kept."""
        ...

    @property
    def uri(self) -> str | None:
        """Where they are kept."""
        ...


def check_data_capture(capture: DataCaptureLike) -> list[Problem]:
    """Return what is wrong with `capture`, by the attributes of `DataCaptureLike`."""
    facts = capture_facts()
    return [
        *check_number(
            capture.percent,
            facts.percent,
            SageMakerCode.CAPTURE_PERCENT,
            "percent",
            what="the share of requests that is kept",
            remedy=f"write {facts.percent.range}, or leave the capture out to keep nothing",
        ),
        *_check_sides(capture),
        *_check_place(capture.uri),
    ]


def _check_sides(capture: DataCaptureLike) -> list[Problem]:
    if capture.inputs or capture.outputs:
        return []
    return [
        Problem(
            code=SageMakerCode.CAPTURE_NOTHING,
            path=("inputs",),
            value=capture.inputs,
            message="neither requests nor answers are kept",
            remedy="keep one of them, or leave the capture out",
        )
    ]


def _check_place(uri: str | None) -> list[Problem]:
    """SageMaker adds endpoint, variant and time itself; the prefix goes into the role's policy, so it has no `*`."""
    if uri is None or is_unresolved(uri):
        return []
    place = split_s3_uri(uri) if type(uri) is str else None
    limit = capture_facts().uri
    if place is None or not limit.holds(len(uri)):
        return [
            Problem(
                code=SageMakerCode.CAPTURE_PLACE,
                path=("uri",),
                value=uri,
                message="what is captured goes to S3, and this is no address there",
                allowed=f"{_WHERE}, {limit.range} characters",
                remedy=f"write {_WHERE}, or leave it out for a bucket of the endpoint's own",
            )
        ]
    found = check_key_prefix(place[1] or None, SageMakerCode.CAPTURE_PLACE)
    return [
        Problem(
            code=one.code,
            path=("uri",),
            value=uri,
            message=one.message,
            allowed=_WHERE,
            remedy=f"write s3://{place[0]}/captured",
        )
        for one in found
    ]
