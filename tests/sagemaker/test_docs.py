"""The pages on SageMaker: tables, numbers and examples are those of the code."""

import inspect
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from llm_fleet import (
    Distribution,
    HuggingFaceEndpoint,
    StudioDomain,
    TrainingImage,
    TrainingJobSpec,
    TrainingNotebook,
    TrainingWatch,
)
from llm_fleet.catalog.endpoint import (
    default_image_kind,
    endpoint_alarm_facts,
    endpoint_images,
    endpoint_scaling_facts,
    image_kinds,
    inference_amis,
    rollout_facts,
)
from llm_fleet.catalog.notebook import notebook_facts, studio_facts
from llm_fleet.catalog.training_job import (
    launchers,
    smp_versions,
    training_image_families,
    training_job_limit,
    training_watch_facts,
)
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.fleet_file.sagemaker import TrainingJobConfig
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.spec.training_job import OF_TRAINING_JOB
from llm_fleet.spec.watch import WatchCondition, WatchSpec
from tests.fleet_file.good_training_job import source_folder
from tests.pages import CONSTRUCTS, examples, rows, table
from tests.sagemaker.watches import Watched
from tools.synth_environment import ROOT

CONDITIONS = get_args(WatchCondition)
WATCH_PAGE = (CONSTRUCTS / "training-watch.md").read_text(encoding="utf-8")
FAILURES = ROOT / "constructs" / "llm_fleet" / "functions" / "training_watch" / "failures.json"


def test_every_parameter_of_the_watch_has_its_default_and_reason() -> None:
    parameters = {name.strip("`"): cells for name, cells in table(WATCH_PAGE, "Parameters").items()}
    assert set(parameters) == (
        set(inspect.signature(TrainingWatch.__init__).parameters) | set(WatchSpec.model_fields)
    ) - {
        "self",
        "scope",
        "id",
        "watch",
    }
    assert all(len(cells) == 2 and all(cells) for cells in parameters.values())


def test_defaults_of_the_watch_are_those_of_the_code() -> None:
    facts, parameters = training_watch_facts(), table(WATCH_PAGE, "Parameters")
    first = facts.restart.back_off_seconds
    waits = [first * 2**n for n in range(facts.restart.maximum)]
    assert parameters["`restart`"][0].startswith(
        f"{facts.restart.maximum} restarts, after {waits[0]}, {waits[1]} and {waits[2]} s"
    )
    assert f"more than {facts.restart.longest_back_off_seconds} s" in parameters["`restart`"][0]
    assert parameters["`grace_minutes`"][0] == str(facts.grace_minutes)
    conditions = {name.split("(")[0].strip("`"): cells[-1] for name, cells in table(WATCH_PAGE, "Conditions").items()}
    assert set(conditions) == {condition.__name__ for condition in CONDITIONS}
    spike, drop = facts.loss_spike, facts.throughput_drop
    assert conditions["LossSpike"] == f"{spike.factor:g}; {spike.minutes} of {spike.window_minutes} minutes"
    assert conditions["ThroughputDrop"] == f"{drop.below_fraction:g}; {drop.minutes} of {drop.window_minutes} minutes"
    assert conditions["Stall"] == f"{facts.stall.minutes} minutes"


def test_each_condition_is_documented_with_its_fields() -> None:
    conditions = {
        name.split("(")[0].strip("`"): re.findall(r"\w+", name)[1:] for name in table(WATCH_PAGE, "Conditions")
    }
    assert conditions == {condition.__name__: list(condition.model_fields) for condition in CONDITIONS}


def test_numbers_of_events_are_those_of_the_code() -> None:
    facts = training_watch_facts()
    assert f"Every {facts.sweep_minutes} minutes a sweep" in WATCH_PAGE
    assert facts.queue.timeout_seconds * facts.queue.visibility_per_timeout == 3600, "the page says: after an hour"
    assert facts.queue.receives == 5, "the page says: five times"
    assert f"waited for {facts.old_message_minutes} minutes" in WATCH_PAGE
    assert f"kept for {facts.queue.retention_days} days" in WATCH_PAGE
    assert f"IAM allows {facts.limits.role_policies} policies" in WATCH_PAGE


def test_each_alarm_is_documented(watched: Watched) -> None:
    alarms = [re.split(r"WatchAlarms", name)[1] for name in watched.of_type("AWS::CloudWatch::Alarm")]
    documented = [name.strip("`") for name in table(WATCH_PAGE, "Troubleshooting")]
    assert sorted(name[: len(name) - 8] for name in alarms) == sorted(documented)


