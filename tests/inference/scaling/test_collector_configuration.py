"""What the collector is told brings exactly the metrics that scaling, alarms and dashboard look at."""

import json
from typing import Any

import pytest

from llm_fleet.catalog.model_server import model_servers, server_metrics
from llm_fleet.catalog.service import collector_facts
from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.inference.metrics import ServiceMetrics, collector_configuration
from llm_fleet.spec.service import Alarms
from tests.inference.scaling import pages
from tests.inference.scaling.exposition import Metric, exported, of_measure

SERVERS = {"tgi": pages.TGI, "hugging-face-vllm": pages.VLLM, "aws-vllm": pages.VLLM, "aws-vllm-neuron": pages.VLLM}

# README of aws-observability/aws-otel-collector: its built-in components; READMEs of these: their keys.
RECEIVERS = {"prometheus"}
PROCESSORS = {
    "memory_limiter": {"check_interval", "limit_mib", "spike_limit_mib"},
    "cumulativetodelta": {"include", "exclude", "max_staleness", "initial_value"},
}
EXPORTER = {
    "namespace",
    "region",
    "log_group_name",
    "log_stream_name",
    "dimension_rollup_option",
    "retain_initial_value_of_delta_metric",
    "metric_declarations",
    "metric_descriptors",
}
# prometheus.io/docs/prometheus/latest/configuration/configuration: scrape_config, relabel_config.
SCRAPE = {
    "job_name",
    "scrape_interval",
    "scrape_timeout",
    "metrics_path",
    "static_configs",
    "metric_relabel_configs",
}


def configuration(server: str) -> dict[str, Any]:
    return collector_configuration(
        server=server,
        port=8080,
        metrics_path="/metrics",
        cluster_name="chat",
        service_name="chat",
        log_group_name="/llm-fleet/inference/chat",
        region="us-west-2",
    )


def metrics_of(server: str) -> ServiceMetrics:
    return ServiceMetrics(
        server=server,
        batch_size=4,
        cluster_name="chat",
        service_name="chat",
        load_balancer="app/chat/50dc6c495c0c9188",
        target_group="targetgroup/chat/73e2d6bc24d8a067",
    )


def asked(server: str) -> set[Metric]:
    """Every metric of the collector that anything of ours looks at."""
    metrics = metrics_of(server)
    rejected = metrics.rejected()
    measures = [
        metrics.requests_in_task(),
        metrics.time_per_token(),
        metrics.answers(),
        metrics.answer_time(),
        metrics.tokens(),
        *([rejected] if rejected else []),
        *(plan.measure for plan in alarm_plans(metrics, Alarms(), neuron_health=True)),
    ]
    names = {name for measure in measures for name in of_measure(measure)}
    return {(name, dimensions) for name, dimensions in names if ("ServiceName", "chat") in dimensions}


def test_every_server_of_the_catalog_is_known():
    assert set(SERVERS) == set(model_servers())


@pytest.mark.parametrize("server", SERVERS)
def test_what_is_looked_at_is_what_is_brought(server: str):
    assert exported(configuration(server), SERVERS[server]) >= asked(server)


@pytest.mark.parametrize("server", SERVERS)
def test_nothing_else_is_paid_for(server: str):
    brought = {name for name, _ in exported(configuration(server), SERVERS[server])}
    assert brought == {name for name, _ in asked(server)}


@pytest.mark.parametrize("server", SERVERS)
def test_a_selector_takes_one_metric(server: str):
    """The exporter takes a selector where it is found in a name, so that `up` would take `updates` too."""
    declarations = configuration(server)["exporters"]["awsemf"]["metric_declarations"]
    selectors = [selector for declaration in declarations for selector in declaration["metric_name_selectors"]]
    assert all(selector.startswith("^") and selector.endswith("$") for selector in selectors)
    assert len(selectors) == len(set(selectors)) == 1 + len(server_metrics(server).all)


def test_of_tgi_only_prefill_counts_towards_the_first_token():
    dimensions = of_measure(metrics_of("tgi").time_to_first_token())
    assert ("tgi_batch_inference_duration", "prefill") in {(name, dict(d).get("method")) for name, d in dimensions}
    assert len(dimensions) == 3


@pytest.mark.parametrize("server", SERVERS)
def test_pipelines_name_what_is_there(server: str):
    told = configuration(server)
    (pipeline,) = told["service"]["pipelines"].values()
    for kind in ("receivers", "processors", "exporters"):
        assert set(pipeline[kind]) == set(told[kind])


@pytest.mark.parametrize("server", SERVERS)
def test_components_and_keys_are_documented_ones(server: str):
    told = configuration(server)
    assert set(told["receivers"]) == RECEIVERS
    assert {name: set(settings) <= PROCESSORS[name] for name, settings in told["processors"].items()} == {
        "memory_limiter": True,
        "cumulativetodelta": True,
    }
    assert set(told["exporters"]) == {"awsemf"}
    assert set(told["exporters"]["awsemf"]) == EXPORTER
    (scrape,) = told["receivers"]["prometheus"]["config"]["scrape_configs"]
    assert set(scrape) == SCRAPE


@pytest.mark.parametrize("server", SERVERS)
def test_every_histogram_is_made_a_difference(server: str):
    """Else CloudWatch would average over the server's whole life at each scrape."""
    histograms = {line.split()[2] for line in SERVERS[server].splitlines() if line.endswith(" histogram")}
    include = configuration(server)["processors"]["cumulativetodelta"]["include"]
    assert (include["match_type"], set(include["metrics"])) == ("strict", histograms)


def test_a_scrape_ends_before_the_next_and_memory_is_limited_below_the_containers():
    facts = collector_facts()
    assert facts.scrape_timeout_seconds < facts.scrape_seconds
    assert facts.memory_limiter_mib + facts.memory_spike_mib < facts.memory_mib
    # API_ContainerRestartPolicy.
    assert 60 <= facts.restart_attempt_seconds <= 1800


@pytest.mark.parametrize("server", SERVERS)
def test_nothing_in_it_is_taken_for_a_variable(server: str):
    """The collector replaces `${name}`, and Prometheus' own part of the configuration takes `$1` for a group."""
    told = configuration(server)
    assert "${" not in json.dumps(told)
    assert "$" not in json.dumps(told["receivers"])
