"""What a bundle says of what it could not have."""

from pathlib import Path

import pytest

from llm_fleet.cli.main import main


def test_what_to_do_is_told_once_for_all_that_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.chdir(tmp_path)
    words = ("bundle", "ml-cluster", "--region", "us-west-2", "--no-session", "-o", str(tmp_path / "out.tar.gz"))
    assert main(words) == 3
    err = capsys.readouterr().err
    assert err.count("is left out: there are no credentials to ask AWS with") >= 4
    assert err.count("remedy: run `aws configure sso` or `aws login`") == 1
