"""The picture says what the assembly has: cards, lines, words; and says so when there is none."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from llm_fleet.cli.plan.picture import colours
from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.drawing import picture_of
from llm_fleet.cli.plan.picture.scene import Scene
from llm_fleet.rules.day_two.plan_codes import PlanCode
from llm_fleet.rules.problem import FleetError
from tests.cli.plan.picture.assembly_of import DATABASE, assembly_of
from tests.examples_made import ExamplesMade
from tools.synth_examples import templates_in

NAMESPACE = "{http://www.w3.org/2000/svg}"


def scene_of(assembly: Path) -> Scene:
    return Scene.of(Assembly.read(assembly))


def said(scene: Scene) -> set[str]:
    """Return its lines as sentences."""
    return {
        f"{scene.things[link.source].title} {link.verb} {scene.things[link.target].title} {link.how}".strip()
        for link in scene.links
    }


def test_a_cluster_its_nodes_and_what_it_mounts(examples_made: ExamplesMade):
    scene = scene_of(examples_made.of("hyperpod-full"))
    cards = {thing.title: thing for thing in scene.things.values()}
    assert cards["HyperPod full-train"].lines[:3] == (
        "controller: 1 \N{MULTIPLICATION SIGN} ml.m5.4xlarge",
        "login: 2 \N{MULTIPLICATION SIGN} ml.m5.xlarge",
        "trn1: 8-16 \N{MULTIPLICATION SIGN} ml.trn1.32xlarge",
    )
    assert cards["FSx for Lustre"].lines == ("19,200 GiB SSD", "PERSISTENT_2", "250 MB/s/TiB")
    assert {
        "HyperPod full-train mounts FSx for Lustre /fsx",
        "HyperPod full-train mounts FSx for OpenZFS /home",
        "FSx for Lustre imports from, exports to S3 bucket /data",
        "HyperPod told reads S3 bucket",
    } <= said(scene)
    assert [vpc.title for vpc in scene.vpcs] == ["VPC 10.0.0.0/16 + 10.1.0.0/16", "VPC that exists already"]
    assert [zone.title for zone in scene.vpcs[0].zones] == ["usw2-az4", "usw2-az2"]


def test_a_service_behind_its_load_balancer(examples_made: ExamplesMade):
    scene = scene_of(examples_made.of("inference-inf2"))
    cards = {thing.title: thing for thing in scene.things.values()}
    assert "2 \N{MULTIPLICATION SIGN} inf2.xlarge" in cards["ECS service inference-chat"].lines
    assert cards["Application Load Balancer"].lines[-1] == "in usw2-az1, usw2-az2"
    assert "Application Load Balancer sends requests to ECS service inference-chat" in said(scene)


def test_parallelcluster_sagemaker_and_a_watch(examples_made: ExamplesMade):
    parallelcluster = scene_of(examples_made.of("parallelcluster-full"))
    assert any(text.endswith("mounts FSx for Lustre /fsx") for text in said(parallelcluster))
    scene = scene_of(examples_made.of("sagemaker-full"))
    titles = {thing.title for thing in scene.things.values()}
    assert titles >= {
        "Endpoint everything-chat",
        "Notebook everything-desk",
        "Studio everything-lab",
        "Training job everything-pretrain",
        "DynamoDB table",
        "SNS topic",
    }
    assert {"Lambda function reads SQS queue", "4 alarms alarms tell SNS topic"} <= said(scene)


def test_a_database_stands_over_its_subnets(tmp_path: Path):
    template = json.loads((DATABASE / "records-database.json").read_text())
    scene = Scene.of(Assembly.read(assembly_of({"records-database": template}, tmp_path)))
    (database,) = [thing for thing in scene.things.values() if thing.title.startswith("Database")]
    assert database.title == "Database aurora-mysql"
    assert database.lines[:2] == ("0.5-4 ACU", "port 3306")


def test_the_same_assembly_gives_the_same_bytes(examples_made: ExamplesMade):
    assembly = examples_made.of("training-llama2-7b")
    assert picture_of(assembly) == picture_of(assembly)


def test_it_is_told_in_words_and_every_name_is_escaped(tmp_path: Path, examples_made: ExamplesMade):
    template = templates_in(examples_made.of("hyperpod-existing-network"))["in-our-vpc-train"]
    cluster = next(one for one in template["Resources"].values() if one["Type"] == "AWS::SageMaker::Cluster")
    cluster["Properties"]["ClusterName"] = "<b>&train"
    drawn = ElementTree.fromstring(picture_of(assembly_of({"a-train": template}, tmp_path)))
    assert drawn.findtext(f"{NAMESPACE}title") == "Architecture: a-train"
    told = drawn.findtext(f"{NAMESPACE}desc") or ""
    assert "Region us-west-2. VPC that exists already; HyperPod <b>&train" in told
    assert "HyperPod <b>&train mounts File system (/fsx)" in told
    assert drawn.get("role") == "img"


@pytest.mark.parametrize("written", [None, "{", '{"artifacts": []}', '{"artifacts": {}}', '{"artifacts": {"a": {}}}'])
def test_a_folder_that_is_no_assembly_is_told(tmp_path: Path, written: str | None):
    if written is not None:
        (tmp_path / "manifest.json").write_text(written)
    with pytest.raises(FleetError) as raised:
        picture_of(tmp_path)
    (problem,) = raised.value.problems
    assert problem.code is PlanCode.NO_ASSEMBLY
    assert "npx cdk synth --output cdk.out" in problem.remedy


def test_stacks_of_a_stage_are_drawn_as_well(tmp_path: Path, examples_made: ExamplesMade):
    (tmp_path / "stage").symlink_to(examples_made.of("hyperpod-trn1"))
    nested = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "stage"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"stage": nested}}))
    assert picture_of(tmp_path) == picture_of(tmp_path / "stage")


def test_letters_stand_out_from_every_ground():
    grounds = [colours.GROUND, *colours.BOXES.values(), *colours.CARDS.values()]
    assert min(contrast(ink, ground) for ink in (colours.INK, colours.MUTED) for ground in grounds) >= 4.5
    # WCAG 2.1, 1.4.11: lines and other graphics.
    boxes = [colours.GROUND, *colours.BOXES.values()]
    assert min(contrast(line, ground) for line, _, _ in colours.LINES.values() for ground in boxes) >= 3


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.1."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    channels = [int(part, 16) / 255 for part in re.findall("..", colour.removeprefix("#"))]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
