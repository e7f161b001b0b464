"""How long compiled graphs are kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCache:
    """How long the graphs that Neuron's compiler has made are kept on shared storage, for all jobs.

    The compiler itself never removes any. A graph that is removed too early is compiled again, for up to an hour.
    """

    max_age_days: int = 30
    """Days that a graph may lie unused before it is removed."""
    max_gib: int | None = None
    """What all may take together, in GiB: above it, those that lay unused longest go. Default: no limit."""
