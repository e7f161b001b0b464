"""What goes on around an endpoint: capture, scaling, lifetime, budget and alarms, and how they fit each other."""

from collections.abc import Sequence

from llm_fleet.catalog.endpoint import (
    budget_facts,
    capture_facts,
    endpoint_scaling_facts,
    time_to_live_facts,
)
from llm_fleet.rules.buckets import check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.downloads_lock import split_s3_uri
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_rollout import check_rollout, check_rollout_of
from llm_fleet.rules.tokens import is_list_token, is_unresolved
from llm_fleet.rules.values import check_emails, check_number, check_positive
from llm_fleet.spec.endpoint import EndpointSpec
from llm_fleet.spec.endpoint_operations import (
    DataCapture,
    EndpointAlarms,
    EndpointBudget,
    EndpointScaling,
)


def check_endpoint_operations(endpoint: EndpointSpec, *, has_topic: bool) -> list[Problem]:
    """Return what is wrong with the operations of `endpoint`: each by itself, then how they fit.

    Numbers that are outside the range of their field are reported by `check_fields`.
    """
    parts = [
        *_under("data_capture", check_data_capture(endpoint.data_capture) if endpoint.data_capture else []),
        *_under("scaling", check_scaling(endpoint.scaling) if endpoint.scaling else []),
        *_under("rollout", check_rollout(endpoint.rollout)),
        *check_time_to_live(endpoint.time_to_live_seconds),
        *_under("budget", check_budget(endpoint.budget) if endpoint.budget else []),
        *_under("alarms", check_thresholds(endpoint.alarms)),
    ]
    wrong = {problem.path[0] for problem in [*parts, *check_fields(endpoint)]}
    return [*parts, *(problem for problem in _check_fit(endpoint, has_topic) if problem.path[0] not in wrong)]


def _under(part: str, problems: list[Problem]) -> list[Problem]:
    return [problem.under(part) for problem in problems]


def _check_fit(endpoint: EndpointSpec, has_topic: bool) -> list[Problem]:
    """Return where one part does not fit another, or the endpoint."""
    scaling, budget = endpoint.scaling, endpoint.budget
    of_rollout = check_rollout_of(
        endpoint.rollout, instance_type=endpoint.instance_type, instance_count=endpoint.least_instance_count
    )
    return [
        *_under("scaling", _check_scaled_count(scaling, endpoint.instance_count) if scaling else []),
        *_under("rollout", of_rollout),
        *_under("budget", _check_budget_readers(budget, has_topic=has_topic) if budget else []),
    ]


def check_thresholds(alarms: EndpointAlarms) -> list[Problem]:
    """Return a problem for each threshold at which an alarm would always ring, or never."""
    code = SageMakerCode.ENDPOINT_ALARM
    remedy = "write a number above 0, or leave it out"
    percent, seconds = alarms.server_error_percent, alarms.model_latency_seconds
    return [
        *check_positive(percent, code, "server_error_percent", what="the share of errors", remedy=remedy, most=100),
        *check_positive(seconds, code, "model_latency_ms", what="the latency", remedy=remedy),
    ]


_WHERE = "s3://<bucket>/<prefix>"


def check_data_capture(capture: DataCapture) -> list[Problem]:
    """Return what is wrong with `capture`, by its attributes."""
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


def _check_sides(capture: DataCapture) -> list[Problem]:
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


_TARGETS = {"concurrent_requests": "requests at a time", "invocations_per_minute": "requests in a minute"}


def check_scaling(scaling: EndpointScaling) -> list[Problem]:
    """Return what is wrong with `scaling` by itself, by its attributes."""
    counts = _check_counts(scaling)
    return [*(counts or _check_order(scaling)), *_check_targets(scaling)]


def _check_scaled_count(scaling: EndpointScaling, instance_count: int) -> list[Problem]:
    """Return a problem when an endpoint would begin with more instances than there may be."""
    if _is_above(instance_count, scaling.maximum):
        return [
            Problem(
                code=SageMakerCode.ENDPOINT_SCALING,
                path=("maximum",),
                value=scaling.maximum,
                message=f"the endpoint begins with {instance_count} instances, and may have {scaling.maximum} at most",
                allowed=f"{instance_count} or more",
                remedy="raise the maximum, or begin with fewer instances",
            )
        ]
    return []


def _check_counts(scaling: EndpointScaling) -> list[Problem]:
    limit = endpoint_scaling_facts().instances
    zero = (
        "write 1 or more: SageMaker scales to 0 only the inference components of an endpoint, which this one has not; "
        "a time to live ends the cost"
    )
    return [
        problem
        for attribute, what in (
            ("maximum", "the greatest number of instances"),
            ("minimum", "the least number of instances"),
        )
        for problem in check_number(
            getattr(scaling, attribute), limit, SageMakerCode.ENDPOINT_SCALING, attribute, what=what, remedy=zero
        )
    ]


def _check_order(scaling: EndpointScaling) -> list[Problem]:
    if not _is_above(scaling.minimum, scaling.maximum):
        return []
    return [
        Problem(
            code=SageMakerCode.ENDPOINT_SCALING,
            path=("minimum",),
            value=scaling.minimum,
            message=f"the minimum is above the maximum, {scaling.maximum}",
            allowed=f"up to {scaling.maximum}",
            remedy="write a smaller minimum, or raise the maximum",
        )
    ]


