"""Lines for a terminal that go with a training job."""

_JOB = "JOB"
"""What somebody puts a job's name for."""


def start_command(state_machine_arn: str, region: str) -> str:
    """Return the line that starts the job; `--input` takes hyperparameters, checkpoints and name_suffix."""
    return f"aws stepfunctions start-execution --region {region} --state-machine-arn {state_machine_arn} --input '{{}}'"


def list_command(name: str, region: str) -> str:
    """Return the line that lists the job's jobs, the newest first."""
    return f"aws sagemaker list-training-jobs --region {region} --name-contains {name}- --max-results 10"


def stop_command(region: str) -> str:
    """Return the line that stops a job: ending the execution alone does not."""
    return f"aws sagemaker stop-training-job --region {region} --training-job-name {_JOB}"


def shell_command(region: str) -> str:
    """Return the line that opens a shell in the first container of a job.

    The target's form is the developer guide's: docs.aws.amazon.com/sagemaker/latest/dg/train-remote-debugging.html.
    """
    return f"aws ssm start-session --region {region} --target sagemaker-training-job:{_JOB}_algo-1"
