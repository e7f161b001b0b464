"""The collector's configuration, and the CloudWatch metrics that result from the metrics pages of servers.

A model of the collector by the documented rules: the CloudWatch metrics from its configuration and a scraped page.

Prometheus matches a relabeling regex against the whole name. The EMF exporter matches a selector anywhere in the
metric's name, and writes a set of dimensions only for a series that has all of its labels.
"""

import json
import re
from typing import Any

import pytest

from llm_fleet.catalog.model_server import model_servers, server_metrics
from llm_fleet.catalog.service import collector_facts
from llm_fleet.inference.alarms import alarm_plans
from llm_fleet.inference.metrics import ServiceMetrics, collector_configuration
from llm_fleet.notifications.metric_alarms import Measure, ServiceMetric
from llm_fleet.spec.service import Alarms

TGI = """\
# TYPE tgi_queue_size gauge
tgi_queue_size 3
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 4
# TYPE tgi_batch_current_max_tokens gauge
tgi_batch_current_max_tokens 16384
# TYPE tgi_request_count counter
tgi_request_count 12
# TYPE tgi_request_failure counter
tgi_request_failure{err="overloaded"} 2
tgi_request_failure{err="validation"} 1
tgi_request_failure{err="generation"} 1
# TYPE tgi_request_queue_duration histogram
tgi_request_queue_duration_bucket{le="0.00015"} 0
tgi_request_queue_duration_bucket{le="+Inf"} 9
tgi_request_queue_duration_sum 4.5
tgi_request_queue_duration_count 9
# TYPE tgi_request_validation_duration histogram
tgi_request_validation_duration_bucket{le="+Inf"} 9
tgi_request_validation_duration_sum 0.01
tgi_request_validation_duration_count 9
# TYPE tgi_batch_inference_duration histogram
tgi_batch_inference_duration_bucket{method="prefill",le="+Inf"} 9
tgi_batch_inference_duration_sum{method="prefill"} 2.5
tgi_batch_inference_duration_count{method="prefill"} 9
tgi_batch_inference_duration_sum{method="decode"} 60.5
tgi_batch_inference_duration_count{method="decode"} 900
# TYPE tgi_request_mean_time_per_token_duration histogram
tgi_request_mean_time_per_token_duration_sum 0.4
tgi_request_mean_time_per_token_duration_count 9
# TYPE tgi_request_duration histogram
tgi_request_duration_sum 90.5
tgi_request_duration_count 9
# TYPE tgi_request_generated_tokens histogram
tgi_request_generated_tokens_sum 900
tgi_request_generated_tokens_count 9
"""

VLLM = """\
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 9001
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="chat"} 4.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="chat"} 1.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="chat",reason="capacity"} 1.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="chat"} 900.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="chat"} 0.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="chat"} 9.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="chat"} 3.5
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_count{engine="0",model_name="chat"} 900.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="chat"} 30.5
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_count{engine="0",model_name="chat"} 9.0
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="chat"} 90.5
# TYPE vllm:request_generation_tokens histogram
vllm:request_generation_tokens_count{engine="0",model_name="chat"} 9.0
vllm:request_generation_tokens_sum{engine="0",model_name="chat"} 900.0
"""


Metric = tuple[str, frozenset[tuple[str, str]]]
"""Name and dimensions."""

