"""The facts of inference services, compared with botocore's models."""

import re
from collections.abc import Mapping
from typing import Any

import botocore.session
import pytest
from botocore.session import get_session
from moto.elbv2.ssl_policies import SSL_POLICIES

from llm_fleet.catalog.model_server import server_metrics
from llm_fleet.catalog.service import collector_facts, front_facts, neuron_health_facts, scaling_facts, task_limits
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.service import ClaimFormat

FACTS = front_facts()


@pytest.fixture(scope="module")
def elbv2() -> Any:
    return get_session().get_service_model("elbv2")


def documented(model: Any, shape: str, member: str) -> str:
    text = model.shape_for(shape).members[member].documentation
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def test_times_are_those_of_elastic_load_balancing(elbv2: Any) -> None:
    balancer = documented(elbv2, "LoadBalancerAttribute", "Key")
    idle = FACTS.idle_timeout_seconds
    assert (
        f"valid range is {idle.minimum}-{idle.maximum} seconds. The default is {FACTS.idle_timeout_default_seconds}"
        in balancer
    )
    assert f"60-604800 seconds. The default is {FACTS.client_keep_alive_seconds} seconds" in balancer
    longest = FACTS.longest_answer_seconds
    assert longest.maximum is not None
    assert idle.maximum is not None
    assert f"The range is 0-{longest.maximum} seconds" in documented(elbv2, "TargetGroupAttribute", "Key")
    assert longest.maximum <= idle.maximum


def test_limits_of_tokens_are_those_of_elastic_load_balancing(elbv2: Any) -> None:
    config = "JwtValidationActionConfig"
    assert f"maximum length is {FACTS.jwt_text_characters} characters" in documented(elbv2, config, "Issuer")
    assert f"maximum length is {FACTS.jwt_text_characters} characters" in documented(elbv2, config, "JwksEndpoint")
    assert f"maximum size of the list is {FACTS.jwt_claims}." in documented(elbv2, config, "AdditionalClaims")
    claim = "JwtValidationActionAdditionalClaim"
    assert f"maximum size of the list is {FACTS.jwt_claim_values}." in documented(elbv2, claim, "Values")
    own = documented(elbv2, claim, "Name")
    assert all(re.search(rf"\b{name}\b", own) for name in FACTS.jwt_own_claims)
    formats = elbv2.shape_for("JwtValidationActionAdditionalClaimFormatEnum").enum
    assert {each.value for each in ClaimFormat} == set(formats)


def test_health_checks_are_within_limits(elbv2: Any) -> None:
    check = FACTS.health_check
    interval = elbv2.shape_for("HealthCheckIntervalSeconds").metadata
    threshold = elbv2.shape_for("HealthCheckThresholdCount").metadata
    assert interval["min"] <= check.interval_seconds <= interval["max"]
    assert check.timeout_seconds < check.interval_seconds
    for count in (check.healthy_threshold, check.unhealthy_threshold):
        assert threshold["min"] <= count <= threshold["max"]


def test_rate_limits_are_those_of_waf() -> None:
    waf = get_session().get_service_model("wafv2")
    limit = waf.shape_for("RateLimit").metadata
    assert (FACTS.requests_per_five_minutes.minimum, FACTS.requests_per_five_minutes.maximum) == (
        limit["min"],
        limit["max"],
    )
    windows = documented(waf, "RateBasedStatement", "EvaluationWindowSec")
    assert str(FACTS.rate_window_seconds) in re.findall(r"\d+", windows.partition("Valid settings are")[2])


def test_the_tls_policy_allows_no_old_protocol() -> None:
    assert set(SSL_POLICIES[FACTS.tls_policy]["ssl_protocols"]) == {"TLSv1.2", "TLSv1.3"}


def test_every_server_has_its_list_of_paths_without_key() -> None:
    assert set(FACTS.answered_without_key) == {kind.value for kind in ServerKind}


def test_only_rules_about_bodies_are_set_to_count() -> None:
    counted = [rule for group in FACTS.managed_rule_groups for rule in group.counted]
    assert "SizeRestrictions_BODY" in counted
    assert all(rule.endswith("_BODY") for rule in counted)


def shape(service: str, name: str) -> Mapping[str, Any]:
    model: Any = botocore.session.get_session().get_service_model(service)
    return model.shape_for(name)


def documentation(service: str, name: str, member: str) -> str:
    found: Any = shape(service, name)
    return str(found.members[member].documentation)


def test_capabilities_are_those_of_ecs_without_all():
    names = re.findall(r'"([A-Z_]+)"', documentation("ecs", "KernelCapabilities", "add"))
    assert sorted(names) == sorted(("ALL", *task_limits().capabilities))


def test_ecs_supports_the_capability_of_the_detector():
    assert '"SYSLOG"' in documentation("ecs", "KernelCapabilities", "add")


def test_restart_of_a_container_is_within_ecs_limits():
    text = documentation("ecs", "ContainerRestartPolicy", "restartAttemptPeriod")
    assert "60 seconds" in text
    assert "1800 seconds" in text
    assert 60 <= collector_facts().restart_attempt_seconds <= 1800


def test_units_are_those_of_cloudwatch():
    known: Any = shape("cloudwatch", "StandardUnit")
    units = {metric.unit for server in ("tgi", "aws-vllm") for metric in server_metrics(server).all}
    assert units <= set(known.enum)


def test_every_metric_exists_or_is_known_to_be_missing():
    for server in ("tgi", "hugging-face-vllm", "aws-vllm", "aws-vllm-neuron"):
        metrics = server_metrics(server)
        assert len(metrics.waiting) == len(metrics.running) == 1
        assert metrics.time_to_first_token
        assert bool(metrics.rejected) is (server == "tgi")


def test_images_are_pinned():
    facts = neuron_health_facts()
    for image in (collector_facts().image, facts.detector_image, facts.recovery_image):
        assert image.rpartition(":")[2] not in ("", "latest", image)


def test_scale_in_is_slower_than_scale_out():
    assert scaling_facts().scale_in_cooldown_seconds > scaling_facts().scale_out_cooldown_seconds
