"""Effects of another image on a ParallelCluster cluster and on an inference service, from the golden templates."""

import argparse
import json
from types import SimpleNamespace
from typing import Any

import pytest

from llm_fleet.cli.place import add_place, fleet_of, place_of
from llm_fleet.cli.upgrade.upgrades import parallelcluster_upgrade, service_upgrade
from llm_fleet.rules.problem import FleetError
from tests.golden import GOLDEN
from tools.synth_environment import ROOT


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_place(parser)
    return parser.parse_args(words)


def in_example(name: str) -> tuple[Any, Any]:
    given = arguments("-f", str(ROOT / "examples" / f"{name}.yaml"))
    return place_of(given), fleet_of(given)


def cloudformation(folder: str, stack: str) -> Any:
    body = json.loads((GOLDEN / folder / f"{stack}.json").read_text(encoding="utf-8"))

    def get_template(StackName: str, TemplateStage: str) -> Any:
        assert (StackName, TemplateStage) == (stack, "Original")
        return {"TemplateBody": body}

    return SimpleNamespace(cloudformation=SimpleNamespace(get_template=get_template))


def test_another_image_of_parallelcluster_is_checked_by_its_own_policies() -> None:
    place, fleet = in_example("parallelcluster-trn1")
    clients = cloudformation("parallelcluster-trn1", str(place.stack))
    plan = parallelcluster_upgrade(clients, place, image="ami-0123456789abcdef0", fleet=fleet)
    reported = "\n".join(plan.warnings)
    assert "Image/CustomAmi" in reported
    assert "ParallelCluster would reject the update" in reported
    assert any("another head node" in one for one in plan.lost)


def test_the_same_version_and_image_change_nothing() -> None:
    place, fleet = in_example("parallelcluster-trn1")
    plan = parallelcluster_upgrade(
        cloudformation("parallelcluster-trn1", str(place.stack)), place, image=None, fleet=fleet
    )
    assert plan.warnings == ["nothing changes: it has this version and this image"]
    assert plan.lost == []


def test_without_the_file_the_new_image_is_unknown() -> None:
    place = place_of(arguments("pc", "--kind", "parallelcluster", "--region", "us-west-2"))
    with pytest.raises(FleetError, match="LF1132"):
        parallelcluster_upgrade(SimpleNamespace(), place, image=None, fleet=None)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_hosts_of_a_service_are_counted_by_image() -> None:
    place, fleet = in_example("inference-inf2")
    instances = [{"attributes": [{"name": "ecs.ami-id", "value": f"ami-{n}"}]} for n in (1, 1, 2)]
    ecs = SimpleNamespace(
        list_container_instances=lambda cluster: {"containerInstanceArns": ["a", "b", "c"]},  # pyright: ignore
        describe_container_instances=lambda cluster, containerInstances: {"containerInstances": instances},  # pyright: ignore
    )
    plan = service_upgrade(SimpleNamespace(ecs=ecs), place, image=None, fleet=fleet)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    assert [(group.current, group.nodes) for group in plan.groups] == [("ami-1", 2), ("ami-2", 1)]
    assert plan.commands[0].startswith(f"cdk deploy {place.stack}")


@pytest.mark.parametrize("reported", [[], [{"status": "INACTIVE"}]])
def test_a_missing_service_is_reported(reported: list[dict[str, str]]) -> None:
    place, fleet = in_example("inference-inf2")
    ecs = SimpleNamespace(
        list_container_instances=lambda cluster: {"containerInstanceArns": []},  # pyright: ignore
        describe_services=lambda cluster, services: {"services": reported},  # pyright: ignore
    )
    with pytest.raises(FleetError, match="LF1008"):
        service_upgrade(SimpleNamespace(ecs=ecs), place, image=None, fleet=fleet)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
