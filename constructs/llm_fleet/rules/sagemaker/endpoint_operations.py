"""What goes on around an endpoint: capture, scaling, lifetime, budget and alarms, and how they fit each other."""

from collections.abc import Iterator
from dataclasses import replace

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
from llm_fleet.rules.problem import Problem, rule, under
from llm_fleet.rules.sagemaker.endpoint_rollout import check_rollout, check_rollout_of
from llm_fleet.rules.tokens import is_list_token, is_unresolved
from llm_fleet.rules.values import check_emails, check_number, check_positive, is_above
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
        *under(check_data_capture(endpoint.data_capture) if endpoint.data_capture else [], "data_capture"),
        *under(check_scaling(endpoint.scaling) if endpoint.scaling else [], "scaling"),
        *under(check_rollout(endpoint.rollout), "rollout"),
        *check_time_to_live(endpoint.time_to_live_seconds),
        *under(check_budget(endpoint.budget) if endpoint.budget else [], "budget"),
        *under(check_thresholds(endpoint.alarms), "alarms"),
    ]
    wrong = {problem.path[0] for problem in [*parts, *check_fields(endpoint)]}
    return [*parts, *(problem for problem in _check_fit(endpoint, has_topic) if problem.path[0] not in wrong)]


def _check_fit(endpoint: EndpointSpec, has_topic: bool) -> list[Problem]:
    """Return where one part does not fit another, or the endpoint."""
    scaling, budget = endpoint.scaling, endpoint.budget
    of_rollout = check_rollout_of(
        endpoint.rollout, instance_type=endpoint.instance_type, instance_count=endpoint.least_instance_count
    )
    return [
        *under(_check_scaled_count(scaling, endpoint.instance_count) if scaling else [], "scaling"),
        *under(of_rollout, "rollout"),
        *under(_check_budget_readers(budget, has_topic=has_topic) if budget else [], "budget"),
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
        *_check_place(capture),
    ]


def _check_sides(capture: DataCapture) -> Iterator[Problem]:
    if not capture.inputs and not capture.outputs:
        yield capture.wrong(
            "inputs",
            SageMakerCode.CAPTURE_NOTHING,
            "neither requests nor answers are kept",
            "keep one of them, or leave the capture out",
        )


def _check_place(capture: DataCapture) -> Iterator[Problem]:
    """SageMaker adds endpoint, variant and time itself; the prefix goes into the role's policy, so it has no `*`."""
    uri, limit = capture.uri, capture_facts().uri
    if uri is None or is_unresolved(uri):
        return
    place = split_s3_uri(uri)
    if place is None or not limit.holds(len(uri)):
        yield capture.wrong(
            "uri",
            SageMakerCode.CAPTURE_PLACE,
            "what is captured goes to S3, and this is no address there",
            f"write {_WHERE}, or leave it out for a bucket of the endpoint's own",
            allowed=f"{_WHERE}, {limit.range} characters",
        )
        return
    for one in check_key_prefix(place[1] or None, SageMakerCode.CAPTURE_PLACE):
        remedy = f"write s3://{place[0]}/captured"
        yield replace(one, path=("uri",), value=uri, allowed=_WHERE, remedy=remedy)


@rule
def check_scaling(scaling: EndpointScaling) -> Iterator[Problem]:
    """Return what is wrong with `scaling` by itself, by its attributes."""
    limit = endpoint_scaling_facts().instances
    remedy = (
        "write 1 or more: SageMaker scales to 0 only the inference components of an endpoint, which this one has not; "
        "a time to live ends the cost"
    )
    counts = [
        problem
        for attribute, what in (
            ("maximum", "the greatest number of instances"),
            ("minimum", "the least number of instances"),
        )
        for problem in check_number(
            getattr(scaling, attribute), limit, SageMakerCode.ENDPOINT_SCALING, attribute, what=what, remedy=remedy
        )
    ]
    yield from counts
    if not counts and is_above(scaling.minimum, scaling.maximum):
        yield scaling.wrong(
            "minimum",
            SageMakerCode.ENDPOINT_SCALING,
            f"the minimum is above the maximum, {scaling.maximum}",
            "write a smaller minimum, or raise the maximum",
            allowed=f"up to {scaling.maximum}",
        )
    yield from _check_targets(scaling)


def _check_scaled_count(scaling: EndpointScaling, instance_count: int) -> Iterator[Problem]:
    """Return a problem when an endpoint would begin with more instances than there may be."""
    if is_above(instance_count, scaling.maximum):
        yield scaling.wrong(
            "maximum",
            SageMakerCode.ENDPOINT_SCALING,
            f"the endpoint begins with {instance_count} instances, and may have {scaling.maximum} at most",
            "raise the maximum, or begin with fewer instances",
            allowed=f"{instance_count} or more",
        )


