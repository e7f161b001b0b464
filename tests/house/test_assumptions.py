"""Code, docs and the register of assumptions hold together: no entry without use, no doubt without an entry."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from llm_fleet.catalog.assumptions import KINDS, SAYS, TIERS, Assumption, Evidence, assumption, assumptions, topics
from tests.golden import golden_resources
from tools.assumption_citations import REGISTER, citations, cited_in, doubts, is_code, texts
from tools.synth_environment import ROOT

TOPICS = {
    "cloudformation", "ec2", "ecs", "fsx", "hyperpod", "iam", "monitoring", "neuron", "nodes", "parallelcluster",
    "prices", "sagemaker", "slurm", "vendors",
}  # fmt: skip
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
FAILS = re.compile(
    r"(?<!othing )\b(?:fails|does not start|not created|not come up|rolled back|DELETE_FAILED|no job starts|denied"
    r"|AccessDenied|never matches|is lost|are lost|ends immediately|is not restarted|cannot (?!be changed))\b"
)
"""What an entry's `if_wrong` does not say where a fleet survives it."""
DATE = re.compile(r"20\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


def wrong_with(one: Assumption) -> Iterator[str]:
    """What is wrong with one entry."""
    if not ID.fullmatch(one.id):
        yield "its id is not of lower-case words with hyphens"
    for field in ("claim", "if_wrong", "design", "experiment", "cost"):
        if len(getattr(one, field).strip()) < (4 if field == "cost" else 10):
            yield f"{field} says nothing"
    if one.tier not in TIERS:
        yield f"tier {one.tier} is not one of {sorted(TIERS)}"
    if not one.survives and not re.search(r"\b(because|since|cannot|no other|would|only|nothing|not)\b", one.design):
        yield "it does not survive the other answer, and design gives no reason"
    if one.survives and (fails := FAILS.search(one.if_wrong)):
        yield f"it survives the other answer, and if_wrong says {fails.group(0)!r}"
    yield from wrong_with_evidence(one)


def wrong_with_evidence(one: Assumption) -> Iterator[str]:
    """What is wrong with what speaks for or against it."""
    if not one.evidence:
        yield "evidence is empty: say what was searched, as kind none"
    for each in one.evidence:
        if each.kind not in KINDS:
            yield f"evidence {each.kind} is not one of {KINDS}"
        if each.says not in (("",) if each.kind == "none" else SAYS):
            yield f"evidence of kind {each.kind} says {each.says!r}: one of {SAYS}, and left out for none"
        if not each.source.strip() or not DATE.fullmatch(each.date):
            yield f"evidence {each.source!r} of {each.date!r} has no source or no ISO date"


def test_every_entry_is_complete():
    assert {one.id: found for one in assumptions() if (found := list(wrong_with(one)))} == {}


WHOLE = Assumption(
    id="a-b", topic="ec2", claim="EC2 does what it says.", evidence=(Evidence(kind="none", source="all", date="2026"),),
    if_wrong="Nothing works.", design="Nothing is done, because nothing can be.", survives=False, needed_by=("*",),
    experiment="Try it in an account.", tier=0, cost="free",
)  # fmt: skip


def test_a_complete_entry_passes():
    assert list(wrong_with(WHOLE)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"id": "Not_well_formed"},
        {"id": "single"},
        {"claim": " "},
        {"if_wrong": ""},
        {"experiment": "try"},
        {"cost": ""},
        {"tier": 4},
        {"evidence": ()},
        {"evidence": (Evidence(kind="belief", source="us", date="2026", says="supports"),)},
        {"evidence": (Evidence(kind="none", source="us", date="2026", says="supports"),)},
        {"evidence": (Evidence(kind="code", source="us", date="2026"),)},
        {"survives": True, "if_wrong": "The node fails with a code that names it."},
        {"survives": True, "if_wrong": "The stack is rolled back, and nothing is lost."},
        {"evidence": (Evidence(kind="code", source="us", date="2026", says="maybe"),)},
        {"evidence": (Evidence(kind="code", source="", date="2026", says="supports"),)},
        {"evidence": (Evidence(kind="code", source="us", date="2026-13-01", says="supports"),)},
        {"design": "The fleet stops."},
    ],
)
def test_an_incomplete_entry_is_found(change: dict[str, Any]):
    assert len(list(wrong_with(replace(WHOLE, **change)))) == 1


def test_ids_are_used_once():
    ids = [one.id for one in assumptions()]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("topic", topics())
def test_a_data_file_is_one_of_the_topics_and_in_order(topic: str):
    assert topic in TOPICS
    document: dict[str, Any] = json.loads((ROOT / REGISTER / f"{topic}.json").read_text(encoding="utf-8"))
    assert set(document) == {"what", "source", "checked", "facts"}
    assert DATE.fullmatch(document["checked"])
    ids = [one["id"] for one in document["facts"]]
    assert ids == sorted(ids)


def test_an_entry_is_found_by_its_id():
    first = assumptions()[0]
    assert assumption(first.id) is first
    with pytest.raises(KeyError):
        assumption("no-such-entry")


DATABASE = ROOT / "tests/stacks/golden_database/records-database.json"
TYPES = {kind for kind, _ in golden_resources()} | {
    one["Type"] for one in json.loads(DATABASE.read_text(encoding="utf-8"))["Resources"].values()
}
"""Types of resources in stacks of fleets."""
SELECTORS = sorted({each for one in assumptions() for each in one.needed_by} - {"*"})


