"""Writes docs/assumptions.md: the register of assumptions, by topic."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.assumptions import TIERS, Assumption, Evidence, assumptions, topics
from llm_fleet.catalog.experiments import experiments
from tools.assumption_citations import citations
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "assumptions.md"
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
            "resource schema or AWS document proves. Code and docs cite an entry where they depend on it "
            "(`assumption: <id>`); search this page for the id. A test compares the citations with the data files in "
            "`constructs/llm_fleet/catalog/data/assumptions`.\n",
            _summary(),
            table(("part", "entries", "needs action"), map(_count, topics())),
            "Each entry has the cheapest experiment that tests it, with its tier and cost. "
            f"[`llm-fleet prove`](guides/prove.md) makes {len(experiments())} of them in your account:\n",
            table(("tier", "what it needs"), ((str(tier), needs) for tier, needs in TIERS.items())),
            *(part for topic in topics() for part in _topic(topic)),
        ]
    )


def _summary() -> str:
    entries = assumptions()
    survive = sum(one.survives for one in entries)
    return (
        f"There are {len(entries)} entries. If any of {survive} of them is wrong, everything that llm-fleet creates "
        "still starts, works and can be deleted, and no user has to change anything. If one of the other "
        f"{len(entries) - survive} is wrong, something fails, is missing or is lost until a person acts, mostly with a "
        "named error and a remedy, which the entry describes. These are marked **needs action**.\n"
    )


def _count(topic: str) -> tuple[str, ...]:
    entries = _of(topic)
    title = _title(topic)
    action = sum(not one.survives for one in entries)
    return f"[{title}](#{title.lower().replace(' ', '-')})", str(len(entries)), str(action)


def _of(topic: str) -> list[Assumption]:
    return [one for one in assumptions() if one.topic == topic]


def _title(topic: str) -> str:
    return _TITLES.get(topic, topic.capitalize())


def _topic(topic: str) -> Iterator[str]:
    yield f"## {_title(topic)}\n"
    yield from map(_entry, _of(topic))


def _entry(one: Assumption) -> str:
    used = ", ".join(code(name) for name in citations().get(one.id, ()))
    made = f" Or: `llm-fleet prove --only {one.id}`" if one.id in experiments() else ""
    return _escaped(
        f"### {one.id}\n\n{one.claim}\n\n"
        f"- **If it is wrong{'' if one.survives else ', needs action'}**: {one.if_wrong}\n"
        f"- **How llm-fleet handles that**: {one.design}\n"
        f"- **Evidence**: {'; '.join(map(_evidence, one.evidence))}\n"
        f"- **Experiment** (tier {one.tier}, {one.cost}): {one.experiment}{made}\n"
        f"- **Used in**: {used}\n"
    )


def _escaped(text: str) -> str:
    """Escape `<` and the single `*` outside of code: Markdown reads `<id>` as HTML."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"<|(?<!\*)\*(?!\*)", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def _evidence(one: Evidence) -> str:
    if one.kind == "none":
        return f"none ({one.source}, {one.date})"
    return f"{one.kind} {one.says}: {one.source} ({one.date})"
