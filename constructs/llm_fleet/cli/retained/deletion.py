"""Deletes retained resources: data first, then the network, keys last.

Each step starts from what exists, so a deletion that was interrupted anywhere is continued by the same command.
"""

import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.retained.buckets import delete_bucket
from llm_fleet.cli.retained.key_uses import data_by_key
from llm_fleet.cli.retained.network_others import NOT_KNOWN, others_in, vpc_of
from llm_fleet.cli.retained.survey import FILE_SYSTEM, KEY, LUSTRE, Retained, Survey
from llm_fleet.cli.screen import Step, counted, progress
from llm_fleet.cli.verb import refuse
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.feature_codes import RetainedCode
from llm_fleet.rules.problem import FleetError, Problem

_LOGS = "AccessLogs"
"""Beginning of the logical id of the bucket for access logs."""
_NETWORK = ("security group", "subnet", "VPC")
KEY_DAYS = 30
"""Days until a key is deleted, in which the deletion can be cancelled: the maximum.
Source: document https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html"""
_POLL_SECONDS, _LONGEST_SECONDS = 10, 30 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What was deleted, and what was not."""

    deleted: tuple[Retained, ...]
    kept: tuple[Retained, ...]
    problems: tuple[Problem, ...]


def check_not_deployed(found: Survey, fleet: Fleet) -> None:
    """Raise `FleetError` (LF1231) if the fleet is deployed: its stacks may use the resources."""
    if found.stacks:
        refuse(
            RetainedCode.STILL_DEPLOYED,
            "the fleet has stacks, which may use the retained resources",
            "destroy the fleet first",
            value=", ".join(found.stacks),
            subject=f"fleet {fleet.name}",
        )


def confirm(name: str, given: str | None, kept: Collection[Retained] = ()) -> None:
    """Require the fleet's `name`, as the option `given` or typed. Raises `FleetError` (LF1232)."""
    if given is None:
        rest = f", except {counted(len(kept), 'resource')} in VPCs that others use" if kept else ""
        print(
            f"This deletes these resources and all their data{rest}. Type the fleet's name ({name}): ",
            end="",
            file=sys.stderr,
        )
        sys.stderr.flush()
        given = sys.stdin.readline().strip()
    if given != name:
        refuse(
            RetainedCode.NOT_CONFIRMED,
            "the deletion was not confirmed, and nothing was deleted",
            "type the fleet's name, or set it with --yes NAME",
            value=given,
            subject=f"fleet {name}",
        )


def delete(
    clients: AwsClients, found: Survey, *, known: Iterable[Problem] = (), kept: Iterable[Retained] = ()
) -> Deletion:
    """Delete `found`. What cannot be deleted is kept and reported, with the problems `known`, and the rest deleted.

    `kept` is what was kept before.
    """
    run = _Run(clients=clients, found=found, problems=list(known))
    with progress("deleting", total=len(found.items)) as step:
        run.all(step)
    kept = (*kept, *(item for item in found.items if item not in run.deleted))
    return Deletion(deleted=tuple(run.deleted), kept=kept, problems=tuple(run.problems))


def without_tagged(found: Survey, only: Collection[str]) -> tuple[Survey, list[Problem]]:
    """Return `found` without resources that only a tag connects with the fleet, unless `only` has their ids.

    The tag has the name of a stack, and a stack of another app may have had the same name. The second value has a
    problem for each.
    """
    tagged = tuple(item for item in found.items if item.trace.since is None and item.id not in only)
    problems = [
        Problem(
            code=RetainedCode.NOT_DELETED,
            message=f"only its tag connects the {item.kind} with the stack {item.trace.stack}, and a stack of another "
            "app may have had this name",
            value=item.id,
            remedy=f"if it is of this fleet, delete it with `--delete --only {item.id}`",
        )
        for item in tagged
    ]
    sure = tuple(item for item in found.items if item not in tagged)
    return replace(found, items=sure, others=(*found.others, *tagged)), problems


def without_used(found: Survey, only: Collection[str]) -> tuple[Survey, tuple[Retained, ...]]:
    """Return `found` without resources in VPCs that others use, and these, unless `only` has their ids.

    A file system's deletion cannot be undone, and whether the others have mounted it cannot be queried.
    """
    used = tuple(item for item in found.items if item.vpc_users and item.id not in only)
    problems = [
        _in_use(vpc, users, [item.id for item in used if item.kind == KEY or vpc_of(item) == vpc])
        for vpc, users in sorted({vpc_of(item): item.vpc_users for item in used if item.kind != KEY}.items())
        if users != (NOT_KNOWN,)  # Then the reason is among the problems of `found`.
    ]
    free = tuple(item for item in found.items if item not in used)
    return replace(found, items=free, others=(*found.others, *used), problems=(*found.problems, *problems)), used


