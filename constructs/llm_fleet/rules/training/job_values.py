"""Single values that jobs find on the nodes: variables, processes, the secret of the Hub."""

import re
from collections.abc import Iterator, Mapping

from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.secret_text import SECRET_VARIABLE
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.place import TrainingPlace, processes_of_type
from llm_fleet.rules.training.protocols import RuntimeLike

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_OURS = ("LLM_FLEET_",)
_MOST = 1024


def check_variables(variables: Mapping[str, str]) -> Iterator[Problem]:
    """Return which of `variables` no job can have, or none should."""
    for name, value in variables.items():
        found = _variable(name, value)
        if found is not None:
            message, remedy = found
            yield Problem(
                code=Code.TRAINING_VARIABLE,
                message=message,
                remedy=remedy,
                path=("variables", name),
                value=None if SECRET_VARIABLE.search(name) else value,
            )


def _variable(name: str, value: object) -> tuple[str, str] | None:
    if not _NAME.fullmatch(name):
        return "this is no name of a variable", "write upper-case letters, digits and underscores, no digit first"
    if name.startswith(_OURS):
        return "variables of this beginning are llm-fleet's own", "take another name; what they tell has a key here"
    if SECRET_VARIABLE.search(name):
        return "a secret as a variable can be read by everybody on the nodes", _secret_remedy(name)
    if not isinstance(value, str):
        return "the value of a variable is text", f"write it in quotes: {name}: '{value}'"
    if not is_unresolved(value) and ("\n" in value or "\0" in value):
        return "the value of a variable is one line", "write it in one line, without NUL"
    return None


def _secret_remedy(name: str) -> str:
    if name.startswith(("HF_", "HUGGING")):
        return "keep it in Secrets Manager, and name the secret as `hub_token_secret`"
    return "keep it in Secrets Manager, and let jobs read it from there"


def check_processes(runtime: RuntimeLike, place: TrainingPlace) -> Iterator[Problem]:
    """Return which numbers of processes are none, or are known by nobody."""
    names = [group.name for group in place.compute_groups]
    for name, count in runtime.processes.items():
        if name not in names:
            yield _processes(
                "jobs run on no group that is called so", did_you_mean(name, names, otherwise="name one"), name, name
            )
        elif not is_unresolved(count) and (type(count) is not int or not 1 <= count <= _MOST):
            yield _processes("no node has so many processes of a job", f"write 1 to {_MOST}", name, count)
    for group in place.compute_groups:
        counts = {processes_of_type(name) for name in group.instance_types} - {None}
        if group.name not in runtime.processes and len(counts) > 1:
            told = " or ".join(map(str, sorted(each for each in counts if each is not None)))
            yield _processes(
                f"the instance types of {group.name} have {told} NeuronCores or GPUs, and a job has one number for all",
                f"say it: processes: {{{group.name}: {min(each for each in counts if each is not None)}}}",
                group.name,
                None,
            )


def check_secret(arn: str | None, region: str | None) -> list[Problem]:
    """Return why nodes in `region` cannot read the secret `arn`."""
    if arn is None or is_unresolved(arn):
        return []
    if not re.fullmatch(slurm_database_facts().secret_arn, arn):
        remedy = "write it whole, as `aws secretsmanager describe-secret` shows it; never the token itself"
        # What stands there may be the token: it is not shown.
        return [_secret("this is no ARN of a secret", remedy, None)]
    place = arn.split(":")[3]
    if region is None or is_unresolved(region) or place == region:
        return []
    return [_secret(f"the secret is in {place}, the cluster in {region}", f"replicate it to {region}", arn)]


def _processes(message: str, remedy: str, group: str, value: object) -> Problem:
    return Problem(code=Code.TRAINING_PROCESSES, message=message, remedy=remedy, path=("processes", group), value=value)


def _secret(message: str, remedy: str, value: str | None) -> Problem:
    return Problem(
        code=Code.TRAINING_SECRET,
        message=message,
        remedy=remedy,
        path=("hub_token_secret_arn",),
        value=value,
        allowed="arn:<partition>:secretsmanager:<region>:<account>:secret:<name>",
    )
