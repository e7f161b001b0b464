"""What a deployment would take from the users of a fleet: data, running jobs, an address."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.cli.plan.template_changes import ChangeKind, ResourceChange
from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.day_two.plan_codes import PlanCode

_DATA = {
    "AWS::DynamoDB::Table": "table",
    "AWS::FSx::FileSystem": "file system",
    "AWS::FSx::Volume": "volume",
    "AWS::KMS::Key": "key, without which no one reads what it encrypted,",
    "AWS::Logs::LogGroup": "log group",
    "AWS::RDS::DBCluster": "database",
    "AWS::RDS::DBInstance": "database",
    "AWS::S3::Bucket": "bucket",
    "AWS::SageMaker::Domain": "Studio domain, with the homes and spaces of its users,",
    "AWS::SageMaker::NotebookInstance": "notebook instance, with its volume,",
    "AWS::SageMaker::UserProfile": "user of Studio",
}
"""Types that hold what cannot be made again."""
_JOBS = {"AWS::SageMaker::Cluster": "cluster", "Custom::PclusterCluster": "cluster"}
_ADDRESSES = {"AWS::ElasticLoadBalancingV2::LoadBalancer": "load balancer"}
_TYPES: Sequence[tuple[AnyCode, Mapping[str, str]]] = (
    (PlanCode.DATA, _DATA),
    (PlanCode.JOBS, _JOBS),
    (PlanCode.ADDRESS, _ADDRESSES),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is lost with one resource, or left behind."""

    code: str
    """A `PlanCode`, e.g. `LF1086`."""
    stack: str
    where: str
    """The construct's path."""
    what: str
    """In words."""


def losses(
    deployed: Mapping[str, StackTemplate], planned: Sequence[StackTemplate], changes: Sequence[ResourceChange]
) -> tuple[Loss, ...]:
    """Return what `changes`, from the templates `deployed`, by name, to those `planned`, would take away."""
    new = {stack.name: stack for stack in planned}
    return tuple(loss for one in changes for loss in _losses(one, deployed[one.stack], new[one.stack]))


def _losses(change: ResourceChange, old: StackTemplate, new: StackTemplate) -> Iterator[Loss]:
    told = (old if change.kind in (ChangeKind.REMOVED, ChangeKind.KEPT) else new).resources[change.logical_id]
    if "DBClusterIdentifier" in told.get("Properties", {}):
        return  # a member of an Aurora cluster: the data is the cluster's
    for code, types in _TYPES:
        thing = types.get(change.type)
        what = _in_words(code, thing, change, old, new) if thing else None
        if what is not None:
            yield Loss(code=code.value, stack=change.stack, where=change.where, what=what)


def _in_words(code: AnyCode, thing: str, change: ResourceChange, old: StackTemplate, new: StackTemplate) -> str | None:
    match change.kind:
        case ChangeKind.REPLACED | ChangeKind.MAYBE_REPLACED:
            verb = "is" if change.kind is ChangeKind.REPLACED else "may be"
            if new.is_kept_when_replaced(change.logical_id):
                return f"the {thing} {verb} replaced: {_FATE_OF_KEPT[code]}"
            end = _end(code, change, old, snapshot=new.leaves_snapshot_when_replaced(change.logical_id))
            return f"the {thing} {verb} replaced: {_FATE_OF_REPLACED[code]}{end}"
        case ChangeKind.REMOVED:
            return f"the {thing} is deleted{_end(code, change, old, snapshot=old.leaves_snapshot(change.logical_id))}"
        case ChangeKind.KEPT if code is PlanCode.DATA:
            return f"the {thing} leaves the stack and stays, with what it holds and its costs, until someone deletes it"
        case _:
            return None


def _end(code: AnyCode, change: ResourceChange, old: StackTemplate, *, snapshot: bool) -> str:
    """Return what goes with a deletion, or what is left.

    Source: model botocore kms ScheduleKeyDeletion
    Source: model botocore sagemaker DeleteUserProfile (ResourceInUse)
    """
    if snapshot:
        return "; a snapshot of it is made before, and stays, with its costs"
    if change.type == "AWS::KMS::Key":
        days = old.resources[change.logical_id].get("Properties", {}).get("PendingWindowInDays", 30)
        return f" when {days} days are over; until then CancelKeyDeletion takes it back"
    if change.type == "AWS::SageMaker::UserProfile":
        return (
            ", unless spaces or applications of it are left: SageMaker refuses it then (ResourceInUse), and it "
            "stays, with what it holds, but no stack has it"
        )
    return _FATE_OF_REMOVED[code]


# A resource is replaced by a new one first, then the former one is deleted, unless its UpdateReplacePolicy keeps it.
# Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatereplacepolicy.html
_ANOTHER_NAME = "the new one has another DNS name, which clients must be given"
_FATE_OF_KEPT: Mapping[AnyCode, str] = {
    PlanCode.DATA: "the new one is empty; the former one stays, with what it holds and its costs, but no stack has it",
    PlanCode.JOBS: "the former one stays and costs what it costs, but no stack has it; its jobs are not taken over",
    PlanCode.ADDRESS: _ANOTHER_NAME,
}
_FATE_OF_REPLACED: Mapping[AnyCode, str] = {
    PlanCode.DATA: "the new one is empty, and the former one is deleted",
    PlanCode.JOBS: "the former one is deleted",
    PlanCode.ADDRESS: f"{_ANOTHER_NAME}; the former one is deleted",
}
_FATE_OF_REMOVED: Mapping[AnyCode, str] = {
    PlanCode.DATA: ", with what it holds",
    PlanCode.JOBS: ", with its nodes, their disks, Slurm's queue and the jobs that run",
    PlanCode.ADDRESS: ": its DNS name answers no longer",
}
