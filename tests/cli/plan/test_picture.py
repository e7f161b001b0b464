"""The picture of a fleet: its elements and their positions."""

import json
import re
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from llm_fleet.catalog.glyph_widths import text_width
from llm_fleet.cli.plan import picture_drawing
from llm_fleet.cli.plan.picture_assembly import Assembly, References
from llm_fleet.cli.plan.picture_drawing import picture_of
from llm_fleet.cli.plan.picture_layout import PAD, SMALL, TEXT, TITLE, Layout, Rectangle, ordered
from llm_fleet.cli.plan.picture_scene import Scene
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.problem import FleetError
from tests.examples_made import ExamplesMade
from tools.synth_environment import ROOT
from tools.synth_examples import EXAMPLES, templates_in

DATABASE = ROOT / "tests" / "stacks" / "golden_database"


def assembly_of(templates: dict[str, Any], folder: Path) -> Path:
    """Write an assembly of `templates` by the names of their stacks, all in us-west-2."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, template in templates.items():
        (folder / f"{name}.template.json").write_text(json.dumps(template))
    artifacts = {
        name: {
            "type": "aws:cloudformation:stack",
            "environment": "aws://111122223333/us-west-2",
            "properties": {"templateFile": f"{name}.template.json"},
        }
        for name in templates
    }
    (folder / "manifest.json").write_text(json.dumps({"version": "54.0.0", "artifacts": artifacts}))
    return folder


NAMESPACE = "{http://www.w3.org/2000/svg}"


def scene_of(assembly: Path) -> Scene:
    return Scene.of(Assembly.read(assembly))


def said(scene: Scene) -> set[str]:
    """Return its lines as sentences."""
    return {
        f"{scene.things[link.source].title} {link.verb} {scene.things[link.target].title} {link.how}".strip()
        for link in scene.links
    }


def test_a_cluster_its_nodes_and_its_mounts(examples_made: ExamplesMade):
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
        "HyperPod told reads S3 bucket",  # codespell:ignore told
    } <= said(scene)
    assert [vpc.title for vpc in scene.vpcs] == ["VPC 10.0.0.0/16 + 10.1.0.0/16", "existing VPC"]
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
    assert {"Lambda function reads SQS queue", "4 alarms alarms notify SNS topic"} <= said(scene)


def test_a_database_shows_its_engine_capacity_and_port(tmp_path: Path):
    template = json.loads((DATABASE / "records-database.json").read_text())
    scene = Scene.of(Assembly.read(assembly_of({"records-database": template}, tmp_path)))
    (database,) = [thing for thing in scene.things.values() if thing.title.startswith("Database")]
    assert database.title == "Database aurora-mysql"
    assert database.lines[:2] == ("0.5-4 ACU", "port 3306")


def test_a_vpc_without_anything_and_stacks_without_things_are_drawn(tmp_path: Path):
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
    alone = assembly_of({"alone": {"Resources": {"Vpc": vpc}}}, tmp_path / "alone")
    (region, (box, place)) = Layout.of(scene_of(alone)).boxes
    assert box.title == "VPC 10.0.0.0/16"
    assert within(place, region[1])
    assert "Region us-west-2" in picture_of(assembly_of({"none": {"Resources": {}}}, tmp_path / "none"))


def test_the_same_assembly_gives_the_same_bytes(examples_made: ExamplesMade):
    assembly = examples_made.of("training-llama2-7b")
    assert picture_of(assembly) == picture_of(assembly)


def test_the_picture_has_a_description_and_every_name_is_escaped(tmp_path: Path, examples_made: ExamplesMade):
    template = templates_in(examples_made.of("hyperpod-existing-network"))["in-our-vpc-train"]
    cluster = next(one for one in template["Resources"].values() if one["Type"] == "AWS::SageMaker::Cluster")
    cluster["Properties"]["ClusterName"] = "<b>&train"
    drawn = ElementTree.fromstring(picture_of(assembly_of({"a-train": template}, tmp_path)))
    assert drawn.findtext(f"{NAMESPACE}title") == "Architecture: a-train"
    reported = drawn.findtext(f"{NAMESPACE}desc") or ""
    assert "Region us-west-2. existing VPC; HyperPod <b>&train" in reported
    assert "HyperPod <b>&train mounts File system (/fsx)" in reported
    assert drawn.get("role") == "img"


@pytest.mark.parametrize("written", [None, "{", '{"artifacts": []}', '{"artifacts": {}}', '{"artifacts": {"a": {}}}'])
def test_a_directory_that_is_not_an_assembly_is_reported(tmp_path: Path, written: str | None):
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


def test_text_has_enough_contrast_on_every_background():
    grounds = [picture_drawing.GROUND, *picture_drawing.BOXES.values(), *picture_drawing.CARDS.values()]
    assert (
        min(contrast(ink, ground) for ink in (picture_drawing.INK, picture_drawing.MUTED) for ground in grounds) >= 4.5
    )
    # WCAG 2.1, 1.4.11: lines and other graphics.
    boxes = [picture_drawing.GROUND, *picture_drawing.BOXES.values()]
    assert min(contrast(line, ground) for line, _, _ in picture_drawing.LINES.values() for ground in boxes) >= 3


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.1."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    channels = [int(part, 16) / 255 for part in re.findall("..", color.removeprefix("#"))]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.fixture(scope="module", params=[path.stem for path in EXAMPLES])
def layout(request: pytest.FixtureRequest, examples_made: ExamplesMade) -> Layout:
    return Layout.of(Scene.of(Assembly.read(examples_made.of(request.param))))


def test_no_card_covers_another(layout: Layout):
    covering = [
        (a.title, b.title) for (a, first), (b, second) in combinations(layout.cards, 2) if overlap(first, second)
    ]
    assert layout.cards
    assert covering == []


def test_every_card_is_in_the_box_of_its_only_subnet(layout: Layout):
    titles = {subnet.key: subnet.title for vpc in layout.scene.vpcs for zone in vpc.zones for subnet in zone.subnets}
    boxes = {box.title: place for box, place in layout.boxes if box.kind == "subnet"}
    for thing, place in layout.cards:
        if len(thing.subnets) == 1 and thing.stack:
            assert within(place, boxes[titles[thing.subnets[0]]]), thing.title
        assert within(place, layout.boxes[0][1]), thing.title


def test_every_box_is_in_the_one_around_it_and_next_to_the_others(layout: Layout):
    for depth in (0, 1, 2, 3):
        same = [place for box, place in layout.boxes if box.depth == depth]
        assert not any(overlap(a, b) for a, b in combinations(same, 2))
        inner = [place for box, place in layout.boxes if box.depth == depth + 1]
        assert all(any(within(place, outer) for outer in same) for place in inner)


def test_text_fits_its_card_and_its_box(layout: Layout):
    for thing, place in layout.cards:
        widths = [text_width(thing.title, TITLE, bold=True), text_width(thing.stack, SMALL)]
        widths += [text_width(line, TEXT) for line in thing.lines]
        assert max(widths) <= place.width - 2 * PAD, thing
    for box, place in layout.boxes:
        assert text_width(box.title, TITLE, bold=True) <= place.width - 2 * PAD, box


def test_no_line_crosses_a_card(layout: Layout):
    for line in layout.lines:
        for start, end in pairwise(line.points):
            x, y = min(start[0], end[0]), min(start[1], end[1])
            run = Rectangle(x=x, y=y, width=abs(start[0] - end[0]), height=abs(start[1] - end[1]))
            through = [thing.title for thing, place in layout.cards if overlap(run, place)]
            assert through == [], (line.link, run)


def test_every_line_is_straight_and_ends_at_its_cards(layout: Layout):
    places = {thing.key: place for thing, place in layout.cards}
    for line in layout.lines:
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(line.points))
        for end, key in zip((line.points[0], line.points[-1]), ordered(layout.scene, line.link), strict=True):
            assert is_at(end, places[key]), (line, places[key])


def is_at(point: tuple[int, int], place: Rectangle) -> bool:
    """Return whether `point` is on an edge of `place`, or one pixel next to it."""
    (x, y), near = point, (-1, 0, 1)
    across = place.x <= x <= place.right and (y - place.y in near or y - place.bottom in near)
    return across or (place.y <= y <= place.bottom and (x - place.x in near or x - place.right in near))


@pytest.mark.parametrize("across", [0, 1], ids=["down", "across"])
def test_no_two_lines_overlap(layout: Layout, across: int):
    along = 1 - across
    runs = [
        (a[across], min(a[along], b[along]), max(a[along], b[along]), number)
        for number, line in enumerate(layout.lines)
        for a, b in pairwise(line.points)
        if a[across] == b[across] and a[along] != b[along]
    ]
    for (place, start, end, one), (other_place, other_start, other_end, other) in combinations(runs, 2):
        assert one == other or place != other_place or end <= other_start or other_end <= start


def overlap(a: Rectangle, b: Rectangle) -> bool:
    """Return whether they have a common point that is not on an edge."""
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def within(inner: Rectangle, outer: Rectangle) -> bool:
    return outer.x <= inner.x and inner.right <= outer.right and outer.y <= inner.y and inner.bottom <= outer.bottom


BUCKET: dict[str, Any] = {"Type": "AWS::S3::Bucket"}


@pytest.fixture
def references(tmp_path: Path) -> References:
    outputs = {
        "Shared": {"Value": {"Fn::GetAtt": ["Kept", "Arn"]}},
        "Exported": {"Value": {"Ref": "Kept"}, "Export": {"Name": "kept-name"}},
    }
    stores = {"Resources": {"Kept": BUCKET, "Other": BUCKET}, "Outputs": outputs}
    return References(Assembly.read(assembly_of({"stores": stores, "user": {"Resources": {"Kept": BUCKET}}}, tmp_path)))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"Ref": "Kept"}, ["user.Kept"]),
        ({"Ref": "AWS::Region"}, []),
        ({"Fn::GetAtt": "Kept.Arn"}, ["user.Kept"]),
        ({"Fn::Sub": "s3://${Kept}/${AWS::Region}/${Kept.Arn}"}, ["user.Kept"]),
        ({"Fn::Sub": ["s3://${Kept}/${a}", {"a": {"Fn::ImportValue": "kept-name"}}]}, ["user.Kept", "stores.Kept"]),
        ({"Fn::GetStackOutput": {"StackName": "stores", "OutputName": "Shared"}}, ["stores.Kept"]),
        ({"Fn::GetStackOutput": {"StackName": "elsewhere", "OutputName": "Shared"}}, []),
        ({"Fn::ImportValue": "kept-name"}, ["stores.Kept"]),
        ([{"Fn::Join": ["", ["arn:", {"Ref": "Kept"}]]}, {"a": {"b": {"Ref": "Kept"}}}], ["user.Kept"]),
        ("Kept", []),
    ],
)
def test_references_are_found(references: References, value: Any, found: list[str]):
    assert [resource.key for resource in references.of(value, "user")] == found


def test_a_text_has_an_ellipsis_for_unknown_parts(references: References):
    joined = {"Fn::Join": ["-", ["sagemaker", {"Ref": "AWS::StackId"}, 1]]}
    assert references.text(joined) == "sagemaker-…-1"
    assert list(references.texts({"a": ["x", {"b": "y"}]})) == ["x", "y"]
