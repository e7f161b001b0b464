"""The page about scaling and sight tells of everything that there is, and its examples run."""

import re

import aws_cdk as cdk

from llm_fleet.catalog.model_server import server_metrics
from llm_fleet.catalog.service import alarm_facts, collector_facts, neuron_health_facts, scaling_facts
from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.rules.codes import Code
from llm_fleet.spec.service import Alarms, Scaling, ServiceSpec
from tests.inference.scaling.conftest import METRICS
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs" / "constructs" / "inference-scaling.md").read_text()


def row(name: str) -> str:
    """The row of a table whose first cell is `name`."""
    found = re.findall(rf"^\| `?{re.escape(name)}`? \|.*$", PAGE, re.MULTILINE)
    assert len(found) == 1, name
    return str(found[0])


def test_every_setting_has_its_default():
    assert all(row(name) for name in (*Scaling.model_fields, "desired", "minimum", "maximum"))
    assert f"| {scaling_facts().queue_target:g} |" in row("queue_target")
    assert f"| {scaling_facts().desired}, within" in row("desired")


def test_every_alarm_has_its_remedy():
    for plan in alarm_plans(METRICS, Alarms(), neuron_health=True):
        cells = row(plan.id).strip("|").split("|")
        assert len(cells) == 4
        assert all(cell.strip() for cell in cells)


def test_every_threshold_is_there_with_its_figure():
    facts = alarm_facts()
    assert f"`time_to_first_token_seconds` (default {facts.time_to_first_token_seconds})" in row("TimeToFirstToken")
    assert f"`server_error_percent` (default {facts.error_percent})" in row("ServerErrors")
    assert f"{facts.load_balancer_errors} in 5 minutes" in row("LoadBalancerErrors")
    assert f"{facts.task_stops} tasks" in row("TaskStopped")
    assert set(Alarms.model_fields) - {"topic_arn"} <= set(re.findall(r"(\w+)=…", PAGE))


def test_figures_are_those_of_the_catalog():
    scaling, collector = scaling_facts(), collector_facts()
    assert f"{scaling.scale_out_cooldown_seconds} seconds after growing" in PAGE
    assert f"{scaling.scale_in_cooldown_seconds} seconds after shrinking" in PAGE
    assert f"every {collector.scrape_seconds} seconds" in PAGE
    assert f"{collector.memory_mib} MiB and {collector.cpu_units} CPU units" in PAGE
    assert f"takes {neuron_health_facts().detector_memory_mib} MiB of the host" in PAGE


def test_every_metric_of_both_kinds_of_server_is_there():
    for server in ("tgi", "aws-vllm"):
        assert all(f"`{metric.name}" in PAGE for metric in server_metrics(server).all)


def test_every_code_is_there():
    assert all(code.value in PAGE for code in Code if "LF770" <= code.value <= "LF779")


def test_examples_run(stack: cdk.Stack):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    told: dict[str, object] = {"self": stack}
    exec(compile(code, "inference-scaling.md", "exec"), told)
    spec = told["spec"]
    assert isinstance(spec, ServiceSpec)
    assert (spec.tasks.minimum, spec.tasks.maximum) == (2, 6)
