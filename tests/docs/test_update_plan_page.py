"""The table in docs/update-plan.md shows the results of the rules; `UPDATE_GOLDEN=1` writes it again."""

import os
import re

from llm_fleet.rules.parallelcluster.update_plan import plan_update
from tests.rules.parallelcluster.update.cases import CHANGES
from tests.rules.parallelcluster.update.configurations import STRATEGIES, base, edited
from tools.synth_environment import ROOT

_PAGE = ROOT / "docs/update-plan.md"
_BLOCK = re.compile(r"(<!-- verdicts: [^\n]*-->\n).*?(<!-- end of verdicts -->)", re.DOTALL)
_ROWS = {
    "add a queue or compute resource": ["another queue", "another compute resource"],
    "remove a queue or compute resource": ["a queue fewer", "a compute resource fewer"],
    "raise `MaxCount`": ["more nodes"],
    "raise `MinCount`, and `MaxCount` by as much": ["more nodes, static ones too"],
    "raise `MinCount` alone": ["more static nodes"],
    "lower `MaxCount`": ["fewer nodes"],
    "`InstanceType` or hyper-threading of a compute resource": ["type of nodes", "hyper-threading"],
    "scripts of a queue, their arguments or content": ["script of a queue", "arguments of a queue's script"],
    "AMI, capacity type, reservation, EFA, root volume or tags of a queue": [
        "image of a queue",
        "capacity",
        "reservation",
        "EFA",
        "root volume of a queue",
        "tag of a queue",
    ],
    "add a subnet to a queue": ["another subnet"],
    "replace the subnets of a queue": ["other subnets"],
    "remove a placement group that ParallelCluster created": ["placement group by name", "no placement group"],
    "security groups, IAM policies, exclusive jobs, health checks of a queue": [
        "security groups of a queue",
        "policies of a queue",
        "exclusive jobs",
        "health check of a queue",
    ],
    "public IP addresses of a queue (`AssignPublicIp`)": ["public addresses of a queue"],
    "`CustomSlurmSettings`, `ScalingStrategy`": ["settings of Slurm", "scaling"],
    "`ScaledownIdletime`, accounting, memory-based scheduling, detailed monitoring": [
        "idle time",
        "accounting",
        "scheduling by memory",
        "detailed monitoring",
    ],
    "munge key, directory service": ["munge key", "directory", "directory's address"],
    "add or remove an existing EFS or FSx file system": [
        "another existing file system",
        "an existing file system fewer",
    ],
    "add or remove storage that ParallelCluster creates": ["another volume of its own", "a volume of its own fewer"],
    "another file system under the same name": ["id of a file system"],
    "any change of the mount of `/home`": ["no home", "a home", "id of the home"],
    "number of login nodes, grace time of login nodes": ["number of login nodes", "grace of login nodes"],
    "add a login pool": ["another pool"],
    "instance type, AMI, subnet or SSH settings of a login pool; remove a login pool": [
        "type of login nodes",
        "image of login nodes",
        "subnet of login nodes",
        "who reaches login nodes",
        "a pool fewer",
    ],
    "remote desktop of a login pool": ["desktop of login nodes"],
    "`OnNodeUpdated` of head node and login pools": [
        "script of the updated head node",
        "script of updated login nodes",
    ],
    "security groups, IAM policies, allowed IP addresses of the head node": [
        "head node's security groups",
        "head node's policy",
        "head node's allowed addresses",
    ],
    "instance type, subnet, volumes, SSH key, other scripts of the head node": [
        "head node's type",
        "head node's subnet",
        "head node's root volume",
        "head node's key",
        "script of the configured head node",
    ],
    "operating system, AMI, instance metadata, host names, VPC settings of Lambda functions": [
        "operating system",
        "image",
        "instance metadata",
        "names of hosts",
        "Lambda's network",
    ],
    "tags of the cluster, retention of logs": ["tag", "retention of logs"],
}


def table() -> str:
    lines = [f"| change | {' | '.join(f'`{strategy}`' for strategy in STRATEGIES)} |", "|---|---|---|---|"]
    for title, names in _ROWS.items():
        reported = {_verdicts(name) for name in names}
        assert len(reported) == 1, f"results differ: {title}"
        lines.append(f"| {title} | {' | '.join(reported.pop())} |")
    return "\n".join(lines) + "\n"


def _verdicts(name: str) -> tuple[str, ...]:
    before, change = CHANGES[name]
    starts = [edited(base(strategy), *before) for strategy in STRATEGIES]
    return tuple(plan_update(start, edited(start, *change)).verdict.value for start in starts)


def test_the_table_shows_the_results_of_the_rules() -> None:
    page = _PAGE.read_text()
    made = _BLOCK.sub(lambda found: found[1] + "\n" + table() + "\n" + found[2], page)
    if os.environ.get("UPDATE_GOLDEN"):
        _PAGE.write_text(made)
    assert page == made
