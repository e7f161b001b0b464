"""Each error has its own code, and docs/error-codes.md lists the codes of the sources."""

import os

from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import (
    AlarmCode,
    CheckCode,
    CommandCode,
    DeployCode,
    FactsCode,
    LogsCode,
    MetricsCode,
    NodesCode,
    PeopleCode,
    PlanCode,
    RetainedCode,
    SageMakerCode,
)
from llm_fleet.rules.problem import AnyCode
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "error-codes.md"
HEAD = """# Error codes

Every error that llm-fleet reports has a stable code. To see all errors of a fleet file, each with the key, the value,
the allowed values and the remedy:

```console
$ llm-fleet validate fleet.yaml
```

This page is generated (`make golden`) and checked by a test.

| code | error |
|---|---|
"""


LISTS: tuple[type[AnyCode], ...] = (
    Code,
    SageMakerCode,
    CommandCode,
    CheckCode,
    PlanCode,
    NodesCode,
    LogsCode,
    MetricsCode,
    AlarmCode,
    PeopleCode,
    DeployCode,
    FactsCode,
    RetainedCode,
)
CODES = [code for codes in LISTS for code in codes]


def test_no_code_is_for_two_errors():
    aliases = [name for codes in LISTS for name, code in codes.__members__.items() if code.name != name]
    assert aliases == []
    assert len({code.value for code in CODES}) == len(CODES)


def test_generated_page_lists_every_code():
    page = HEAD + "".join(
        f"| {code.value} | {code.title_} |\n"
        for code in sorted(CODES, key=lambda code: int(code.value.removeprefix("LF")))
    )
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "codes have changed: run `make golden`"
