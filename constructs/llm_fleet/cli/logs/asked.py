"""What `llm-fleet logs` is asked for."""

import re
from dataclasses import dataclass
from datetime import datetime

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.logs.node_run import NodeRun
from llm_fleet.rules.day_two.logs_codes import LogsCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options."""

    node: str | None = None
    group: str | None = None
    step: str | None = None
    code: str | None = None
    failed: bool = False
    since: datetime | None = None
    follow: bool = False
    log: str | None = None
    """Another log than that of starts."""
    raw: bool = False
    as_json: bool = False

    @property
    def lines(self) -> bool:
        """Whether lines are wanted, not a row a node."""
        return bool(self.step or self.follow or self.log or self.raw or (self.node and not self.as_json))

    def wants(self, node: str, group: str) -> bool:
        """Return whether a node is asked for."""
        return self.node in (None, node) and self.group in (None, group)

    def wants_run(self, run: NodeRun) -> bool:
        """Return whether what a node's start came to is asked for."""
        if self.failed and not run.failed:
            return False
        return self.code is None or self.code in {run.code, *(step.code for step in run.steps)}


def failure_code(text: str | None) -> str | None:
    """Return a code as nodes write it: `LFN39` for `lfn39` or `39`. Raises `FleetError` (LF1124)."""
    if text is None:
        return None
    found = re.fullmatch(r"(?:LFN)?(\d{1,3})", text.strip(), re.IGNORECASE)
    if found is None:
        refuse(
            LogsCode.CODE_FORM,
            "this is no code of a node's failure",
            "write it as the node did, e.g. LFN39; docs/node-failures has them all",
            subject="--code",
            value=text,
        )
    return f"LFN{int(found[1]):02}"