def test_documented_restarts_are_those_of_the_function() -> None:
    """Each pattern of the function is in a table row with the resulting decision."""
    decisions = table(WATCH_PAGE, "Restart rules")
    rows = json.loads(FAILURES.read_text(encoding="utf-8"))["rows"]
    words = {
        "InternalServerError": "service",
        "CapacityError": "capacity",
        "AlgorithmError": "user",
        "ClientError": "user",
    }
    for word, cause in words.items():
        assert [row["cause"] for row in rows if word in row["pattern"]][:1] == [cause], word
        ((decision,),) = [cells for what, cells in decisions.items() if word in what]
        assert decision.startswith("restarted" if cause in ("service", "capacity") else "not restarted"), word


TRAINING_JOB_PAGE = (CONSTRUCTS / "training-job.md").read_text(encoding="utf-8")


def test_numbers_of_training_jobs_are_those_of_the_catalog():
    limit = training_job_limit("HyperParameters").maximum
    assert f"At most 92: the container's own parameters use the rest of the service's limit of {limit}." in " ".join(
        TRAINING_JOB_PAGE.split()
    )


def test_images_of_training_jobs_are_those_of_the_catalog():
    images = {cells[0]: cells[1:] for cells in rows(TRAINING_JOB_PAGE, "Images")}
    for family in training_image_families().values():
        default, others, _ = images[f"`{family.maker}()`"]
        assert default == family.default
        assert {default, *others.split(", ")} - {"none"} == set(family.versions)
    default, others, _ = images["`TrainingImage.smp()`"]
    assert (default, *others.split(", ")) == smp_versions()
    assert {re.findall(r"\.(\w+)\(", first)[0] for first in images} == makers_of(TrainingImage)
    until = training_image_families()["pytorch"].versions[training_image_families()["pytorch"].default].until
    assert f"patched until {until}" in " ".join(TRAINING_JOB_PAGE.split())


def makers_of(made: type) -> set[str]:
    return {name for name, member in vars(made).items() if isinstance(member, classmethod)} - {
        "from_shorthand",
        "shorthand_schemas",
        "in_python",
    }


def test_every_launcher_is_documented():
    launcher_rows = {re.findall(r"\.(\w+)\(", cells[0])[0] for cells in rows(TRAINING_JOB_PAGE, "Distribution")}
    assert launcher_rows == makers_of(Distribution) == set(launchers())


def test_arguments_of_the_estimator_have_existing_equivalents():
    fields = set(TrainingJobSpec.model_fields)
    keys = set(TrainingJobConfig.keys())
    for first, value, key in rows(TRAINING_JOB_PAGE, "From an estimator"):
        words = re.findall(r"`(\w+)`", first)
        assert words
        if value.startswith("left out"):
            assert len(key) == 1, "a dash"
            assert all(OF_TRAINING_JOB[word].startswith("remove it") for word in words), words
            continue
        assert re.findall(r"`(\w+)`", value)[0] in fields
        written = re.findall(r"`(\w+)`", key)[0]
        assert written in keys
        for word in words:
            known = OF_TRAINING_JOB.get(word, "")
            assert word == written or f"`{written}" in known or word == "fit" or word in keys, word


def test_the_examples_in_the_file_and_in_python_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(source_folder(tmp_path))
    text = examples(TRAINING_JOB_PAGE, "yaml")[0]
    fleet = parse_fleet(text, directory=tmp_path)
    of_file = fleet.training_jobs["gpt2"].in_fleet(fleet.name, tags=fleet.tags).model_dump()
    python = examples(TRAINING_JOB_PAGE)[0].split("TrainingJob(self")[0]
    names: dict[str, Any] = {}
    exec(python, names)
    of_python = names["job"].model_dump()
    assert of_file.pop("name") == f"small-{of_python.pop('name')}"
    assert of_file == of_python


ENDPOINT_PAGE = (CONSTRUCTS / "hugging-face-endpoint.md").read_text(encoding="utf-8")
OPERATIONS = (CONSTRUCTS / "hugging-face-endpoint-operations.md").read_text(encoding="utf-8")


def test_every_argument_of_an_endpoint_is_documented() -> None:
    arguments = list(inspect.signature(HuggingFaceEndpoint.__init__).parameters)[3:]
    assert [name for name in arguments if f"`{name}`" not in ENDPOINT_PAGE] == []


def test_default_images_of_endpoints_are_those_of_the_catalog() -> None:
    for accelerator, words in {"gpu": "GPUs", "neuron": "Inferentia and Trainium", "cpu": "processors"}.items():
        assert f"| {words} | `{default_image_kind(accelerator)}` |" in ENDPOINT_PAGE


