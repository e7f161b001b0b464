"""How an update reaches an endpoint: in which steps, how long each is looked at, and by which alarms."""

import math
import re

from llm_fleet.catalog.endpoint import rollout_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem
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


def _check_step(rollout: EndpointRollout) -> list[Problem]:
    limit = rollout_facts().step_percent.get(rollout.kind.name)
    if limit is None:
        return _unused(rollout, "percent", "a rollout all at once has no steps", "leave it out, or write another kind")
    return check_number(
        rollout.percent,
        limit,
        SageMakerCode.ROLLOUT_STEP,
        "percent",
        what=f"a step of a {rollout.kind.value} rollout",
    )


def _check_waits(rollout: EndpointRollout) -> list[Problem]:
    if rollout.kind is RolloutKind.ROLLING:
        why = "a rolling update keeps no old fleet: each batch takes the place of another"
        found = _unused(rollout, "termination_wait_seconds", why, "leave it out")
    else:
        found = []
    return found or ([] if check_fields(rollout) else _check_bake(rollout))


def _unused(rollout: EndpointRollout, attribute: str, why: str, remedy: str) -> list[Problem]:
    value = getattr(rollout, attribute)
    if value is None:
        return []
    return [Problem(code=Code.CONTRADICTION, path=(attribute,), value=value, message=why, remedy=remedy)]


def _check_bake(rollout: EndpointRollout) -> list[Problem]:
    """A step that is over before an alarm can ring is looked at by nobody."""
    least, bake = rollout_facts().shortest_bake_seconds, rollout.bake_seconds
    if bake is None or is_unresolved(bake) or bake >= least:
        return []
    return [
        Problem(
            code=SageMakerCode.ROLLOUT_WAIT,
            path=("bake_seconds",),
            value=bake,
            message=f"the endpoint's own alarms look at {least} seconds, and none could ring in {bake}: a bad update "
            "would not be rolled back",
            allowed=f"{least} to {rollout_facts().bake_seconds.maximum}",
            remedy=f"write {least} or more",
        )
    ]


def _check_timeout(rollout: EndpointRollout) -> list[Problem]:
    """The service's own rule: the timeout is longer than all waits together."""
    timeout, waits = rollout.timeout_seconds, waits_seconds(rollout)
    if timeout is None or is_unresolved(timeout) or waits is None or timeout > waits:
        return []
    most = rollout_facts().timeout_seconds.maximum
    return [
        Problem(
            code=SageMakerCode.ROLLOUT_WAIT,
            path=("timeout_seconds",),
            value=timeout,
            message=f"the update alone waits {waits} seconds, and would be broken off before",
            allowed=f"{waits + 1} to {most}",
            remedy=f"write more than {waits}, and add the time in which instances start",
        )
    ]


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


def _check_alarm_names(rollout: EndpointRollout) -> list[Problem]:
    names = rollout.alarm_names
    if is_list_token(names):
        return []
    most = (rollout_facts().alarms.maximum or 0) - OWN_ALARMS
    wrong = [
        Problem(
            code=SageMakerCode.ROLLOUT_ALARMS,
            path=("alarm_names", index),
            value=name,
            message="this is the name of no alarm" if name not in names[:index] else "this alarm is named twice",
            allowed="1 to 255 characters, each alarm once",
            remedy="write the alarm's name, not its ARN, once",
        )
        for index, name in enumerate(names)
        if not is_unresolved(name) and (not _is_alarm_name(name) or name in names[:index])
    ]
    if len(names) <= most:
        return wrong
    return [
        *wrong,
        Problem(
            code=SageMakerCode.ROLLOUT_ALARMS,
            path=("alarm_names",),
            value=list(names),
            message=f"SageMaker looks at {most + OWN_ALARMS} alarms at most, and {OWN_ALARMS} are the endpoint's own",
            allowed=f"up to {most}",
            remedy="put several into one composite alarm",
        ),
    ]


def _is_alarm_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name.strip()) <= len(name) <= _NAME_LENGTH and not name.startswith("arn:")


def has_guardrails(instance_type: str) -> bool:
    """Return whether SageMaker updates such instances in steps, and looks at alarms meanwhile."""
    return _family(instance_type) not in rollout_facts().families_without_guardrails


def _family(instance_type: str) -> str | None:
    match = None if is_unresolved(instance_type) else _TYPE.fullmatch(str(instance_type))
    return match[1] if match else None


def _check_family(rollout: EndpointRollout, instance_type: str) -> list[Problem]:
    if has_guardrails(instance_type):
        return []
    return [
        Problem(
            code=SageMakerCode.ROLLOUT_IMPOSSIBLE,
            path=("kind",),
            value=rollout.kind.value,
            message=f"SageMaker updates {_family(instance_type)} instances all at once and looks at no alarm, whatever "
            "is asked",
            remedy="write the rollout all at once, or take instances of another family",
        )
    ]


def _check_count(rollout: EndpointRollout, instance_count: int) -> list[Problem]:
    if is_unresolved(instance_count) or instance_count != 1:
        return []
    return [
        Problem(
            code=SageMakerCode.ROLLOUT_IMPOSSIBLE,
            path=("kind",),
            value=rollout.kind.value,
            message="a step is at most half of the instances, and there is one instance",
            remedy="write the rollout all at once, which is rolled back too, or take two instances or more",
        )
    ]
