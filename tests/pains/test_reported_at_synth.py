"""Common problems that the fleet file reports before anything is deployed."""

from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.problem import FleetError
from tests.pains.reported import reported

FLEET = """\
fleet: pains
region: us-west-2
network: {az: usw2-az4}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}
"""


def rejection(path: Path, old: str, new: str) -> str:
    assert old in FLEET
    file = path / "fleet.yaml"
    file.write_text(FLEET.replace(old, new))
    with pytest.raises(FleetError) as caught:
        load_fleet(file)
    return str(caught.value)


def test_a_plan_of_another_account_or_region(tmp_path: Path):
    plan = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/reserved"
    text = rejection(tmp_path, "partition: trn1", f'partition: trn1, training_plan: "{plan}"')
    reported(14, text, "the training plan is in region us-east-1, but the cluster is in us-west-2")


def test_slurm_configured_twice(tmp_path: Path):
    scripts = "scripts: {bucket: sagemaker-mine, prefix: a, provisioning_parameters: true}"
    text = rejection(tmp_path, "    kind: hyperpod\n", f"    kind: hyperpod\n    lifecycle: OnCreate\n    {scripts}\n")
    reported(17, text, "reads Slurm's groups from the API, not from provisioning_parameters.json")


def test_a_login_node_in_a_partition(tmp_path: Path):
    login = "login: {role: login, type: ml.m5.xlarge, count: 1, partition: dev}\n      workers:"
    reported(
        18,
        rejection(tmp_path, "workers:", login),
        "HyperPod adds all nodes, including login nodes, to its own partition dev",
    )


def test_two_people_with_one_id(tmp_path: Path):
    users = "users: {ada: {uid: 2001}, grace: {uid: 2001}}\n"
    text = rejection(tmp_path, "    kind: hyperpod\n", f"    kind: hyperpod\n    {users}")
    reported(20, text, "2001")
    assert "grace" in text