def test_images_and_host_images_of_endpoints_are_those_of_the_catalog() -> None:
    for kind in image_kinds():
        for accelerator in ("cpu", "gpu", "neuron"):
            for facts in list(endpoint_images(kind, accelerator).values())[:1]:
                assert f"{facts.repository}:{facts.tag}" in ENDPOINT_PAGE
    for ami in inference_amis().values():
        assert f"| `{ami.name}` | {ami.driver} | {ami.cuda or '-'} |" in ENDPOINT_PAGE


def test_every_error_code_of_endpoints_is_documented() -> None:
    ours = [code for code in SageMakerCode if "LF930" <= code.value <= "LF944"]
    assert [code.value for code in ours if code.value not in ENDPOINT_PAGE] == []


def test_defaults_of_endpoint_operations_are_those_of_the_catalog() -> None:
    scaling, rollout, alarms = endpoint_scaling_facts(), rollout_facts(), endpoint_alarm_facts()
    assert f"{scaling.concurrent_requests:g} concurrent requests" in OPERATIONS
    assert f"{scaling.out_seconds} s after" in OPERATIONS
    assert f"{scaling.in_seconds} s after" in OPERATIONS
    for kind, limit in rollout.step_percent.items():
        word, default = kind.lower().replace("_", "-"), rollout.default_step_percent[kind]
        assert f"| `{word}` | {limit.minimum} to {limit.maximum} %, default {default} |" in OPERATIONS
    assert (
        f"for {rollout.default_bake_seconds} s by default and for at least {rollout.shortest_bake_seconds} s"
        in OPERATIONS
    )
    assert f"kept for another {rollout.default_termination_wait_seconds} s" in OPERATIONS
    assert f"{alarms.server_error_percent:g} % of the requests" in OPERATIONS
    assert f"took {alarms.model_latency_seconds:g} s or more" in OPERATIONS
    assert f"ran for {alarms.idle_hours} hours" in OPERATIONS


def test_every_error_code_of_endpoint_operations_is_documented() -> None:
    ours = [code.value for code in SageMakerCode if "LF945" <= code.value <= "LF959"]
    assert ours
    assert [code for code in ours if code not in OPERATIONS] == []


NOTEBOOK_PAGE = (CONSTRUCTS / "training-notebook.md").read_text(encoding="utf-8")
TIMER = (ROOT / "lifecycle_scripts/notebook_instance/systemd/llm-fleet-auto-stop.timer").read_text(encoding="utf-8")


def test_every_parameter_of_a_notebook_has_its_default_and_reason():
    documented = {name.strip("`"): cells for name, cells in table(NOTEBOOK_PAGE, "Parameters").items()}
    parameters = inspect.signature(TrainingNotebook.__init__).parameters
    assert set(documented) == set(parameters) - {"self", "scope", "id"}
    assert all(len(cells) == 2 and all(cells) for cells in documented.values())


def test_numbers_of_notebooks_are_those_of_the_catalog():
    facts = notebook_facts()
    assert f"{facts.additional_repositories_max + 1} at most" in NOTEBOOK_PAGE
    assert [f"`{prefix}`" in NOTEBOOK_PAGE for prefix in facts.sdk_name_prefixes] == [True] * 3
    assert facts.platforms["notebook-al2-v3"].ended in re.findall(r"\d{4}-\d\d-\d\d", NOTEBOOK_PAGE)
    assert "every five minutes" in NOTEBOOK_PAGE
    assert "OnUnitInactiveSec=5min" in TIMER


STUDIO_PAGE = (CONSTRUCTS / "studio.md").read_text(encoding="utf-8")


def test_every_parameter_of_studio_has_its_default_and_reason():
    documented = {name.strip("`"): cells for name, cells in table(STUDIO_PAGE, "Parameters").items()}
    parameters = inspect.signature(StudioDomain.__init__).parameters
    assert list(documented) == [name for name in parameters if name not in ("self", "scope", "id")]
    assert all(len(cells) == 2 and all(cells) for cells in documented.values())


def test_every_error_code_of_studio_is_documented():
    codes = [code.value for code in SageMakerCode if code.name.startswith("STUDIO_")]
    assert len(codes) == 10
    assert set(codes) <= set(re.findall(r"LF\d{3,4}", STUDIO_PAGE))


def test_numbers_of_studio_are_those_of_the_catalog():
    facts = studio_facts()
    assert f"from {facts.uid.minimum} to {facts.uid.maximum} and group IDs from {facts.gid.minimum}" in " ".join(
        STUDIO_PAGE.split()
    )
    assert facts.addresses_per_user == 4
    assert "Four addresses per user" in STUDIO_PAGE