def _check_targets(scaling: EndpointScaling) -> Iterator[Problem]:
    code, remedy = SageMakerCode.ENDPOINT_SCALING_TARGET, "write what one instance can take, or leave it out"
    at_a_time, in_a_minute = scaling.concurrent_requests, scaling.invocations_per_minute
    wrong = [
        *check_positive(at_a_time, code, "concurrent_requests", what="the target of requests at a time", remedy=remedy),
        *check_positive(
            in_a_minute, code, "invocations_per_minute", what="the target of requests in a minute", remedy=remedy
        ),
    ]
    yield from wrong
    if not wrong and at_a_time is not None and in_a_minute is not None:
        yield scaling.wrong(
            "invocations_per_minute",
            Code.CONTRADICTION,
            "requests at a time and requests in a minute both have a target, and one of them is followed",
            "keep `concurrent_requests`, which knows how long answers take, or `invocations_per_minute` alone",
        )


def check_time_to_live(seconds: int | None) -> Iterator[Problem]:
    """Return a problem unless an endpoint can live for `seconds`; `None` is for ever."""
    limit, what = time_to_live_facts().seconds, "the time to live, in seconds,"
    least, most = limit.minimum or 0, limit.maximum or 0
    for problem in check_number(seconds, limit, SageMakerCode.TIME_TO_LIVE, "time_to_live_seconds", what=what):
        yield replace(
            problem,
            message="a time to live of nothing deletes the endpoint as soon as it is there"
            if type(seconds) is int and seconds <= 0
            else problem.message,
            allowed=f"{least // 60} minutes to {most // 86400} days",
            remedy=f"write {most // 86400} days at most, or leave it out for an endpoint that stays"
            if type(seconds) is int and seconds > most
            else f"write {least // 60} minutes or more: that is how often it is looked; leave it out for an endpoint "
            "that stays",
        )


def check_budget(budget: EndpointBudget) -> list[Problem]:
    """Return what is wrong with `budget` by itself, by its attributes."""
    amount = check_positive(
        budget.monthly_usd,
        SageMakerCode.BUDGET_AMOUNT,
        "monthly_usd",
        what="the budget of a month",
        remedy="write US dollars, or leave the budget out",
    )
    return [*amount, *_check_shares(budget), *_check_emails(budget)]


def _check_budget_readers(budget: EndpointBudget, *, has_topic: bool) -> Iterator[Problem]:
    """Return a problem when nobody would be told."""
    if not has_topic and not len(budget.emails):
        yield budget.wrong(
            "emails",
            SageMakerCode.BUDGET_READERS,
            "nobody would be told of this budget: it has no e-mail address, and the endpoint no topic",
            "write an e-mail address, or give the endpoint a topic for its alarms",
            value=None,
        )


def _check_shares(budget: EndpointBudget) -> Iterator[Problem]:
    told = [] if is_list_token(budget.at_percent) else list(budget.at_percent)
    what, remedy = "the share of the budget at which it tells", "write a percentage above 0; 100 is the whole budget"
    wrong = [
        problem.under("at_percent", index)
        for index, value in enumerate(told)
        for problem in check_positive(value, SageMakerCode.BUDGET_THRESHOLD, what=what, remedy=remedy)
    ]
    yield from wrong
    room = (budget_facts().notifications.maximum or 0) - int(bool(budget.forecast))
    twice = len(set(told)) != len(told)
    if not wrong and not is_list_token(budget.at_percent) and (twice or not 0 < len(told) <= room):
        yield budget.wrong(
            "at_percent",
            SageMakerCode.BUDGET_THRESHOLD,
            "a share is there twice" if twice else f"a budget tells at 1 to {room} shares, and here are {len(told)}",
            "write each share once, e.g. 80 and 100",
            allowed=f"1 to {room} different shares",
        )


def _check_emails(budget: EndpointBudget) -> Iterator[Problem]:
    emails, most = budget.emails, budget_facts().emails.maximum or 0
    yield from check_emails(emails, SageMakerCode.BUDGET_READERS, "emails")
    if len(emails) > most and not is_list_token(emails):
        yield budget.wrong(
            "emails",
            SageMakerCode.BUDGET_READERS,
            f"a budget has {most} e-mail addresses at most, and here are {len(emails)}",
            "write the address of a list, or use a topic",
            allowed=f"up to {most}",
        )
