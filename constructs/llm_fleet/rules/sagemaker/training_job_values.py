"""Values that a training job passes to its script: hyperparameters and environment variables; and its tags."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.catalog.training_job import ended_hyperparameters, training_job_fact, training_job_limit
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_tags
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.values import SECRET_VALUE
from llm_fleet.spec.training_job import TrainingJobSpec

_CODE = SageMakerCode.TRAINING_HYPERPARAMETER
_SECRET_NAME = re.compile(
    r"hf_token|hugging_?face(_hub)?_token|wandb_api_key|aws_(access_key_id|secret_access_key|session_token)|.*password",
    re.IGNORECASE,
)


def check_values(job: TrainingJobSpec) -> list[Problem]:
    """Return problems for values that are too many, too long, reserved, retired, or secret."""
    launcher_room = 8 if job.source is not None else 0
    return [
        *_number("HyperParameters", "hyperparameters", job.hyperparameters, less=launcher_room),
        *(problem for name, value in job.hyperparameters.items() for problem in _hyperparameter(name, value)),
        *_number("Environment", "environment", job.environment, less=len(_reserved_environment())),
        *(problem for name, value in job.environment.items() for problem in _variable(name, value)),
        *_tags(job.tags),
    ]


def hyperparameter_text(value: Any) -> str:
    """Return a hyperparameter's value as JSON, as SageMaker's training toolkit reads it."""
    return json.dumps(value)


def _reserved_environment() -> list[str]:
    return training_job_fact("reserved_environment")


def _number(field: str, attribute: str, values: Mapping[str, Any], *, less: int) -> Iterator[Problem]:
    limit = training_job_limit(field)
    most = (limit.maximum or 0) - less
    if len(values) > most:
        yield Problem(
            code=_CODE,
            message=f"`{attribute}` has {len(values)} entries, {len(values) - most} too many",
            remedy="move them to a file in the source folder, or in a channel, that the script reads",
            path=(attribute,),
            value=len(values),
            allowed=f"up to {most}" + (f": {less} of {limit.maximum} are used by llm-fleet" if less else ""),
        )


def _hyperparameter(name: str, value: Any) -> Iterator[Problem]:
    path = ("hyperparameters", name)
    ended = ended_hyperparameters().get(name)
    if ended is not None:
        yield Problem(
            code=SageMakerCode.TRAINING_ENDED,
            message=f"{name} enables {ended.what}",
            remedy=ended.successor,
            path=path,
            value=value,
        )
    elif name.startswith(training_job_fact("reserved_prefix")):
        yield _problem(
            f"names that begin with {training_job_fact('reserved_prefix')} are reserved for the container",
            "remove it: llm-fleet sets what the container needs",
            path,
            value,
        )
    else:
        yield from _plain("HyperParameters", name, _text(value), path)


def _text(value: Any) -> str | None:
    try:
        return hyperparameter_text(value)
    except (TypeError, ValueError):
        return value if is_unresolved(value) else None


def _variable(name: str, value: Any) -> Iterator[Problem]:
    path = ("environment", name)
    limit = training_job_limit("Environment{key}")
    if name in _reserved_environment():
        yield _problem(f"{name} is set by llm-fleet", "remove it", path, value)
    elif not limit.matches(name):
        yield _problem(
            "this is not a valid name of an environment variable",
            "write letters, digits and underscores, no digit first",
            path,
            name,
        )
    else:
        yield from _plain("Environment", name, value if isinstance(value, str) else None, path)


def _plain(field: str, name: str, text: str | None, path: tuple[str, str]) -> Iterator[Problem]:
    keys, values = training_job_limit(f"{field}{{key}}"), training_job_limit(f"{field}{{}}")
    if not name or not keys.holds(len(name)):
        yield _problem("SageMaker rejects this name", "write a shorter name", path, name, keys.range)
    elif name.endswith(".$"):
        # Step Functions reads such a key as a path in the state's input.
        yield _problem(
            "a name must not end in .$, which Step Functions interprets as a path", "remove the .$", path, name
        )
    elif text is None:
        yield _problem(
            "this value cannot be written as JSON text", "write text, a number, or a list of them", path, None
        )
    elif is_unresolved(text):
        return
    elif not values.holds(len(text)):
        yield _problem(
            f"the value is too long, with {len(text)} characters",
            "move it to a file in the source folder, or in a channel, that the script reads",
            path,
            text,
            f"{values.range} characters",
        )
    elif SECRET_VALUE.search(text) or (_SECRET_NAME.fullmatch(name) and "arn:aws" not in text):
        yield Problem(
            code=_CODE,
            message="this is a secret, and anyone who may call DescribeTrainingJob could read it",
            remedy="store it in Secrets Manager, pass the secret's ARN to the script, and allow the job's role to "
            "read it",
            path=path,
        )


def _tags(tags: Mapping[str, str]) -> Iterator[Problem]:
    yield from check_tags(tags)
    for key in tags:
        for prefix in training_job_fact("reserved_tag_prefixes"):
            if key.startswith(prefix) and prefix != "aws:":  # which `check_tags` reports
                yield _problem(
                    f"tag keys that begin with {prefix} are reserved for llm-fleet", "write another key", ("tags", key)
                )


def _problem(message: str, remedy: str, path: tuple[str, str], value: Any = None, allowed: str = "") -> Problem:
    return Problem(code=_CODE, message=message, remedy=remedy, path=path, value=value, allowed=allowed)
