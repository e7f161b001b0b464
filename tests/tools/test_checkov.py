"""A finding of checkov needs a reason, and a reason needs a finding."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.golden import GOLDEN, golden_resources
from tools.checkov import __main__ as checkov
from tools.synth_environment import ROOT

KNOWN = {"CKV_1": {"AWS::S3::Bucket.Logs": "why"}}


def report(**summary: int) -> dict[str, Any]:
    failed = [{"check_id": "CKV_1", "resource": "AWS::S3::Bucket.Logs1234"}]
    return {"summary": {"passed": 5, "parsing_errors": 0, **summary}, "results": {"failed_checks": failed}}


def test_a_finding_with_a_reason_is_not_reported() -> None:
    assert checkov.differences(checkov.failed_in(report()), KNOWN) == []


def test_a_new_finding_and_an_unused_reason_are_reported() -> None:
    other, unused = checkov.differences({("CKV_1", "AWS::S3::Bucket.Data")}, KNOWN)
    assert other == "CKV_1 AWS::S3::Bucket.Data: fix it, or give a reason in tools/checkov/reasons.json"
    assert unused == "CKV_1 AWS::S3::Bucket.Logs: nothing is found there, remove its reason"


@pytest.mark.parametrize("summary", [{"parsing_errors": 1}, {"passed": 0}])
def test_unreadable_templates_are_an_error(summary: dict[str, int]) -> None:
    with pytest.raises(SystemExit, match="did not read"):
        checkov.failed_in(report(**summary))


def test_reasons_are_sentences_on_what_the_golden_templates_have() -> None:
    database = json.loads((GOLDEN.parent / "golden_database" / "records-database.json").read_text(encoding="utf-8"))
    found = [*golden_resources(), *((body["Type"], name) for name, body in database["Resources"].items())]
    resources = [f"{kind}.{name}" for kind, name in found]
    for reasons in checkov.reasons().values():
        for beginning, reason in reasons.items():
            assert any(one.startswith(beginning) for one in resources), beginning
            assert len(reason) > 30, reason


def test_checkov_is_pinned() -> None:
    project = tomllib.loads(Path(ROOT, "tools", "checkov", "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [one for one in project["dependencies"] if "==" not in one] == []
