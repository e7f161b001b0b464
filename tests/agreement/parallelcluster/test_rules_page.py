"""The page of the rules is generated from the tables of the tests."""

import os
from collections import defaultdict

from llm_fleet.rules.codes import Code
from tests.agreement.parallelcluster import defects_of_accounting
from tests.agreement.parallelcluster.defect import SCHEMA
from tests.agreement.parallelcluster.defects import DEFECTS
from tests.agreement.parallelcluster.not_ours import NOT_OURS
from tests.agreement.parallelcluster.stricter import STRICTER
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "constructs" / "parallelcluster-rules.md"
HEAD = """# ParallelCluster validation rules

The mistakes in a ParallelCluster configuration that llm-fleet reports at synth time, in the fleet file and in the
construct. For each rule, a test checks that ParallelCluster's own validator (package `aws-parallelcluster` 3.16.1, with
AWS emulated by moto) rejects the same cluster and accepts the nearest valid one. This page is generated
(`make golden`) from the tables of those tests, and checked by one. See [ParallelCluster](parallelcluster.md).

| code | error | validator of ParallelCluster |
|---|---|---|
"""
STRICTER_HEAD = """
## Where llm-fleet is stricter

ParallelCluster accepts these, or leaves them to EC2, and the consequences are worse than an error message.

| code | error | why |
|---|---|---|
"""
NOT_OURS_HEAD = """
## Validators without a rule

These validators of ParallelCluster have no rule in llm-fleet. Those that query AWS run when the cluster is created, in
its provider.

| validator | why | what it checks |
|---|---|---|
"""
_WORDS = {SCHEMA: "its schema", "ConfigValidationError": "the lookup of instance types"}


def page() -> str:
    """Return the page for the tables."""
    theirs: defaultdict[Code, dict[str, None]] = defaultdict(dict)
    for defect in (*DEFECTS, *defects_of_accounting.DEFECTS):
        theirs[defect.code][_WORDS.get(defect.validator, f"`{defect.validator}`")] = None
    rules = [f"| {code.value} | {code.title_} | {', '.join(said)} |" for code, said in sorted(theirs.items())]
    stricter = [f"| {each.code.value} | {each.name} | {each.why} |" for each in STRICTER]
    others = [f"| `{name}` | {reason} | {what} |" for name, (reason, what) in sorted(NOT_OURS.items())]
    parts = [HEAD, *rules, STRICTER_HEAD, *stricter, NOT_OURS_HEAD, *others]
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def test_generated_page_matches_the_tables():
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "rules have changed: run `make golden`"
