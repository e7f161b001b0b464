"""A small valid fleet file with a ParallelCluster, to which tests add errors."""

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
    """Return the valid file after `edits`: each first string, which must occur, is replaced by the next one."""
    return good_fleet.edited_text(GOOD, *edits)
