"""Of what class each argument of a watch is, and an example for who gave something else."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.rules.inference.forms import Form, check_form, check_forms
from llm_fleet.rules.problem import Problem
from llm_fleet.sagemaker.watch.checkpoint_layout import CheckpointLayout
from llm_fleet.sagemaker.watch.conditions import CONDITIONS
from llm_fleet.sagemaker.watch.job_watch import JobWatch
from llm_fleet.sagemaker.watch.restart_policy import RestartPolicy
from llm_fleet.sagemaker.watch.watched_jobs import WatchedJobs

_FORMS: Mapping[str, Form] = {
    "name": Form(wanted="a text", types=(str,), remedy='write a name, e.g. "training"'),
    "restart": Form(
        wanted="a RestartPolicy", types=(RestartPolicy,), remedy="write RestartPolicy(maximum=3)", optional=True
    ),
    "checkpoints": Form(
        wanted="a CheckpointLayout",
        types=(CheckpointLayout,),
        remedy="write CheckpointLayout.hugging_face(), or another layout",
        optional=True,
    ),
    "settings": Form(
        wanted="a JobWatch", types=(JobWatch,), remedy="write JobWatch(restart=RestartPolicy(maximum=1))", optional=True
    ),
    "conditions": Form(
        wanted="a list of conditions", types=(list, tuple), remedy='write conditions=[Stall(metric="train:loss")]'
    ),
    "others": Form(
        wanted="a list of WatchedJobs", types=(list, tuple), remedy='write others=[WatchedJobs(prefix="alice-", …)]'
    ),
    "encryption_key": Form(
        wanted="a KMS key", has=("key_arn",), optional=True, remedy='write FleetKey(self, "Key"), or leave it out'
    ),
    "topic": Form(
        wanted="an SNS topic",
        has=("topic_arn",),
        optional=True,
        remedy='write AlarmTopic(self, "Told"), or leave it out',
    ),
    "clusters": Form(
        wanted="a list of clusters", types=(list, tuple), remedy="write clusters=[cluster], or their ARNs"
    ),
}
_ITEMS: Mapping[str, Form] = {
    "conditions": Form(
        wanted="a LossSpike, Stall, NotANumber or ThroughputDrop",
        types=CONDITIONS,
        remedy='write e.g. LossSpike(metric="train:loss")',
    ),
    "others": Form(
        wanted="WatchedJobs",
        types=(WatchedJobs,),
        remedy='write WatchedJobs(prefix="alice-", roles=[role], checkpoints=["s3://my-bucket/alice"])',
    ),
}


def check_watch_forms(**arguments: Any) -> list[Problem]:
    """Return a problem for each of `arguments`, or item of one, that is of another class."""
    problems = check_forms(arguments, _FORMS)
    wrong = {problem.path[0] for problem in problems}
    return [
        *problems,
        *(
            problem
            for name, form in _ITEMS.items()
            if name in arguments and name not in wrong
            for problem in _check_items(arguments[name], form, name)
        ),
    ]


def _check_items(items: Sequence[Any], form: Form, name: str) -> list[Problem]:
    return [problem for index, item in enumerate(items) for problem in check_form(item, form, name, index)]