@dataclass(slots=True, kw_only=True)
class _Run:
    clients: AwsClients
    found: Survey
    deleted: list[Retained] = field(default_factory=list[Retained])
    problems: list[Problem] = field(default_factory=list[Problem])

    def all(self, step: Step) -> None:
        """Delete everything in its order."""
        for item in self.found.items:
            if item.kind not in (FILE_SYSTEM, *_DELETE, KEY):
                self._keep(_not_deleted(item))
        self._file_systems(self.found.of(FILE_SYSTEM), step)
        network = list(self._free_network())
        for item in self.found.of("security group"):
            if item in network:
                # Rules of one group name another, which can only be deleted without them.
                with self._refusals_kept(f"{item.kind} {item.id}"):
                    self._revoke_rules(item)
        for kind in _DELETE:
            # Each request to another bucket writes a new log into it.
            for item in sorted(self.found.of(kind), key=lambda item: item.trace.logical_id.startswith(_LOGS)):
                if kind in _NETWORK and item not in network:
                    continue
                self._try(item, partial(_DELETE[kind], self.clients, item.id))
                step()
        self._keys(step)

    def _keep(self, *problems: Problem) -> None:
        self.problems += [problem for problem in problems if problem not in self.problems]

    @contextmanager
    def _refusals_kept(self, subject: str) -> Generator[None]:
        """Keep the problems of a refused call about `subject`; what is gone is none."""
        try:
            with aws_errors_reported(subject):
                yield
        except AwsGone:
            pass
        except AwsRefusal as refused:
            self._keep(*refused.problems)

    def _try(self, item: Retained, call: Callable[[], None]) -> None:
        """Call `call`, which deletes `item`; report an error of AWS. Gone is deleted, too."""
        try:
            with aws_errors_reported(f"{item.kind} {item.id}"):
                call()
        except AwsGone:
            pass
        except FleetError as refused:
            self._keep(*refused.problems)
            return
        self.deleted.append(item)

    def _file_systems(self, items: Collection[Retained], step: Step) -> None:
        """Start the deletion of all file systems, then wait for each."""
        begun: list[Retained] = []
        for item in items:
            if not item.is_checked:
                continue
            try:
                with aws_errors_reported(f"{item.kind} {item.id}"):
                    _delete_file_system(self.clients, item)
            except AwsGone:
                pass
            except AwsRefusal as refused:
                self._keep(*refused.problems)
                continue
            begun.append(item)
        for item in begun:
            self._try(item, partial(_wait_for_file_system, self.clients, item.id))
            step()

    def _free_network(self) -> Iterator[Retained]:
        """Yield the parts of VPCs in which only resources of this list are; report the other VPCs."""
        ours = {item.id for item in self.found.items}
        kept = [item for item in self.found.of(FILE_SYSTEM) if item not in self.deleted]
        vpcs = {vpc for item in self.found.items if item.kind in _NETWORK and (vpc := vpc_of(item))}
        for vpc in sorted(vpcs):
            try:
                with aws_errors_reported(f"resources in {vpc}"):
                    others = others_in(self.clients, vpc, ours)
            except AwsRefusal as refused:
                self._keep(*refused.problems)
                continue
            if others:
                self._keep(_of_others(vpc, others))
            elif mounted := [item.id for item in kept if vpc_of(item) in (vpc, "")]:
                self._keep(_of_file_systems(vpc, mounted))
            else:
                yield from (item for item in self.found.items if item.kind in _NETWORK and vpc_of(item) == vpc)

    def _revoke_rules(self, item: Retained) -> None:
        ec2 = self.clients.client("ec2")
        (group,) = ec2.describe_security_groups(GroupIds=[item.id])["SecurityGroups"]
        for permissions, revoke in (
            (_naming_groups(group["IpPermissions"], item.id), ec2.revoke_security_group_ingress),
            (_naming_groups(group["IpPermissionsEgress"], item.id), ec2.revoke_security_group_egress),
        ):
            if permissions:
                revoke(GroupId=item.id, IpPermissions=permissions)

    def _keys(self, step: Step) -> None:
        """Schedule the deletion of keys, unless something that they may have encrypted still exists."""
        listed = (*self.found.items, *self.found.others)
        data = [one.id for one in listed if _may_hold_data(one) and one not in self.deleted]
        data += ["resources that could not be queried"] if self.found.problems else []
        keys = self.found.of(KEY)
        others: dict[str, list[str]] = {}
        if keys and not data:
            try:
                with aws_errors_reported("backups and log groups that the keys encrypt"):
                    others = data_by_key(self.clients)
            except AwsRefusal as refused:
                self._keep(*refused.problems)
                return
        for item in keys:
            if needed := data or others.get(item.id):
                self._keep(_key_needed(item, needed))
            else:
                self._try(item, partial(_schedule_key, self.clients, item.id))
            step()


def _may_hold_data(item: Retained) -> bool:
    return item.kind not in (*_NETWORK, KEY) and not item.kind.startswith("AWS::IAM::")


