"""A cluster to submit on."""

from pathlib import Path

import pytest

from llm_fleet.cli import session as session_module
from llm_fleet.cli.jobs import submission
from llm_fleet.cli.session import Session, Target
from tests.cli.jobs.cluster_by_session import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """Its programs are on PATH, and no attempt waits for the next."""
    made = FakeCluster.make(tmp_path)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(session_module, "_PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(submission, "_PAUSE", "0.1")
    return made


@pytest.fixture
def session(cluster: FakeCluster) -> Session:
    """A session with its login node."""
    ssm = "sagemaker-cluster:0123456789ab_login-i-0123456789abcdef0"
    return Session(Target(name="login i-0123456789abcdef0", ssm=ssm, region="us-west-2"), user="ada")
