"""The state machine that runs a training job, as a pure function of its plan.

It asks by `aws-sdk:sagemaker:createTrainingJob` and polls, in place of `sagemaker:createTrainingJob.sync`: the latter's
page lists what it supports, and checkpoints, spot, remote debugging, health checks, retries and environment are not
among it (docs.aws.amazon.com/step-functions/latest/dg/connect-sagemaker.html). So, too, the machine is the same in the
embedded AWS, which runs it.

JSONPath with plain state data, no variables: everything a state needs is in its input.
"""

from typing import Any

from llm_fleet.sagemaker.training_job.machine_ending import ending_states
from llm_fleet.sagemaker.training_job.machine_input import input_states
from llm_fleet.sagemaker.training_job.machine_job import job_states
from llm_fleet.sagemaker.training_job.machine_plan import MachinePlan
from llm_fleet.sagemaker.training_job.machine_steps import put


def render_machine(plan: MachinePlan) -> dict[str, Any]:
    """Return the definition in Amazon States Language. It depends on `plan` alone.

    An execution that is aborted stops asking; the job goes on (see the output that stops it).
    """
    return {
        "Comment": f"Runs the training job {plan.name} once, from start to end; input: checkpoints, hyperparameters, "
        "name_suffix",
        "StartAt": "CheckInput",
        "States": {
            **input_states(plan, then="CountPolls"),
            "CountPolls": put({"count": 0}, at="$.polls", then="PutAlarms"),
            **job_states(plan, ended="DeleteAlarms"),
            **ending_states(plan),
        },
    }