def is_in_schema(kind: str, path: list[str]) -> bool:
    """Whether the CloudFormation schema of `kind` has the property at `path`."""
    root: Any = cast(Any, PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind)).schema

    def has(here: Any, left: list[str]) -> bool:
        if "$ref" in here:
            return has(root["definitions"][here["$ref"].rpartition("/")[2]], left)
        inner = [here["items"]] if "items" in here else here.get("oneOf", here.get("anyOf", []))
        known = here.get("properties", {})
        return not left or (left[0] in known and has(known[left[0]], left[1:])) or any(has(one, left) for one in inner)

    return has(root, path)


@pytest.mark.parametrize("selector", SELECTORS)
def test_selectors_are_of_types_in_golden_templates_and_of_properties_that_exist(selector: str):
    kind, _, path = selector.partition("=")[0].partition("/")
    assert kind in TYPES
    if not kind.startswith("Custom::"):
        assert is_in_schema(kind, path.split(".") if path else [])


def test_every_entry_is_needed_by_a_fleet():
    assert [one.id for one in assumptions() if not one.needed_by] == []


@pytest.mark.parametrize(
    ("selector", "needed"),
    [
        ("*", True),
        ("AWS::FSx::FileSystem", True),
        ("AWS::FSx::Volume", False),
        ("AWS::FSx::FileSystem/LustreConfiguration", True),
        ("AWS::FSx::FileSystem/OpenZFSConfiguration", False),
        ("AWS::FSx::FileSystem/LustreConfiguration.EfaEnabled=true", True),
        ("AWS::FSx::FileSystem/LustreConfiguration.EfaEnabled=false", False),
        ("AWS::SageMaker::Cluster/InstanceGroups.InstanceType=ml.trn1.*", True),
        ("AWS::SageMaker::Cluster/InstanceGroups.InstanceType=ml.trn1", False),
        ("AWS::SageMaker::Cluster/InstanceGroups.TrainingPlanArn", False),
    ],
)
def test_a_selector_selects_resources_by_type_property_and_value(selector: str, needed: bool):
    groups = [{"InstanceType": "ml.c5.large"}, {"InstanceType": "ml.trn1.32xlarge"}]
    resources = [
        {"Type": "AWS::SNS::Topic"},
        {"Type": "AWS::FSx::FileSystem", "Properties": {"LustreConfiguration": {"EfaEnabled": True}}},
        {"Type": "AWS::SageMaker::Cluster", "Properties": {"InstanceGroups": groups}},
    ]
    assert replace(WHOLE, needed_by=("AWS::ECS::Service", selector)).is_needed_by(resources) is needed


def test_every_entry_that_is_cited_exists():
    known = {one.id for one in assumptions()}
    assert {name: places for name, places in citations().items() if name not in known} == {}


def test_every_entry_is_cited_in_code():
    """No code depends on an entry that only docs cite: remove it, or cite it where code depends on it."""
    assert [one.id for one in assumptions() if not any(map(is_code, citations().get(one.id, ())))] == []


def test_no_doubt_is_without_an_entry():
    """Text about unverified behavior cites an entry of the register in the same comment, paragraph or entry."""
    found = {name: pieces for name, text in texts().items() if (pieces := doubts(name, text))}
    assert found == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""Do it.\n\nUnverified: no page of AWS says so."""\n'),
        ("a.py", "# It starts late\n# (unverified).\nA = 1\n"),
        ("a.md", "# Title\n\n- one\n- two, which is\n  documented nowhere\n"),
        ("a.sh", "# Not\n# verified on an AMI.\ntrue\n"),
        ("a.json", '{"facts": [{"name": "a", "source": "in no document"}, {"source": "assumption: a-b"}]}'),
    ],
)
def test_doubt_is_found_and_an_entry_answers_it(name: str, text: str):
    assert len(doubts(name, text)) == 1
    answered = text.replace("nverified", "nverified, assumption: a-b").replace("erified on", "erified, assumption: a-b")
    answered = answered.replace("nowhere", "nowhere (assumption: a-b)").replace(
        'document"', 'document, assumption: a-b"'
    )
    assert doubts(name, answered) == []


@pytest.mark.parametrize(
    "words",
    [
        "It was not tried on AWS.", "This was never tried.", "It was not run on an instance.", "Not run on AWS.",
        "SageMaker does not say which one.", "AWS's documentation does not mention it.", "The guide never states it.",
        "No AWS page mentions it.", "no document says so", "No page of AWS's says it.", "no source confirms the number",
        "Unknown whether it waits.", "It is not known whether it waits.", "Whether it waits is not documented.",
        "Written from memory.", "as far as we know", "Presumably it waits.", "We assume that it waits.",
        "It is assumed that it "
        "waits.", "No one has tried it.", "Nobody has verified it.", "It is untested.",  # codespell:ignore nobody
        "This is stated nowhere.", "nowhere documented", "not proven without an account", "not tested on real hardware",
    ],
)  # fmt: skip
def test_ordinary_words_of_doubt_are_found(words: str):
    assert doubts("a.md", f"# Title\n\n{words}\n") == [words]
    assert doubts("a.py", f"# {words}\n") == [words]


@pytest.mark.parametrize(
    "words",
    [
        "`None` where no source gives it.", "A file of another system is never tried.",
        "The file does not say whether.", "Commands, in order; no user ran them.",
        "an image that does not run on the instance", "The node refuses to guess.", "It documents its own limits.",
        "Quotas are not tried by the emulation.", "not known to boot on",
    ],
)  # fmt: skip
def test_plain_statements_are_no_doubt(words: str):
    assert doubts("a.md", words) == []


def test_citations_are_read_over_the_end_of_a_line():
    assert cited_in("# Source: assumption\n#   a-b and assumption: c-d, assumptions in general") == ["a-b", "c-d"]
