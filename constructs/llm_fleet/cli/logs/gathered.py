"""How the starts of a cluster's nodes went, as far as it could be found out."""

from dataclasses import dataclass, field

from llm_fleet.cli.logs.node_run import NodeRun


@dataclass(slots=True)
class Gathered:
    """What was found out, and what could not be."""

    runs: list[NodeRun] = field(default_factory=list[NodeRun])
    remarks: list[str] = field(default_factory=list[str])
    """For people: where something was read in place of something else, or is missing."""
