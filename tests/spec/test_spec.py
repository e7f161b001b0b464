"""The core of every description: one class for Python, for a fleet file and for rules."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, ValidationError

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields, check_is_spec
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.spec.shape import OWN_KEY
from llm_fleet.spec.spec import PYTHON_ONLY, SHORTHAND, Spec, Within, in_long_form
from llm_fleet.spec.values import PATH, KeyArn, Seconds

KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
TEXT_TOKEN, NUMBER_TOKEN = "${Token[TOKEN.1]}", -1.8881545897087e289


class Mode(StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Pause(Spec):
    seconds: Annotated[
        Seconds,
        SHORTHAND,
        Field(alias="for", examples=["30 min"]),
        Within(limit=Limit(minimum=60), code=Code.QUANTITY, what="the pause"),
    ]


class Retry(Spec):
    switch: ClassVar[bool] = True

    times: Annotated[
        int, SHORTHAND, Within(limit=Limit(minimum=1, maximum=9), code=Code.QUANTITY, what="the number")
    ] = 3


class Task(Spec):
    name: Annotated[str, Field(alias=OWN_KEY, examples=["a"])]
    pause: Annotated[Pause | None, Field(examples=["30 min"])] = None
    retry: Retry | None = None
    mode: Annotated[Mode, Field(alias="how")] = Mode.FAST
    key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    parts: Mapping[str, Pause] = {}
    steps: tuple[Pause, ...] = ()
    system_id: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} system_id")] = None


class Tasks(Spec):
    tasks: Mapping[str, Task] = {}


def read(written: Mapping[str, Any]) -> Task:
    """Return the task `a` of a file."""
    return Tasks.model_validate_json(json.dumps(in_long_form(Tasks, {"tasks": {"a": written}}))).tasks["a"]


def refused(spec: type[Spec], **given: Any) -> tuple[Problem, ...]:
    with pytest.raises(FleetError) as raised:
        spec(**given)
    return raised.value.problems


def test_a_file_and_python_make_the_same() -> None:
    pauses = {"x": Pause(seconds=60)}
    made = Task(
        name="a",
        pause=Pause(seconds=1800),
        retry=Retry(),
        mode=Mode.SLOW,
        key_arn=KEY,
        parts=pauses,
        steps=(Pause(seconds=90),),
    )
    long = {"pause": {"for": "30 min"}, "retry": {}, "how": "slow", "key": KEY, "parts": {"x": {"for": "60 s"}}}
    assert read({**long, "steps": [{"for": "90 s"}]}) == made
    assert read({**long, "pause": "30 min", "retry": True, "parts": {"x": "1 min"}, "steps": ["90 s"]}) == made


def test_a_switch_is_on_off_or_more() -> None:
    assert read({"retry": False}).retry is None
    assert read({"retry": 5}).retry == Retry(times=5)
    assert read({"retry": {"times": 5}}).retry == Retry(times=5)


def test_a_file_has_no_keys_that_are_for_python() -> None:
    assert Task.keys() == ["pause", "retry", "how", "key", "parts", "steps"]
    properties = Task.model_json_schema()["properties"]
    assert list(properties) == Task.keys()
    for key in ("system_id", "name", "(its key)", "(in Python) system_id"):
        with pytest.raises(ValidationError, match="extra_forbidden"):
            read({key: "fs-1"})


def test_a_file_is_not_read_by_the_names_of_python() -> None:
    with pytest.raises(ValidationError):
        read({"mode": "slow"})
    with pytest.raises(ValidationError):
        read({"pause": {"seconds": 1800}})


def test_a_token_stands_for_any_value() -> None:
    made = Task(name=TEXT_TOKEN, pause=Pause(seconds=NUMBER_TOKEN), key_arn=TEXT_TOKEN, retry=Retry(times=NUMBER_TOKEN))  # pyright: ignore[reportArgumentType]
    assert made.pause is not None
    assert (made.pause.seconds, made.key_arn) == (NUMBER_TOKEN, TEXT_TOKEN)
    assert check_fields(made) == []


@pytest.mark.parametrize(
    ("given", "where", "code", "remedy"),
    [
        ({"pause": 1800}, "pause", "LF113", "Pause(seconds=…)"),
        ({"retry": True}, "retry", "LF113", "Retry()"),
        ({"mode": "slow"}, "mode", "LF114", "Mode.FAST"),
        ({"key_arn": "alias/mine"}, "key_arn", "LF116", "arn:aws:kms"),
        ({"parts": {"x": "30 min"}}, "parts.x", "LF113", "Pause(seconds=…)"),
        ({"steps": ("30 min",)}, "steps[0]", "LF113", "Pause(seconds=…)"),
        ({"sistem_id": "a"}, "sistem_id", "LF110", "'system_id'"),
        ({"how": Mode.SLOW}, "how", "LF110", "above"),
    ],
)
def test_a_wrong_value_in_python_is_refused_with_its_place(
    given: dict[str, Any], where: str, code: str, remedy: str
) -> None:
    (problem,) = refused(Task, name="a", **given)
    assert (problem.where, problem.code) == (where, code)
    assert remedy in problem.remedy


def test_a_number_in_python_is_in_the_unit_of_the_api() -> None:
    (problem,) = refused(Pause, seconds="30 min")
    assert (problem.where, problem.code, problem.remedy) == ("seconds", "LF113", "write a whole number of s")


def test_everything_that_is_missing_is_named() -> None:
    assert [problem.where for problem in refused(Task, pause=3)] == ["name", "pause"]


def test_a_range_is_checked_wherever_the_field_is() -> None:
    task = Task(
        name="a",
        pause=Pause(seconds=5),
        retry=Retry(times=10),
        parts={"x": Pause(seconds=6)},
        steps=(Pause(seconds=7),),
    )
    found = {problem.where: problem for problem in check_fields(task)}
    assert list(found) == ["pause.seconds", "retry.times", "parts.x.seconds", "steps[0].seconds"]
    assert (found["retry.times"].message, found["retry.times"].allowed) == ("the number is above 9", "1 to 9")
    assert Task.model_json_schema()["$defs"]["Retry"]["properties"]["times"]["maximum"] == 9


def test_an_argument_of_another_class_is_a_problem() -> None:
    (problem,) = check_is_spec("a", Task, "task")
    assert (problem.where, problem.remedy) == ("task", "write Task(name=…)")
    assert check_is_spec(Task(name="a"), Task, "task") == []


def test_a_path_is_kept_as_text() -> None:
    from pathlib import Path

    class Source(Spec):
        folder: Annotated[Any, PATH]

    assert Source(folder=Path("a/b")).folder == "a/b"
    assert refused(Source, folder=3)[0].where == "folder"
