"""An account in the AWS emulator, and `llm-fleet check` run for it in this process."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from llm_fleet_local.aws.client import LocalAws

TRN1 = """
fleet: post
region: us-west-2
network: {az: usw2-az4}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      trn1: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}
"""
ENOUGH = {
    "sagemaker": {
        "ml.m5.xlarge for cluster usage": 1,
        "ml.trn1.32xlarge for cluster usage": 4,
        "Total number of instances allowed across SageMaker HyperPod clusters": 5,
        "Maximum number instances allowed per SageMaker HyperPod cluster": 5,
    },
}


@contextmanager
def refusing(aws: LocalAws, code: str, **which: Any) -> Generator[None]:
    """Let calls fail with an error of AWS until the end of the context."""
    aws.refuse_calls(code, **which)
    try:
        yield
    finally:
        aws.refuse_calls(code, times=0)


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a check."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """With `--json`: checks by subject."""
        return {row["what"]: row for row in json.loads(self.out)["checks"]}

    def only(self, what: str) -> dict[str, Any]:
        """With `--json`: the one problem of a check."""
        (problem,) = self.rows[what]["problems"]
        return problem


Check = Callable[..., Checked]


@pytest.fixture(scope="session")
def aws() -> Generator[LocalAws]:
    """An account with the quotas for the fleet TRN1, and no resources."""
    with LocalAws(region="us-west-2") as local:
        local.give_account(quotas=ENOUGH)
        yield local


@pytest.fixture
def check(aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Return a function that checks a fleet file, given as path or text."""
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    def run(fleet: str | Path, *words: str) -> Checked:
        file = fleet if isinstance(fleet, Path) else tmp_path / "fleet.yaml"
        if isinstance(fleet, str):
            file.write_text(fleet, encoding="utf-8")
        code = main(["check", str(file), *words])
        reported = capsys.readouterr()
        return Checked(code, reported.out, reported.err)

    return run
