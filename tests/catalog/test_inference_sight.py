"""What the catalog says of scaling and sight is what AWS's own models take."""

import re
from collections.abc import Mapping
from typing import Any

import botocore.session

from llm_fleet.catalog.ecs_tasks import task_limits
from llm_fleet.catalog.inference_sight import collector_facts, neuron_health_facts, scaling_facts
from llm_fleet.catalog.server_metrics import server_metrics


def shape(service: str, name: str) -> Mapping[str, Any]:
    model: Any = botocore.session.get_session().get_service_model(service)
    return model.shape_for(name)


def documentation(service: str, name: str, member: str) -> str:
    found: Any = shape(service, name)
    return str(found.members[member].documentation)


def test_a_server_may_have_each_capability_of_ecs_but_all():
    names = re.findall(r'"([A-Z_]+)"', documentation("ecs", "KernelCapabilities", "add"))
    assert sorted(names) == sorted(("ALL", *task_limits().capabilities))


def test_the_detectors_capability_is_one_of_ecs():
    assert '"SYSLOG"' in documentation("ecs", "KernelCapabilities", "add")


def test_a_container_is_tried_again_within_ecs_bounds():
    told = documentation("ecs", "ContainerRestartPolicy", "restartAttemptPeriod")
    assert "60 seconds" in told
    assert "1800 seconds" in told
    assert 60 <= collector_facts().restart_attempt_seconds <= 1800


def test_units_are_cloudwatchs():
    known: Any = shape("cloudwatch", "StandardUnit")
    units = {metric.unit for server in ("tgi", "aws-vllm") for metric in server_metrics(server).all}
    assert units <= set(known.enum)


def test_every_question_is_answered_or_known_to_have_no_answer():
    for server in ("tgi", "hugging-face-vllm", "aws-vllm", "aws-vllm-neuron"):
        metrics = server_metrics(server)
        assert len(metrics.waiting) == len(metrics.running) == 1
        assert metrics.time_to_first_token
        assert bool(metrics.rejected) is (server == "tgi")


def test_images_are_pinned():
    facts = neuron_health_facts()
    for image in (collector_facts().image, facts.detector_image, facts.recovery_image):
        assert image.rpartition(":")[2] not in ("", "latest", image)


def test_shrinking_is_slower_than_growing():
    assert scaling_facts().scale_in_cooldown_seconds > scaling_facts().scale_out_cooldown_seconds
