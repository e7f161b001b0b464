"""Operation of an endpoint: time to live, budget, alarms, scaling, and the rollout of a new version."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.endpoint import (
    budget_facts,
    capture_facts,
    endpoint_scaling_facts,
    rollout_facts,
    time_to_live_facts,
)
from llm_fleet.rules.buckets import check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.downloads_lock import split_s3_uri
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem, is_list_token, is_unresolved, rule, under
from llm_fleet.rules.values import check_emails, check_number, check_positive, is_above
from llm_fleet.spec.endpoint import EndpointSpec
from llm_fleet.spec.endpoint_operations import (
    DataCapture,
    EndpointAlarms,
    EndpointBudget,
    EndpointRollout,
    EndpointScaling,
    RolloutKind,
)


def check_endpoint_operations(endpoint: EndpointSpec, *, has_topic: bool) -> list[Problem]:
    """Return what is wrong with the operations of `endpoint`: each by itself, then their combination.

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
    """Return the parts that contradict each other, or the endpoint."""
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
    """Return a problem for each threshold with which an alarm would always ring, or never."""
    code = SageMakerCode.ENDPOINT_ALARM
    remedy = "write a number above 0, or remove it"
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
            what="the percentage of captured requests",
            remedy=f"write {facts.percent.range}, or remove `data_capture` to capture nothing",
        ),
        *_check_sides(capture),
        *_check_place(capture),
    ]


def _check_sides(capture: DataCapture) -> Iterator[Problem]:
    if not capture.inputs and not capture.outputs:
        yield capture.wrong(
            "inputs",
            SageMakerCode.CAPTURE_NOTHING,
            "`inputs` and `outputs` are both false, so that nothing is captured",
            "set one of them to true, or remove `data_capture`",
        )


