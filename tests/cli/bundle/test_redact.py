"""Secrets are removed from the files of a bundle."""

import json
from pathlib import Path

import pytest

from llm_fleet.cli.bundle.redact import GONE, Redactor, redacted
from llm_fleet.cli.main import main
from tests.cli.bundle.secrets_of_each_form import BARE, HARMLESS, IN_CONTEXT, PEM, everything, leaked


@pytest.mark.parametrize("name", BARE)
@pytest.mark.parametrize("around", ["{}", "said {} to it", '{{"x": "{}"}}', "a={}", "https://x.org/?q={}&b=1", "({})"])
def test_a_secret_is_found_anywhere_in_a_text(name: str, around: str) -> None:
    assert BARE[name] not in redacted(around.format(BARE[name]))


@pytest.mark.parametrize("name", IN_CONTEXT)
def test_a_secret_is_found_by_its_name(name: str) -> None:
    text, secret = IN_CONTEXT[name]
    assert secret in text
    assert secret not in redacted(text)
    assert secret not in redacted(f"2026-11-22T03:00:00Z  {text}") or "\n" in text


def test_a_private_key_is_removed_even_if_incomplete() -> None:
    lines = PEM.splitlines()
    for text in (PEM, json.dumps({"key": PEM}), "\n".join(lines[:-1]), "\n".join(f"12:00:00  {one}" for one in lines)):
        assert leaked(redacted(text)) == []


def test_the_end_or_middle_of_a_private_key_is_removed() -> None:
    lines = PEM.splitlines()
    assert leaked(redacted("\n".join(f"12:00:00  {one}" for one in lines[2:]))) == []
    assert leaked(redacted("\n".join(f"12:00:00  {one}" for one in lines[1:-1]))) == []
    last = f"12:00:00  {BARE['GitHub'][4:24]}=="
    assert redacted(f"{last}\n12:00:00  {lines[-1]}") == f"12:00:00  {GONE}\n12:00:00  {GONE}"


def test_a_secret_is_found_by_the_name_next_to_it_in_data() -> None:
    reported = [{"Name": "DB_PASSWORD", "Value": "x1"}, {"ParameterKey": "HfToken", "ParameterValue": "x2"}]
    assert Redactor().data(reported) == [
        {"Name": "DB_PASSWORD", "Value": GONE},
        {"ParameterKey": "HfToken", "ParameterValue": GONE},
    ]
    kept = [{"Key": "Name", "Value": "x3"}, {"OutputKey": "SecretArn", "OutputValue": HARMLESS[0]}]
    assert Redactor().data(kept) == kept


def test_all_secrets_together_are_removed_and_a_second_run_changes_nothing() -> None:
    logged = "\n".join(f"2026-11-22T03:00:00Z  {line}" for line in everything().splitlines())
    assert leaked(redacted(logged)) == []
    assert len(leaked(everything())) == len(BARE) + len(IN_CONTEXT) + 1
    once = redacted(everything())
    assert leaked(once) == []
    assert redacted(once) == once


@pytest.mark.parametrize("text", HARMLESS)
def test_texts_without_secrets_are_kept(text: str) -> None:
    assert redacted(text) == text


def test_nested_data_is_searched_by_key() -> None:
    reported = {"env": [{"name": "a", "DB_PASSWORD": "x1"}], "credentials": {"id": 7, "list": ["x2"]}, "n": 5}
    assert Redactor().data(reported) == {
        "env": [{"name": "a", "DB_PASSWORD": GONE}],
        "credentials": {"id": GONE, "list": [GONE]},
        "n": 5,
    }
    kept = {"SecretArn": HARMLESS[0], "NextToken": None, "tokens": 3}
    assert Redactor().data(kept) == kept


def test_account_ids_are_kept_or_masked_with_one_replacement_each() -> None:
    text = "arn:aws:iam::111122223333:role/a 444455556666 111122223333 1234567890123"
    assert redacted(text) == text
    masked = Redactor(mask_accounts=True).text(text)
    assert masked == "arn:aws:iam::<account-1>:role/a <account-2> <account-1> 1234567890123"


def test_a_long_log_is_redacted_quickly() -> None:
    redacted("a.b-c_" * 30_000)
    redacted("password " * 10_000)
    redacted("=" * 30_000 + "x" * 30_000)


def test_a_remedy_of_several_missing_files_is_printed_once(
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
    assert err.count("is left out: no AWS credentials") >= 4
    assert err.count("remedy: run `aws configure sso` or `aws login`") == 1
