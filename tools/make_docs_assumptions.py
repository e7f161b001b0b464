"""Writes docs/assumptions.md: the register of assumptions, a table a topic."""

from collections.abc import Iterator

from llm_fleet.catalog.assumptions import TIERS, Assumption, Evidence, assumptions, topics
from tools.assumption_citations import citations
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "assumptions.md"
_HEAD = ("assumption", "evidence", "when it is wrong", "what llm-fleet does then", "experiment", "relied on in")
_TITLES = {
    "cloudformation": "CloudFormation",
    "ec2": "EC2 and VPC",
    "ecs": "ECS",
    "fsx": "FSx",
    "hyperpod": "HyperPod",
    "iam": "IAM",
    "neuron": "Neuron",
    "nodes": "Images of nodes",
    "parallelcluster": "ParallelCluster",
    "sagemaker": "SageMaker",
}


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            "# Assumptions\n",
            f"{GENERATED}\nWhat llm-fleet relies on that no service model, resource schema or AWS document proves. "
            "Each entry says what speaks for it and against it, what happens to you when it is wrong, what llm-fleet "
            "does in that case, and the cheapest experiment that settles it. Code and docs name an entry where they "
            "rely on it (`assumption: <id>`), and a test compares both with the data files in "
            "`constructs/llm_fleet/catalog/data/assumptions`.\n",
            _summary(),
            "An experiment needs, by its tier:\n",
            table(("tier", "what it needs"), ((str(tier), needs) for tier, needs in TIERS.items())),
            *(part for topic in topics() for part in _topic(topic)),
        ]
    )


def _summary() -> str:
    entries = assumptions()
    fatal = [f"[{one.id}](#{one.id})" for one in entries if not one.survives]
    text = (
        f"There are {len(entries)} entries. With {len(entries) - len(fatal)} of them everything that llm-fleet makes "
        "comes up, works and can be deleted with either answer, and no one has to change anything"
    )
    if not fatal:
        return f"{text}.\n"
    return (
        f"{text}. With these {len(fatal)} something fails, is missing or is lost until a person acts, mostly with a "
        f"named error and a remedy, which each entry gives: {', '.join(fatal)}.\n"
    )


def _topic(topic: str) -> Iterator[str]:
    yield f"## {_TITLES.get(topic, topic.capitalize())}\n"
    yield table(_HEAD, (_row(one) for one in assumptions() if one.topic == topic))


def _row(one: Assumption) -> tuple[str, ...]:
    return (
        f'<a id="{one.id}"></a>{code(one.id)}: {one.claim}',
        "; ".join(_evidence(each) for each in one.evidence),
        one.if_wrong,
        f"{'' if one.survives else '**Does not survive it.** '}{one.design}",
        f"{one.experiment} (tier {one.tier}, {one.cost})",
        ", ".join(code(name) for name in citations().get(one.id, ())),
    )


def _evidence(one: Evidence) -> str:
    if one.kind == "none":
        return f"none ({one.source}, {one.date})"
    return f"{one.kind} {one.says}: {one.source} ({one.date})"