def _is_above(left: int | None, right: int | None) -> bool:
    """Return whether both are known numbers and `left` is the greater."""
    if type(left) is not int or type(right) is not int or is_unresolved(left) or is_unresolved(right):
        return False
    return left > right


def _check_targets(scaling: EndpointScaling) -> list[Problem]:
    wrong = [
        problem
        for attribute, what in _TARGETS.items()
        for problem in check_positive(
            getattr(scaling, attribute),
            SageMakerCode.ENDPOINT_SCALING_TARGET,
            attribute,
            what=f"the target of {what}",
            remedy="write what one instance can take, or leave it out",
        )
    ]
    if wrong or scaling.concurrent_requests is None or scaling.invocations_per_minute is None:
        return wrong
    return [
        Problem(
            code=Code.CONTRADICTION,
            path=("invocations_per_minute",),
            value=scaling.invocations_per_minute,
            message="requests at a time and requests in a minute both have a target, and one of them is followed",
            remedy="keep `concurrent_requests`, which knows how long answers take, or `invocations_per_minute` alone",
        )
    ]


def check_time_to_live(seconds: int | None) -> list[Problem]:
    """Return a problem unless an endpoint can live for `seconds`; `None` is for ever."""
    facts = time_to_live_facts()
    least, most = facts.seconds.minimum or 0, facts.seconds.maximum or 0
    return [
        Problem(
            code=problem.code,
            path=problem.path,
            value=problem.value,
            message=problem.message
            if type(seconds) is not int or seconds > 0
            else "a time to live of nothing deletes the endpoint as soon as it is there",
            allowed=f"{least // 60} minutes to {most // 86400} days",
            remedy=f"write {most // 86400} days at most, or leave it out for an endpoint that stays"
            if type(seconds) is int and seconds > most
            else f"write {least // 60} minutes or more: that is how often it is looked; leave it out for an endpoint "
            "that stays",
        )
        for problem in check_number(
            seconds,
            facts.seconds,
            SageMakerCode.TIME_TO_LIVE,
            "time_to_live_seconds",
            what="the time to live, in seconds,",
        )
    ]


def check_budget(budget: EndpointBudget) -> list[Problem]:
    """Return what is wrong with `budget` by itself, by its attributes."""
    return [
        *check_positive(
            budget.monthly_usd,
            SageMakerCode.BUDGET_AMOUNT,
            "monthly_usd",
            what="the budget of a month",
            remedy="write US dollars, or leave the budget out",
        ),
        *_check_thresholds(budget),
        *_check_emails(budget.emails),
    ]


def _check_budget_readers(budget: EndpointBudget, *, has_topic: bool) -> list[Problem]:
    """Return a problem when nobody would be told."""
    if has_topic or len(budget.emails):
        return []
    return [
        Problem(
            code=SageMakerCode.BUDGET_READERS,
            path=("emails",),
            message="nobody would be told of this budget: it has no e-mail address, and the endpoint no topic",
            remedy="write an e-mail address, or give the endpoint a topic for its alarms",
        )
    ]


def _check_thresholds(budget: EndpointBudget) -> list[Problem]:
    told = budget.at_percent
    if is_list_token(told):
        return []
    wrong = [
        problem
        for index, value in enumerate(told)
        for problem in check_positive(
            value,
            SageMakerCode.BUDGET_THRESHOLD,
            what="the share of the budget at which it tells",
            remedy="write a percentage above 0; 100 is the whole budget",
        )
        for problem in [problem.under("at_percent", index)]
    ]
    return wrong or _check_number_of_thresholds(budget)


def _check_number_of_thresholds(budget: EndpointBudget) -> list[Problem]:
    limit = budget_facts().notifications
    told = list(budget.at_percent)
    room = (limit.maximum or 0) - int(bool(budget.forecast))
    if len(set(told)) == len(told) and 0 < len(told) <= room:
        return []
    twice = len(set(told)) != len(told)
    return [
        Problem(
            code=SageMakerCode.BUDGET_THRESHOLD,
            path=("at_percent",),
            value=told,
            message="a share is there twice"
            if twice
            else f"a budget tells at 1 to {room} shares, and here are {len(told)}",
            allowed=f"1 to {room} different shares",
            remedy="write each share once, e.g. 80 and 100",
        )
    ]


def _check_emails(emails: Sequence[str]) -> list[Problem]:
    if is_list_token(emails):
        return []
    wrong = check_emails(emails, SageMakerCode.BUDGET_READERS, "emails")
    most = budget_facts().emails.maximum or 0
    if len(emails) <= most:
        return wrong
    return [
        *wrong,
        Problem(
            code=SageMakerCode.BUDGET_READERS,
            path=("emails",),
            value=list(emails),
            message=f"a budget has {most} e-mail addresses at most, and here are {len(emails)}",
            allowed=f"up to {most}",
            remedy="write the address of a list, or use a topic",
        ),
    ]
