"""Writes docs/assumptions.md: the register of assumptions, with one table for each topic."""

from collections.abc import Iterator

from llm_fleet.catalog.assumptions import TIERS, Assumption, Evidence, assumptions, topics
from tools.assumption_citations import citations
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "assumptions.md"
_HEAD = ("assumption", "evidence", "effect if wrong", "how llm-fleet handles that", "experiment", "used in")
_TITLES = {
    "cloudformation": "CloudFormation",
    "ec2": "EC2 and VPC",
    "ecs": "ECS",
    "fsx": "FSx",
    "hyperpod": "HyperPod",
    "iam": "IAM",
    "neuron": "Neuron",
    "nodes": "Node images",
    "parallelcluster": "ParallelCluster",
    "sagemaker": "SageMaker",
}


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            "# Assumptions\n",
            f"{GENERATED}\nBehavior of AWS and other software that llm-fleet depends on, and that no service model, "
            "resource schema or AWS document proves. Each entry has the evidence for and against it, the effect for "
            "you if it is wrong, how llm-fleet handles that case, and the cheapest experiment that tests it. Code and "
            "docs cite an entry where they depend on it (`assumption: <id>`), and a test compares both with the data "
            "files in `constructs/llm_fleet/catalog/data/assumptions`.\n",
            _summary(),
            "Tiers of experiments:\n",
            table(("tier", "what it needs"), ((str(tier), needs) for tier, needs in TIERS.items())),
            *(part for topic in topics() for part in _topic(topic)),
        ]
    )


def _summary() -> str:
    entries = assumptions()
    fatal = [f"[{one.id}](#{one.id})" for one in entries if not one.survives]
    text = (
        f"There are {len(entries)} entries. If any of {len(entries) - len(fatal)} of them is wrong, everything that "
        "llm-fleet creates still starts, works and can be deleted, and no user has to change anything"
    )
    if not fatal:
        return f"{text}.\n"
    return (
        f"{text}. If one of these {len(fatal)} is wrong, something fails, is missing or is lost until a person acts, "
        f"mostly with a named error and a remedy, which the entry describes: {', '.join(fatal)}.\n"
    )


def _topic(topic: str) -> Iterator[str]:
    yield f"## {_TITLES.get(topic, topic.capitalize())}\n"
    yield table(_HEAD, (_row(one) for one in assumptions() if one.topic == topic))


def _row(one: Assumption) -> tuple[str, ...]:
    return (
        f'<a id="{one.id}"></a>{code(one.id)}: {one.claim}',
        "; ".join(_evidence(each) for each in one.evidence),
        one.if_wrong,
        f"{'' if one.survives else '**Needs action.** '}{one.design}",
        f"{one.experiment} (tier {one.tier}, {one.cost})",
        ", ".join(code(name) for name in citations().get(one.id, ())),
    )


def _evidence(one: Evidence) -> str:
    if one.kind == "none":
        return f"none ({one.source}, {one.date})"
    return f"{one.kind} {one.says}: {one.source} ({one.date})"
