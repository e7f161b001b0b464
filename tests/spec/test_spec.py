"""The base class of all specs: one class for Python, for a fleet file and for rules."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, ValidationError

from llm_fleet.catalog.data_file import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields, check_is_spec
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.people import SlurmAccount
from llm_fleet.spec.references import SUBNET, Bucket, Key, LogGroup, OwnSecurityGroup, Secret, Subnet
from llm_fleet.spec.spec import PYTHON_ONLY, SHORTHAND, InRequest, Spec, Within, in_long_form, in_request
from llm_fleet.spec.values import PATH, InFile, KeyArn, Named, Seconds, Several

KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
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


class Word(StrEnum):
    QUICK = "quick"


class Machine(Spec):
    """Fields whose values differ between fleet file and Python, names of objects, and lists."""

    mode: Annotated[Mode, InFile(Word, lambda word: Mode.FAST)] = Mode.SLOW
    pauses: Annotated[Several[Pause], InFile(Mapping[str, Pause], lambda named: tuple(named.values()))] = ()
    key: Key | None = None
    subnets: Several[Subnet] = ()


class Tasks(Spec):
    tasks: Mapping[str, Task] = {}


def read(written: Mapping[str, Any]) -> Task:
    """Return the task `a` of a file."""
    return Tasks.model_validate_json(json.dumps(in_long_form(Tasks, {"tasks": {"a": written}}))).tasks["a"]


def rejected(spec: type[Spec], **given: Any) -> tuple[Problem, ...]:
    with pytest.raises(FleetError) as raised:
        spec(**given)
    return raised.value.problems


def test_a_file_and_python_give_the_same_spec() -> None:
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


def test_a_switch_is_true_false_or_a_mapping() -> None:
    assert read({"retry": False}).retry is None
    assert read({"retry": 5}).retry == Retry(times=5)
    assert read({"retry": {"times": 5}}).retry == Retry(times=5)


def test_a_file_has_no_keys_that_are_only_for_python() -> None:
    assert Task.keys() == ["pause", "retry", "how", "key", "parts", "steps"]
    properties = Task.model_json_schema()["properties"]
    assert list(properties) == Task.keys()
    for key in ("system_id", "name", "(its key)", "(in Python) system_id"):
        with pytest.raises(ValidationError, match="extra_forbidden"):
            read({key: "fs-1"})


def test_a_file_has_no_keys_with_names_of_python() -> None:
    with pytest.raises(ValidationError):
        read({"mode": "slow"})
    with pytest.raises(ValidationError):
        read({"pause": {"seconds": 1800}})


def test_a_token_is_accepted_for_any_value() -> None:
    made = Task(name=TEXT_TOKEN, pause=Pause(seconds=NUMBER_TOKEN), key_arn=TEXT_TOKEN, retry=Retry(times=NUMBER_TOKEN))  # pyright: ignore[reportArgumentType]
    assert made.pause is not None
    assert (made.pause.seconds, made.key_arn) == (NUMBER_TOKEN, TEXT_TOKEN)
    assert check_fields(made) == []


def test_a_token_is_accepted_as_a_value_of_a_mapping() -> None:
    given: Any = {"node": NUMBER_TOKEN}
    assert SlurmAccount(name="research", grp_tres=given).grp_tres == given


@pytest.mark.parametrize(
    ("given", "where", "code", "remedy"),
    [
        ({"pause": 1800}, "pause", "LF113", "Pause(seconds=…)"),
        ({"retry": True}, "retry", "LF113", "Retry()"),
        ({"mode": "slow"}, "mode", "LF114", "Mode.FAST"),
        ({"key_arn": "alias/mine"}, "key_arn", "LF116", "arn:aws:kms"),
        ({"parts": {"x": "30 min"}}, "parts.x", "LF113", "Pause(seconds=…)"),
        ({"steps": ("30 min",)}, "steps[0]", "LF113", "Pause(seconds=…)"),
        ({"systems_id": "a"}, "systems_id", "LF110", "`system_id`"),
        ({"how": Mode.SLOW}, "how", "LF110", "allowed arguments"),
    ],
)
def test_a_wrong_value_in_python_is_rejected_with_its_path(
    given: dict[str, Any], where: str, code: str, remedy: str
) -> None:
    (problem,) = rejected(Task, name="a", **given)
    assert (problem.where, problem.code) == (where, code)
    assert remedy in problem.remedy


def test_a_number_in_python_is_in_the_unit_of_the_api() -> None:
    (problem,) = rejected(Pause, seconds="30 min")
    assert (problem.where, problem.code, problem.remedy) == ("seconds", "LF113", "write a whole number of s")


def test_every_missing_field_is_reported() -> None:
    assert [problem.where for problem in rejected(Task, pause=3)] == ["name", "pause"]


def test_a_range_is_checked_in_nested_fields() -> None:
    task = Task(
        name="a",
        pause=Pause(seconds=5),
        retry=Retry(times=10),
        parts={"x": Pause(seconds=6)},
        steps=(Pause(seconds=7),),
    )
    found = {problem.where: problem for problem in check_fields(task)}
    assert list(found) == ["pause.seconds", "retry.times", "parts.x.seconds", "steps[0].seconds"]
    assert (found["retry.times"].message, found["retry.times"].allowed) == ("the number must be at most 9", "1 to 9")
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
    assert rejected(Source, folder=3)[0].where == "folder"


def machine(written: Mapping[str, Any]) -> Machine:
    return Machine.model_validate_json(json.dumps(in_long_form(Machine, written)))


def test_a_field_can_have_another_type_in_the_file() -> None:
    made = Machine(mode=Mode.FAST, pauses=[Pause(seconds=60), Pause(seconds=90)])
    assert machine({"mode": "quick", "pauses": {"a": "1 min", "b": {"for": "90 s"}}}) == made
    assert made.pauses == (Pause(seconds=60), Pause(seconds=90))
    schema = Machine.model_json_schema()
    assert schema["properties"]["pauses"]["type"] == "object"
    assert schema["$defs"]["Word"]["enum"] == ["quick"]
    for wrong in ({"mode": "fast"}, {"pauses": [{"for": "1 min"}]}):
        with pytest.raises(ValidationError):
            machine(wrong)


def test_a_field_accepts_an_object_or_its_name() -> None:
    class OfTheCdk:
        subnet_id = "subnet-1"

    made = Machine(subnets=[OfTheCdk(), "subnet-2", TEXT_TOKEN])
    assert [SUBNET.name_of(each) for each in made.subnets] == ["subnet-1", "subnet-2", TEXT_TOKEN]
    assert machine({"subnets": ["subnet-1"], "key": KEY}) == Machine(subnets=("subnet-1",), key=KEY)
    with pytest.raises(ValidationError, match="not the ARN of a KMS key"):
        machine({"key": "alias/mine"})


@pytest.mark.parametrize(
    ("given", "where", "code", "remedy"),
    [
        ({"mode": Word.QUICK}, "mode", "LF114", "Mode.FAST"),
        ({"pauses": {"a": Pause(seconds=60)}}, "pauses", "LF113", "a tuple"),
        ({"pauses": [3]}, "pauses[0]", "LF113", "Pause(seconds=…)"),
        ({"subnets": "subnet-1"}, "subnets", "LF113", "a tuple"),
        ({"subnets": [3]}, "subnets[0]", "LF113", "give a subnet of the CDK, or its id"),
        ({"key": "alias/mine"}, "key", "LF116", "arn:aws:kms"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_path(given: dict[str, Any], where: str, code: str, remedy: str) -> None:
    (problem,) = rejected(Machine, **given)
    assert (problem.where, problem.code) == (where, code)
    assert remedy in problem.remedy


class KeyRef:
    key_arn = KEY


class Reached:
    key_ref = KeyRef()
    security_group_id = "sg-0123456789abcdef0"
    log_group_name = "/aws/fsx/fleet"
    bucket_name = "corpus"


class Existing(Spec):
    key: Key | None = None
    group: OwnSecurityGroup | None = None
    log: LogGroup | None = None
    bucket: Bucket | None = None


@pytest.mark.parametrize("name", Existing.model_fields)
def test_an_existing_resource_is_an_object_or_its_text_in_python(name: str) -> None:
    thing = Reached()
    texts = {"key": KEY, "group": "sg-0123456789abcdef0", "log": "/fleet", "bucket": "s3://corpus"}
    for given in (thing, texts[name], TEXT_TOKEN, None):
        assert getattr(Existing(**{name: given}), name) is given
    (problem,) = rejected(Existing, **{name: 5})
    assert (problem.where, problem.code) == (name, "LF113")
    with pytest.raises(ValidationError):
        Existing.model_validate_json(json.dumps({name: {"key_arn": KEY}}))


@pytest.mark.parametrize(("name", "wrong"), [("key", "alias/mine"), ("group", "my-group")])
def test_the_text_of_an_existing_resource_has_the_same_form_in_a_file_and_in_python(name: str, wrong: str) -> None:
    (problem,) = rejected(Existing, **{name: wrong})
    assert problem.code == "LF116"
    with pytest.raises(ValidationError, match="this is not"):
        Existing.model_validate_json(json.dumps({name: wrong}))


class Stop(Spec):
    after_seconds: Annotated[
        Seconds,
        Within(
            limit=Limit(minimum=1, maximum=9), code=Code.QUANTITY, what="the end", below="leave it out", above="write 9"
        ),
        InRequest("Stopping.After"),
    ] = 5
    pending_seconds: Annotated[Seconds | None, InRequest("Stopping.Pending")] = None
    note: str = ""


class Run(Spec):
    stop: Stop = Stop()
    tries: Annotated[int | None, InRequest("Tries")] = None


def test_a_field_has_the_path_of_its_value_in_the_request():
    assert in_request(Run()) == {"Stopping": {"After": 5}}
    stop = Stop(after_seconds=NUMBER_TOKEN, pending_seconds=0)  # pyright: ignore[reportArgumentType]
    assert in_request(Run(stop=stop, tries=2)) == {"Stopping": {"After": NUMBER_TOKEN, "Pending": 0}, "Tries": 2}


@pytest.mark.parametrize(("seconds", "remedy"), [(0, "leave it out"), (10, "write 9")])
def test_a_range_can_have_a_remedy_for_each_side(seconds: int, remedy: str):
    (problem,) = check_fields(Run(stop=Stop(after_seconds=seconds)))
    assert (problem.path, problem.remedy) == (("stop", "after_seconds"), remedy)


class Rolling(Spec):
    batch: Annotated[int | None, InRequest("policy.size")] = None
    alarms: Annotated[Several[str], InRequest("alarms", lambda names: [{"name": name} for name in names])] = ()


class Unit(Spec):
    name: Annotated[str, InRequest("unitName")]
    mode: Annotated[Mode | None, InRequest("mode")] = None
    tags: Annotated[Several[str], InRequest("tags")] = ()
    rolling: Annotated[Rolling | None, InRequest("update")] = None
    secret: str | None = None


def test_a_field_is_rendered_at_its_property() -> None:
    assert in_request(Unit(name="a", secret="b")) == {"unitName": "a"}
    rolling = Rolling(batch=0, alarms=["x", TEXT_TOKEN])
    assert in_request(Unit(name=TEXT_TOKEN, mode=Mode.SLOW, tags=["t"], rolling=rolling)) == {
        "unitName": TEXT_TOKEN,
        "mode": "slow",
        "tags": ["t"],
        "update": {"policy": {"size": 0}, "alarms": [{"name": "x"}, {"name": TEXT_TOKEN}]},
    }
    assert in_request(Unit(name="a", rolling=Rolling())) == {"unitName": "a", "update": {}}


class Login(Spec):
    """Fields whose values a problem shows, and secrets, which it does not show."""

    secret: Annotated[Secret | None, Field(alias="password")] = None
    variables: Mapping[str, str] = {}
    mode: Mode = Mode.FAST
    steps: tuple[int, ...] = (4,)
    task: Task | None = None
    queues: Named[Task] = ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", [4]),
        ("mode", "slow"),
        ("secret", None),
        ("task", None),
        (("variables", "A"), "a"),
        (("variables", "B"), None),
        (("steps", 0), 4),
        (("task", "pause", "seconds"), 60),
        (("queues", "q", "retry", "times"), 3),
    ],
)
def test_a_problem_of_a_field_has_its_path_and_value(field: str | tuple[str | int, ...], value: Any) -> None:
    task = Task(name="q", pause=Pause(seconds=60), retry=Retry())
    login = Login(secret=SECRET, variables={"A": "a"}, mode=Mode.SLOW, task=task, queues=[task])
    found = login.wrong(field, Code.QUANTITY, "it is wrong", "fix it", allowed="another")
    path = (field,) if isinstance(field, str) else field
    assert found == Problem(
        code=Code.QUANTITY, message="it is wrong", remedy="fix it", path=path, value=value, allowed="another"
    )


def test_a_problem_of_a_field_can_have_another_value_or_none() -> None:
    retry = Retry(times=5)
    assert retry.wrong("times", Code.QUANTITY, "…", "…", value=None).value is None
    assert retry.wrong("times", Code.QUANTITY, "…", "…", value="5 of 3").value == "5 of 3"


def test_a_problem_of_an_unknown_field_fails() -> None:
    with pytest.raises(AttributeError):
        Retry().wrong("time", Code.QUANTITY, "…", "…")