def _naming_groups(permissions: Iterable[Mapping[str, Any]], own: str) -> list[dict[str, Any]]:
    """Return the rules of a group that name groups other than `own`, only with these."""
    found: list[dict[str, Any]] = []
    for one in permissions:
        pairs = [pair for pair in one["UserIdGroupPairs"] if pair["GroupId"] != own]
        ports = {key: one[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in one}
        found += [{**ports, "UserIdGroupPairs": pairs}] if pairs else []
    return found


def _not_deleted(item: Retained) -> Problem:
    return Problem(
        code=RetainedCode.NOT_DELETED,
        message="this command does not delete resources of this kind",
        remedy="delete it in the console of its service, then run the command again for the network and the keys",
        value=f"{item.kind} {item.id}",
    )


def _in_use(vpc: str, users: Collection[str], kept: Collection[str]) -> Problem:
    return Problem(
        code=RetainedCode.OTHERS_USE_IT,
        message=f"{vpc} has resources that are not in the list and may use it, its file systems and the fleet's KMS "
        f"keys; these are kept: {', '.join(kept)}",
        remedy="delete the given resources first, then run the command again; or delete what they do not use with "
        "`--delete --only ID`",
        value=", ".join(users),
    )


def _of_others(vpc: str, others: Collection[str]) -> Problem:
    return Problem(
        code=RetainedCode.OTHERS_USE_IT,
        message=f"{vpc} has resources that are not in the list, so it was not deleted, and neither were its subnets "
        "and security groups",
        remedy="delete these resources first, then run the command again",
        value=", ".join(sorted(others)),
    )


def _of_file_systems(vpc: str, ids: Collection[str]) -> Problem:
    return Problem(
        code=RetainedCode.OTHERS_USE_IT,
        message=f"{vpc}, its subnets and its security groups were not deleted: file systems in it still exist",
        remedy="look at the problems of the file systems, then run the command again",
        value=", ".join(sorted(ids)),
    )


def _key_needed(item: Retained, data: Collection[str]) -> Problem:
    return Problem(
        code=RetainedCode.KEY_NEEDED,
        message=f"the key {item.id} was not deleted: data that it may have encrypted still exists",
        remedy="delete the data first, then run the command again",
        value=", ".join(data),
    )


def _delete_file_system(clients: AwsClients, item: Retained) -> None:
    """Start the deletion, without a final backup.

    Source: document https://docs.aws.amazon.com/fsx/latest/APIReference/API_DeleteFileSystem.html
    """
    if item.described.facts.get("Lifecycle") == "DELETING":
        return
    options: dict[str, Any] = {
        "OpenZFSConfiguration": {"SkipFinalBackup": True, "Options": ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"]}
    }
    if item.described.facts["FileSystemType"] == LUSTRE:
        options = {}
    clients.client("fsx").delete_file_system(FileSystemId=item.id, **options)


def _wait_for_file_system(clients: AwsClients, id: str) -> None:
    """Wait until it is gone. Raises `FleetError` (LF1238)."""
    end = time.monotonic() + _LONGEST_SECONDS
    while True:
        found = clients.client("fsx").describe_file_systems(FileSystemIds=[id])["FileSystems"]
        if not found:
            return
        if found[0]["Lifecycle"] == "FAILED" or time.monotonic() > end:
            refuse(
                RetainedCode.DELETION_LONG,
                "FSx has not deleted the file system",
                "look at its state in the console of FSx, then run the command again",
                value=f"{id}: {found[0]['Lifecycle']}",
                subject="file systems",
            )
        time.sleep(_POLL_SECONDS)


def _delete_parameter(clients: AwsClients, id: str) -> None:
    clients.ssm.delete_parameter(Name=id)


def _delete_log_group(clients: AwsClients, id: str) -> None:
    clients.logs.delete_log_group(logGroupName=id)


def _delete_security_group(clients: AwsClients, id: str) -> None:
    clients.client("ec2").delete_security_group(GroupId=id)


def _delete_subnet(clients: AwsClients, id: str) -> None:
    clients.client("ec2").delete_subnet(SubnetId=id)


def _delete_vpc(clients: AwsClients, id: str) -> None:
    clients.client("ec2").delete_vpc(VpcId=id)


def _schedule_key(clients: AwsClients, id: str) -> None:
    clients.client("kms").schedule_key_deletion(KeyId=id, PendingWindowInDays=KEY_DAYS)


_DELETE: Mapping[str, Callable[[AwsClients, str], None]] = {
    "bucket": delete_bucket,
    "parameter": _delete_parameter,
    "log group": _delete_log_group,
    "security group": _delete_security_group,
    "subnet": _delete_subnet,
    "VPC": _delete_vpc,
}
"""By kind, in the order of deletion: file systems go first, and keys last, after all data."""