_LINE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(\{(?P<labels>[^}]*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def exported(configuration: dict[str, Any], page: str) -> set[Metric]:
    """Return the CloudWatch metrics that a collector with `configuration` publishes from `page`."""
    (scrape,) = configuration["receivers"]["prometheus"]["config"]["scrape_configs"]
    (static,) = scrape["static_configs"]
    (relabelling,) = scrape["metric_relabel_configs"]
    assert relabelling["action"] == "keep"
    assert relabelling["source_labels"] == ["__name__"]
    types = dict(re.findall(r"# TYPE (\S+) (\S+)", page))
    found: set[Metric] = set()
    for name, labels in [*_series(page), ("up", {})]:
        if name != "up" and not re.fullmatch(relabelling["regex"], name):
            continue
        family = _SUFFIX.sub("", name) if types.get(_SUFFIX.sub("", name)) == "histogram" else name
        for declaration in configuration["exporters"]["awsemf"]["metric_declarations"]:
            found |= _declared(declaration, family, {**labels, **static["labels"]})
    return found


def of_measure(measure: Measure) -> set[Metric]:
    """Return the metrics of `measure`."""
    parts = [measure] if isinstance(measure, ServiceMetric) else list(measure.metrics.values())
    return {(part.name, frozenset(part.dimensions.items())) for part in parts}


def _series(page: str) -> list[tuple[str, dict[str, str]]]:
    lines = [found for line in page.splitlines() if not line.startswith("#") and (found := _LINE.fullmatch(line))]
    return [(line["name"], dict(_LABEL.findall(line["labels"] or ""))) for line in lines]


def _declared(declaration: dict[str, Any], name: str, labels: dict[str, str]) -> set[Metric]:
    if not any(re.search(selector, name) for selector in declaration["metric_name_selectors"]):
        return set()
    return {
        (name, frozenset((dimension, labels[dimension]) for dimension in dimensions))
        for dimensions in declaration["dimensions"]
        if all(dimension in labels for dimension in dimensions)
    }


SERVERS = {"tgi": TGI, "hugging-face-vllm": VLLM, "aws-vllm": VLLM, "aws-vllm-neuron": VLLM}

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


def requested(server: str) -> set[Metric]:
    """Every metric of the collector that llm-fleet uses."""
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


def test_every_server_of_the_catalog_is_tested():
    assert set(SERVERS) == set(model_servers())


@pytest.mark.parametrize("server", SERVERS)
def test_all_used_metrics_are_exported(server: str):
    assert exported(configuration(server), SERVERS[server]) >= requested(server)


@pytest.mark.parametrize("server", SERVERS)
def test_no_unused_metric_is_exported(server: str):
    published = {name for name, _ in exported(configuration(server), SERVERS[server])}
    assert published == {name for name, _ in requested(server)}


@pytest.mark.parametrize("server", SERVERS)
def test_a_selector_matches_one_metric(server: str):
    """The exporter matches a selector anywhere in a name, so that `up` would also match `updates`."""
    declarations = configuration(server)["exporters"]["awsemf"]["metric_declarations"]
    selectors = [selector for declaration in declarations for selector in declaration["metric_name_selectors"]]
    assert all(selector.startswith("^") and selector.endswith("$") for selector in selectors)
    assert len(selectors) == len(set(selectors)) == 1 + len(server_metrics(server).all)


def test_for_tgi_only_prefill_counts_for_the_time_to_the_first_token():
    dimensions = of_measure(metrics_of("tgi").time_to_first_token())
    assert ("tgi_batch_inference_duration", "prefill") in {(name, dict(d).get("method")) for name, d in dimensions}
    assert len(dimensions) == 3


@pytest.mark.parametrize("server", SERVERS)
def test_pipelines_use_the_configured_components(server: str):
    collector = configuration(server)
    (pipeline,) = collector["service"]["pipelines"].values()
    for kind in ("receivers", "processors", "exporters"):
        assert set(pipeline[kind]) == set(collector[kind])


@pytest.mark.parametrize("server", SERVERS)
def test_components_and_keys_are_documented(server: str):
    collector = configuration(server)
    assert set(collector["receivers"]) == RECEIVERS
    assert {name: set(settings) <= PROCESSORS[name] for name, settings in collector["processors"].items()} == {
        "memory_limiter": True,
        "cumulativetodelta": True,
    }
    assert set(collector["exporters"]) == {"awsemf"}
    assert set(collector["exporters"]["awsemf"]) == EXPORTER
    (scrape,) = collector["receivers"]["prometheus"]["config"]["scrape_configs"]
    assert set(scrape) == SCRAPE


@pytest.mark.parametrize("server", SERVERS)
def test_every_histogram_is_converted_to_differences(server: str):
    """Otherwise CloudWatch would average over the server's whole lifetime at each scrape."""
    histograms = {line.split()[2] for line in SERVERS[server].splitlines() if line.endswith(" histogram")}
    include = configuration(server)["processors"]["cumulativetodelta"]["include"]
    assert (include["match_type"], set(include["metrics"])) == ("strict", histograms)


def test_a_scrape_ends_before_the_next_one_and_the_memory_limit_is_below_that_of_the_container():
    facts = collector_facts()
    assert facts.scrape_timeout_seconds < facts.scrape_seconds
    assert facts.memory_limiter_mib + facts.memory_spike_mib < facts.memory_mib
    # API_ContainerRestartPolicy.
    assert 60 <= facts.restart_attempt_seconds <= 1800


@pytest.mark.parametrize("server", SERVERS)
def test_the_configuration_contains_no_variables(server: str):
    """The collector replaces `${name}`, and in the Prometheus part of the configuration `$1` is a group."""
    collector = configuration(server)
    assert "${" not in json.dumps(collector)
    assert "$" not in json.dumps(collector["receivers"])
