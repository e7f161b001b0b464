"""How an update reaches an endpoint: in which steps, how long each is looked at, and by which alarms."""

import math
import re
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import rollout_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem, rule
from llm_fleet.rules.tokens import is_list_token, is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.endpoint_operations import EndpointRollout, RolloutKind

OWN_ALARMS = 2
"""How many alarms of the endpoint itself roll an update back."""
_NAME_LENGTH = 255
"""CloudWatch's limit (API_PutMetricAlarm)."""
_TYPE = re.compile(r"ml\.([a-z0-9-]+)\.\w+")


def check_rollout(rollout: EndpointRollout) -> list[Problem]:
    """Return what is wrong with `rollout` by itself, but for waits out of their range: `check_fields` reports those."""
    steps, waits = _check_step(rollout), _check_waits(rollout)
    wrong = [*steps, *waits, *check_fields(rollout)]
    return [*steps, *waits, *([] if wrong else _check_timeout(rollout)), *_check_alarm_names(rollout)]


def check_rollout_of(rollout: EndpointRollout, *, instance_type: str, instance_count: int) -> list[Problem]:
    """Return a problem when instances of this type, or so few of them, cannot be updated as `rollout` says."""
    if rollout.kind is RolloutKind.ALL_AT_ONCE:
        return []
    return [*_check_family(rollout, instance_type), *_check_count(rollout, instance_count)]


def bake_seconds_of(rollout: EndpointRollout) -> int:
    """Return how long each step is looked at."""
    return rollout_facts().default_bake_seconds if rollout.bake_seconds is None else rollout.bake_seconds


def termination_wait_seconds_of(rollout: EndpointRollout) -> int:
    """Return how long the old fleet stays once the new one has all traffic; a rolling update has no such wait."""
    wait = rollout.termination_wait_seconds
    if rollout.kind is RolloutKind.ROLLING:
        return 0
    return rollout_facts().default_termination_wait_seconds if wait is None else wait


def step_percent_of(rollout: EndpointRollout) -> int | None:
    """Return the size of a step in percent of the instances; `None` for all at once."""
    return rollout_facts().default_step_percent.get(rollout.kind.name) if rollout.percent is None else rollout.percent


@rule
def _check_step(rollout: EndpointRollout) -> Iterator[Problem]:
    limit, what = rollout_facts().step_percent.get(rollout.kind.name), f"a step of a {rollout.kind.value} rollout"
    if limit is not None:
        yield from check_number(rollout.percent, limit, SageMakerCode.ROLLOUT_STEP, "percent", what=what)
    elif rollout.percent is not None:
        yield rollout.wrong(
            "percent",
            Code.CONTRADICTION,
            "a rollout all at once has no steps",
            "leave it out, or write another kind",
        )


@rule
def _check_waits(rollout: EndpointRollout) -> Iterator[Problem]:
    """A step that is over before an alarm can ring is looked at by nobody."""
    least, bake = rollout_facts().shortest_bake_seconds, rollout.bake_seconds
    if rollout.kind is RolloutKind.ROLLING and rollout.termination_wait_seconds is not None:
        yield rollout.wrong(
            "termination_wait_seconds",
            Code.CONTRADICTION,
            "a rolling update keeps no old fleet: each batch takes the place of another",
            "leave it out",
        )
    elif bake is not None and not is_unresolved(bake) and bake < least and not check_fields(rollout):
        yield rollout.wrong(
            "bake_seconds",
            SageMakerCode.ROLLOUT_WAIT,
            f"the endpoint's own alarms look at {least} seconds, and none could ring in {bake}: a bad update would not "
            "be rolled back",
            f"write {least} or more",
            allowed=f"{least} to {rollout_facts().bake_seconds.maximum}",
        )


def _check_timeout(rollout: EndpointRollout) -> Iterator[Problem]:
    """The service's own rule: the timeout is longer than all waits together."""
    timeout, waits = rollout.timeout_seconds, waits_seconds(rollout)
    if timeout is not None and not is_unresolved(timeout) and waits is not None and timeout <= waits:
        yield rollout.wrong(
            "timeout_seconds",
            SageMakerCode.ROLLOUT_WAIT,
            f"the update alone waits {waits} seconds, and would be broken off before",
            f"write more than {waits}, and add the time in which instances start",
            allowed=f"{waits + 1} to {rollout_facts().timeout_seconds.maximum}",
        )


def waits_seconds(rollout: EndpointRollout) -> int | None:
    """Return how long an update waits in all, beside the start of its instances; `None` where that is not known."""
    bake, percent = bake_seconds_of(rollout), step_percent_of(rollout)
    rest = termination_wait_seconds_of(rollout)
    if is_unresolved(bake) or is_unresolved(rest) or is_unresolved(percent):
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
                "this is the name of no alarm" if not twice else "this alarm is named twice",
                "write the alarm's name, not its ARN, once",
                allowed="1 to 255 characters, each alarm once",
            )
    if len(names) > most:
        yield rollout.wrong(
            "alarm_names",
            SageMakerCode.ROLLOUT_ALARMS,
            f"SageMaker looks at {most + OWN_ALARMS} alarms at most, and {OWN_ALARMS} are the endpoint's own",
            "put several into one composite alarm",
            allowed=f"up to {most}",
        )


def _is_alarm_name(name: str) -> bool:
    return 0 < len(name.strip()) <= len(name) <= _NAME_LENGTH and not name.startswith("arn:")


def has_guardrails(instance_type: str) -> bool:
    """Return whether SageMaker updates such instances in steps, and looks at alarms meanwhile."""
    return _family(instance_type) not in rollout_facts().families_without_guardrails


def _family(instance_type: str) -> str | None:
    match = None if is_unresolved(instance_type) else _TYPE.fullmatch(str(instance_type))
    return match[1] if match else None


def _check_family(rollout: EndpointRollout, instance_type: str) -> Iterator[Problem]:
    if not has_guardrails(instance_type):
        yield rollout.wrong(
            "kind",
            SageMakerCode.ROLLOUT_IMPOSSIBLE,
            f"SageMaker updates {_family(instance_type)} instances all at once and looks at no alarm, whatever "
            "is asked",
            "write the rollout all at once, or take instances of another family",
        )


def _check_count(rollout: EndpointRollout, instance_count: int) -> Iterator[Problem]:
    if not is_unresolved(instance_count) and instance_count == 1:
        yield rollout.wrong(
            "kind",
            SageMakerCode.ROLLOUT_IMPOSSIBLE,
            "a step is at most half of the instances, and there is one instance",
            "write the rollout all at once, which is rolled back too, or take two instances or more",
        )
