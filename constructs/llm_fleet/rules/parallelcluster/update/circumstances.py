"""What a policy looks at beside the change itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.parallelcluster.terms import QueueUpdateStrategy
from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.values import Section, items_at, section_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Both configurations, what runs, and all changes at once."""

    old: Section
    new: Section
    changes: Sequence[Change]
    fleet_runs: bool
    """Whether the compute fleet is started: even one without a node, unless someone stopped it."""
    region: str
    """AWS region; empty where it is not known."""

    @property
    def strategy(self) -> str:
        """`QueueUpdateStrategy` of the new configuration, which is the one that counts."""
        settings = section_at(self.new, "Scheduling", "SlurmSettings")
        return str(settings.get("QueueUpdateStrategy", QueueUpdateStrategy.COMPUTE_FLEET_STOP))

    @property
    def strategy_replaces(self) -> bool:
        """Whether it replaces nodes instead of asking for a stopped fleet."""
        return self.strategy != QueueUpdateStrategy.COMPUTE_FLEET_STOP

    @property
    def running_pools(self) -> frozenset[str]:
        """Names of the login pools that were deployed with a `Count` other than 0."""
        pools = items_at(section_at(self.old, "LoginNodes"), "Pools")
        return frozenset(str(pool.get("Name")) for pool in pools if pool.get("Count") != "0")

    @property
    def login_nodes_run(self) -> bool:
        """Whether any login node runs."""
        return bool(self.running_pools)
