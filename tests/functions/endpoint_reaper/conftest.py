"""An account with two endpoints."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from llm_fleet_local.aws.resources.moto_fixes import install_moto_fixes
from tests.functions.endpoint_reaper.hosted import REGION, Hosted


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosted]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    # One of the fixes loads thousands of unused policies unless they are loaded already.
    monkeypatch.setenv("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
    install_moto_fixes()
    monkeypatch.setenv("MOTO_IAM_LOAD_MANAGED_POLICIES", "false")
    with mock_aws():
        made = Hosted()
        made.make()
        yield made
