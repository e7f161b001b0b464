"""The page on hosts names every argument and code, has every statement with its reason, and its example runs."""

import os
from typing import Any

import pytest

from llm_fleet.catalog.neuron import ami_for, host_facts
from llm_fleet.iam.statements import Place, describe
from llm_fleet.inference.hosts import host_permissions
from llm_fleet.rules.codes import Code
from llm_fleet.spec.service import Hosts
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "constructs" / "inference-hosts.md"
BEGIN, END = "<!-- permissions -->", "<!-- end of permissions -->"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_argument_has_its_default_and_why(page: str):
    section = page.split("\n## Hosts\n")[1].split("\n## ")[0]
    assert [name for name in Hosts.model_fields if f"| `{name}` |" not in section] == []


def test_the_table_of_permissions_is_that_of_the_code(page: str):
    place = Place(partition="aws", region="REGION", account="ACCOUNT")
    table = describe(
        host_permissions(
            place,
            cluster_name="CLUSTER",
            log_group_arn=place.arn("logs", "log-group:SERVICE"),
            stack_id=place.arn("cloudformation", "stack/STACK/ID"),
            model=(),
        )
    )
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    wanted = f"{before}{BEGIN}\n{table}\n{END}{after}"
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert page == wanted, "permissions have changed: run `make golden`"


def test_the_numbers_are_the_catalogs(page: str):
    facts = host_facts()
    for told in (
        f"{facts.os_gib} GiB for the system",
        f"{facts.throughput_mib_s} MiB/s",
        f"{facts.boot_minutes} minutes for a host's word",
        f"{ami_for('2.28.0.0')} for all servers for inf2",
    ):
        assert told in page


def test_every_code_of_hosts_is_named(page: str):
    told_elsewhere = {Code.HOST_WITHOUT_NEURON, Code.HOST_AMI}
    own = [code for code in Code if "LF730" <= code.value <= "LF739"]
    assert len(own) > 5
    assert [code.value for code in own if code.value not in page and code not in told_elsewhere] == []


def test_the_example_runs(page: str):
    code = page.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert names["hosts"] == Hosts(root_volume_gib=200, ami="20260701", install_driver=False)
