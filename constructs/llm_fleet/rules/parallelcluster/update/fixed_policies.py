"""Policies that are the same whatever runs: always, never, or by what is changed."""

from llm_fleet.rules.parallelcluster.update.change import Change
from llm_fleet.rules.parallelcluster.update.chef_attributes import changed_fixed_attributes
from llm_fleet.rules.parallelcluster.update.circumstances import Circumstances
from llm_fleet.rules.parallelcluster.update.policy import Policy, never
from llm_fleet.rules.parallelcluster.update.verdict import Judgement, Verdict


def _always(_change: Change, _around: Circumstances) -> bool:
    return True


def _never(_change: Change, _around: Circumstances) -> bool:
    return False


def _outside_isolated_regions(_change: Change, around: Circumstances) -> bool:
    return not around.region.startswith("us-iso")


def _isolated_region(_change: Change, _around: Circumstances) -> Judgement:
    return Judgement(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason="in isolated regions an update that changes tags leaves the head node waiting",
        remedy="keep the tags as they are",
    )


def _attributes_allowed(change: Change, _around: Circumstances) -> bool:
    return not changed_fixed_attributes(change.old, change.new)


def _attributes_refused(change: Change, _around: Circumstances) -> Judgement:
    fixed = ", ".join(sorted(changed_fixed_attributes(change.old, change.new)))
    return Judgement(
        verdict=Verdict.NEEDS_NEW_CLUSTER,
        reason=f"ParallelCluster never changes {fixed}",
        remedy="put these attributes back, or make a new cluster beside the old one (`immutable_changes: new-cluster`)",
    )


SUPPORTED = Policy(name="SUPPORTED", allows=_always, refusal=never)
IGNORED = Policy(name="IGNORED", allows=_always, refusal=never)
SUPPORTED_UNLESS_ADC = Policy(name="SUPPORTED_UNLESS_ADC", allows=_outside_isolated_regions, refusal=_isolated_region)
EXTRA_CHEF_ATTRIBUTES = Policy(name="EXTRA_CHEF_ATTRIBUTES", allows=_attributes_allowed, refusal=_attributes_refused)
READ_ONLY_RESOURCE_BUCKET = Policy(name="READ_ONLY_RESOURCE_BUCKET", allows=_never, refusal=never)
UNSUPPORTED = Policy(name="UNSUPPORTED", allows=_never, refusal=never)
UNKNOWN = Policy(name="UNKNOWN", allows=_never, refusal=never)