def _check_place(capture: DataCapture) -> Iterator[Problem]:
    """SageMaker appends endpoint, variant and time; the prefix becomes part of the role's policy: no `*` in it."""
    uri, limit = capture.uri, capture_facts().uri
    if uri is None or is_unresolved(uri):
        return
    place = split_s3_uri(uri)
    if place is None or not limit.holds(len(uri)):
        yield capture.wrong(
            "uri",
            SageMakerCode.CAPTURE_PLACE,
            "captured data is written to S3, and this is not an S3 URI",
            f"write {_WHERE}, or remove it to use the endpoint's own bucket",
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
        "write 1 or more: SageMaker can scale to 0 only endpoints with inference components, and this one has none; "
        "set `time_to_live` to end the cost"
    )
    counts = [
        problem
        for attribute, what in (
            ("maximum", "the maximum number of instances"),
            ("minimum", "the minimum number of instances"),
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
            f"`minimum` is above `maximum`, which is {scaling.maximum}",
            "write a smaller minimum, or raise the maximum",
            allowed=f"up to {scaling.maximum}",
        )
    yield from _check_targets(scaling)


def _check_scaled_count(scaling: EndpointScaling, instance_count: int) -> Iterator[Problem]:
    """Return a problem when an endpoint would start with more instances than the maximum."""
    if is_above(instance_count, scaling.maximum):
        yield scaling.wrong(
            "maximum",
            SageMakerCode.ENDPOINT_SCALING,
            f"the endpoint starts with {instance_count} instances, and `maximum` is {scaling.maximum}",
            "raise the maximum, or start with fewer instances",
            allowed=f"{instance_count} or more",
        )


def _check_targets(scaling: EndpointScaling) -> Iterator[Problem]:
    code, remedy = SageMakerCode.ENDPOINT_SCALING_TARGET, "write what one instance can serve, or remove it"
    at_a_time, in_a_minute = scaling.concurrent_requests, scaling.invocations_per_minute
    wrong = [
        *check_positive(
            at_a_time, code, "concurrent_requests", what="the target of concurrent requests", remedy=remedy
        ),
        *check_positive(
            in_a_minute, code, "invocations_per_minute", what="the target of requests per minute", remedy=remedy
        ),
    ]
    yield from wrong
    if not wrong and at_a_time is not None and in_a_minute is not None:
        yield scaling.wrong(
            "invocations_per_minute",
            Code.CONTRADICTION,
            "set only one of `concurrent_requests` and `invocations_per_minute`",
            "keep `concurrent_requests`, which takes the duration of responses into account, or keep "
            "`invocations_per_minute`",
        )


def check_time_to_live(seconds: int | None) -> Iterator[Problem]:
    """Return a problem unless an endpoint can live for `seconds`; with `None` it is never deleted."""
    limit = time_to_live_facts().seconds
    if type(seconds) is not int:
        remedy = ""
    elif limit.maximum is not None and seconds > limit.maximum:
        remedy = f"write at most {limit.maximum // 86400} days, or remove it to keep the endpoint"
    else:
        least = f"{(limit.minimum or 0) // 60} minutes, the interval at which llm-fleet checks"
        remedy = f"write at least {least}; or remove it to keep the endpoint"
    yield from check_number(
        seconds, limit, SageMakerCode.TIME_TO_LIVE, "time_to_live_seconds", what="`time_to_live`", remedy=remedy
    )


def check_budget(budget: EndpointBudget) -> list[Problem]:
    """Return what is wrong with `budget` by itself, by its attributes."""
    amount = check_positive(
        budget.monthly_usd,
        SageMakerCode.BUDGET_AMOUNT,
        "monthly_usd",
        what="the monthly budget",
        remedy="write an amount in US dollars, or remove the budget",
    )
    return [*amount, *_check_shares(budget), *_check_emails(budget)]


def _check_budget_readers(budget: EndpointBudget, *, has_topic: bool) -> Iterator[Problem]:
    """Return a problem when the budget would notify no one."""
    if not has_topic and not len(budget.emails):
        yield budget.wrong(
            "emails",
            SageMakerCode.BUDGET_READERS,
            "this budget would notify no one: it has no email address, and the endpoint has no SNS topic",
            "write an email address, or give the endpoint an SNS topic for its alarms",
            value=None,
        )


def _check_shares(budget: EndpointBudget) -> Iterator[Problem]:
    thresholds = [] if is_list_token(budget.at_percent) else list(budget.at_percent)
    what, remedy = "the threshold of the budget", "write a percentage above 0; 100 is the whole budget"
    wrong = [
        problem.under("at_percent", index)
        for index, value in enumerate(thresholds)
        for problem in check_positive(value, SageMakerCode.BUDGET_THRESHOLD, what=what, remedy=remedy)
    ]
    yield from wrong
    room = (budget_facts().notifications.maximum or 0) - int(bool(budget.forecast))
    twice = len(set(thresholds)) != len(thresholds)
    if not wrong and not is_list_token(budget.at_percent) and (twice or not 0 < len(thresholds) <= room):
        yield budget.wrong(
            "at_percent",
            SageMakerCode.BUDGET_THRESHOLD,
            "a threshold is repeated"
            if twice
            else f"a budget must have 1 to {room} thresholds, and this one has {len(thresholds)}",
            "write each threshold once, e.g. 80 and 100",
            allowed=f"1 to {room} different percentages",
        )


def _check_emails(budget: EndpointBudget) -> Iterator[Problem]:
    emails, most = budget.emails, budget_facts().emails.maximum or 0
    yield from check_emails(emails, SageMakerCode.BUDGET_READERS, "emails")
    if len(emails) > most and not is_list_token(emails):
        yield budget.wrong(
            "emails",
            SageMakerCode.BUDGET_READERS,
            f"a budget can have at most {most} email addresses, and this one has {len(emails)}",
            "write the address of a mailing list, or use an SNS topic",
            allowed=f"up to {most}",
        )


OWN_ALARMS = 2
"""The number of the endpoint's own alarms that roll an update back."""
_NAME_LENGTH = 255
"""CloudWatch's limit (API_PutMetricAlarm)."""
_TYPE = re.compile(r"ml\.([a-z0-9-]+)\.\w+")


def check_rollout(rollout: EndpointRollout) -> list[Problem]:
    """Return what is wrong with `rollout` by itself, except times outside their range: `check_fields` reports those."""
    steps, waits = _check_step(rollout), _check_waits(rollout)
    wrong = [*steps, *waits, *check_fields(rollout)]
    return [*steps, *waits, *([] if wrong else _check_timeout(rollout)), *_check_alarm_names(rollout)]


def check_rollout_of(rollout: EndpointRollout, *, instance_type: str, instance_count: int) -> list[Problem]:
    """Return a problem when SageMaker cannot update this instance type or number of instances as `rollout` says."""
    if rollout.kind is RolloutKind.ALL_AT_ONCE:
        return []
    return [*_check_family(rollout, instance_type), *_check_count(rollout, instance_count)]


def bake_seconds_of(rollout: EndpointRollout) -> int:
    """Return how long SageMaker watches the alarms after each step."""
    return rollout_facts().default_bake_seconds if rollout.bake_seconds is None else rollout.bake_seconds


def termination_wait_seconds_of(rollout: EndpointRollout) -> int:
    """Return how long the old fleet stays after the new one has all traffic; 0 for a rolling update."""
    wait = rollout.termination_wait_seconds
    if rollout.kind is RolloutKind.ROLLING:
        return 0
    return rollout_facts().default_termination_wait_seconds if wait is None else wait


def step_percent_of(rollout: EndpointRollout) -> int | None:
    """Return the size of a step in percent of the instances; `None` for an update without steps."""
    return rollout_facts().default_step_percent.get(rollout.kind.name) if rollout.percent is None else rollout.percent


@rule
def _check_step(rollout: EndpointRollout) -> Iterator[Problem]:
    limit, what = rollout_facts().step_percent.get(rollout.kind.name), f"a step of a {rollout.kind.value} rollout"
    if limit is not None:
        yield from check_number(rollout.percent, limit, SageMakerCode.ROLLOUT_STEP, "percent", what=what)
    elif rollout.percent is not None and not is_unresolved(rollout.kind):
        yield rollout.wrong(
            "percent",
            Code.CONTRADICTION,
            f"`percent` has no effect: a rollout of kind `{rollout.kind.value}` has no steps",
            "remove it, or write another kind",
        )


@rule
def _check_waits(rollout: EndpointRollout) -> Iterator[Problem]:
    """A step that ends before an alarm can ring is not checked."""
    least, bake = rollout_facts().shortest_bake_seconds, rollout.bake_seconds
    if rollout.kind is RolloutKind.ROLLING and rollout.termination_wait_seconds is not None:
        yield rollout.wrong(
            "termination_wait_seconds",
            Code.CONTRADICTION,
            "this setting has no effect: a rolling update replaces instances in batches and keeps no old fleet",
            "remove it",
        )
    elif bake is not None and not is_unresolved(bake) and bake < least and not check_fields(rollout):
        yield rollout.wrong(
            "bake_seconds",
            SageMakerCode.ROLLOUT_WAIT,
            f"the endpoint's alarms evaluate {least} seconds, so that none can ring within {bake} seconds. A bad "
            "update would not be rolled back",
            f"write at least {least} seconds",
            allowed=f"{least} to {rollout_facts().bake_seconds.maximum}",
        )


def _check_timeout(rollout: EndpointRollout) -> Iterator[Problem]:
    """The service's own rule: the timeout is longer than all waits together."""
    timeout, waits = rollout.timeout_seconds, waits_seconds(rollout)
    if timeout is not None and not is_unresolved(timeout) and waits is not None and timeout <= waits:
        yield rollout.wrong(
            "timeout_seconds",
            SageMakerCode.ROLLOUT_WAIT,
            f"the waits of this rollout are {waits} seconds in total, so that the timeout would stop the update",
            f"write more than {waits} seconds, and add the time in which instances start",
            allowed=f"{waits + 1} to {rollout_facts().timeout_seconds.maximum}",
        )


def waits_seconds(rollout: EndpointRollout) -> int | None:
    """Return the sum of an update's waits, without the start of instances; `None` when it is a CDK token."""
    bake, percent = bake_seconds_of(rollout), step_percent_of(rollout)
    rest = termination_wait_seconds_of(rollout)
    if is_unresolved((bake, rest, percent, rollout.kind)):
        return None
    match rollout.kind:
        case RolloutKind.ALL_AT_ONCE:
            steps = 1
        case RolloutKind.CANARY:
            steps = 2
        case RolloutKind.LINEAR | RolloutKind.ROLLING:
            steps = math.ceil(100 / percent) if percent else 1
    return steps * bake + rest


def _check_alarm_names(rollout: EndpointRollout) -> Iterator[Problem]:
    names = () if is_list_token(rollout.alarm_names) else rollout.alarm_names
    most = (rollout_facts().alarms.maximum or 0) - OWN_ALARMS
    for index, name in enumerate(names):
        twice = name in names[:index]
        if not is_unresolved(name) and (twice or not _is_alarm_name(name)):
            yield rollout.wrong(
                ("alarm_names", index),
                SageMakerCode.ROLLOUT_ALARMS,
                "this is not the name of an alarm" if not twice else "this alarm is listed twice",
                "write each alarm once, by its name, not its ARN",
                allowed="1 to 255 characters, each alarm once",
            )
    if len(names) > most:
        yield rollout.wrong(
            "alarm_names",
            SageMakerCode.ROLLOUT_ALARMS,
            f"SageMaker monitors at most {most + OWN_ALARMS} alarms, and {OWN_ALARMS} are the endpoint's own",
            "combine several in one composite alarm",
            allowed=f"up to {most}",
        )


def _is_alarm_name(name: str) -> bool:
    return 0 < len(name.strip()) <= len(name) <= _NAME_LENGTH and not name.startswith("arn:")


def has_guardrails(instance_type: str) -> bool:
    """Return whether SageMaker supports deployment guardrails (steps and alarms) for such instances."""
    return _family(instance_type) not in rollout_facts().families_without_guardrails


def _family(instance_type: str) -> str | None:
    match = None if is_unresolved(instance_type) else _TYPE.fullmatch(str(instance_type))
    return match[1] if match else None


def _check_family(rollout: EndpointRollout, instance_type: str) -> Iterator[Problem]:
    if not has_guardrails(instance_type):
        yield rollout.wrong(
            "kind",
            SageMakerCode.ROLLOUT_IMPOSSIBLE,
            f"SageMaker supports no deployment guardrails for {_family(instance_type)} instances: it updates all "
            "together and monitors no alarm",
            f"write `{RolloutKind.ALL_AT_ONCE.value}`, or choose an instance type of another family",
        )


def _check_count(rollout: EndpointRollout, instance_count: int) -> Iterator[Problem]:
    if not is_unresolved(instance_count) and instance_count == 1:
        yield rollout.wrong(
            "kind",
            SageMakerCode.ROLLOUT_IMPOSSIBLE,
            "a step can be at most half of the instances, and this endpoint has only one instance",
            f"write `{RolloutKind.ALL_AT_ONCE.value}`, which is rolled back as well, or use at least two instances",
        )
