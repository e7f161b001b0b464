"""One mistake in a SageMaker part, one error: its consequences are not reported in addition."""

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from tests.fleet_file.good_fleet import GOOD, edited

PARTS = """
studio:
  sign_in: SSO
  users:
    alice: {uid: 10001, gid: 1001, identity: alice@example.com}
  instance: ml.t3.medium
  instances: [ml.t3.medium]
endpoints:
  chat:
    model: {s3: s3://my-models/chat/, parameters: 8 B}
    instance: ml.inf2.8xlarge
    neuron: {cores: 2, batch: 4, length: 4096}
    volume: 100 GiB
    count: 2
    download_time: 30 min
    isolated: true
    rollout: {kind: canary, percent: 10}
training_jobs:
  tune:
    image: {uri: 111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1}
    instance: ml.g5.xlarge
    channels: {train: s3://my-data/tune}
    checkpoints: true
    metrics: {loss: "loss=([0-9.]+)"}
    tracking: {mlflow: "arn:aws:sagemaker:us-west-2:111122223333:mlflow-tracking-server/team", experiment: tune}
    watch: {restart: 2}
  other:
    image: {uri: 111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1}
    instance: ml.g5.xlarge
    watched: false
watch:
  when: {loss_spike: {metric: loss}}
"""
MODEL = "{s3: s3://my-models/chat/, parameters: 8 B}"
JOB = "training_jobs.tune"

MISTAKES = {
    "an invalid watch": ("watch:\n  when: {loss_spike: {metric: loss}}", "watch: true", "LF113", "watch"),
    "a condition without a value": ("metric: loss", "metric: ", "LF112", "watch.when.loss_spike.metric"),
    "a misspelled key of a condition": ("{metric: loss}", "{metrics: loss}", "LF110", "watch.when.loss_spike.metrics"),
    "an invalid watch of a job": ("watched: false", "watched: never", "LF113", "training_jobs.other.watched"),
    "an invalid MLflow server": (
        '{mlflow: "arn:aws:sagemaker:us-west-2:111122223333:mlflow-tracking-server/team"',
        "{mlflow: 1",
        "LF113",
        f"{JOB}.tracking.mlflow",
    ),
    "an invalid model": (MODEL, "[1]", "LF113", "endpoints.chat.model"),
    "a model URI without a colon": (MODEL, "s3//my-models/chat", "LF930", "endpoints.chat.model.hub"),
    "an invalid instance of an endpoint": (
        "instance: ml.inf2.8xlarge",
        "instance: ",
        "LF112",
        "endpoints.chat.instance",
    ),
    "an invalid kind of a rollout": ("kind: canary", "kind: canari", "LF114", "endpoints.chat.rollout.kind"),
    "an invalid sign-in": ("sign_in: SSO", "sign_in: SS0", "LF114", "studio.sign_in"),
    "an invalid user id": ("uid: 10001", "uid: ten", "LF113", "studio.users.alice.uid"),
    "an invalid instance in the list": (
        "instances: [ml.t3.medium]",
        "instances: [1, ml.g5.xlarge]",
        "LF113",
        "studio.instances[0]",
    ),
}


def test_the_unedited_parts_are_valid() -> None:
    parse_fleet(GOOD + PARTS)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_reported_once(mistake: str) -> None:
    old, new, code, where = MISTAKES[mistake]
    assert old in PARTS
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited() + PARTS.replace(old, new))
    reported = [
        (problem.code.value, problem.where) for problem in caught.value.problems if problem.code.value != "LF111"
    ]
    assert reported == [(code, where)], caught.value


WHOLE_FILE = {
    "an unknown region": (("us-west-2\nnetwork", "us-west-22\nnetwork"), "LF558", "region"),
    "an invalid network": (
        ("network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}", "network: usw2-az4"),
        "LF113",
        "network",
    ),
    "an invalid file system": (("{size: 4800 GiB, throughput: 250 MB/s/TiB}", "4800"), "LF113", "storage.fsx"),
    "jobs with a misspelled key": (("training_jobs:", "training_job:"), "LF110", "training_job"),
}
JOBS = """
notebooks:
  lab: {}
training_jobs:
  tune:
    image: pytorch
    source: {folder: tests/data/good/sagemaker-jobs, entry_point: train.py}
    instance: ml.g5.xlarge
    channels: {train: {fsx: text}}
    checkpoints: true
watch: {}
"""


@pytest.mark.parametrize("mistake", WHOLE_FILE)
def test_a_mistake_elsewhere_is_reported_only_there(mistake: str) -> None:
    edits, code, where = WHOLE_FILE[mistake]
    text = GOOD[: GOOD.index("clusters:")] + JOBS
    parse_fleet(text)
    with pytest.raises(FleetError) as caught:
        parse_fleet(text.replace(*edits))
    assert [(problem.code.value, problem.where) for problem in caught.value.problems] == [(code, where)], caught.value


def test_independent_mistakes_are_all_reported() -> None:
    text = PARTS.replace("sign_in: SSO", "sign_in: SS0").replace("metric: loss", "metric: lass")
    with pytest.raises(FleetError) as caught:
        parse_fleet(GOOD + text)
    assert {problem.code.value for problem in caught.value.problems} == {"LF114", "LF987"}
