"""A small fleet file with a ParallelCluster that is right, for tests to spoil."""

from tests.fleet_file import good_fleet

GOOD = """\
fleet: test
region: us-west-2
network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}
clusters:
  pc:
    kind: parallelcluster
    head: {type: m5.xlarge}
    queues:
      trn1: {type: trn1.32xlarge, max: 4}
"""


def edited(*edits: str) -> str:
    """Return the good file with each first text replaced by the one after it; a text that is not there fails."""
    return good_fleet.edited_text(GOOD, *edits)
