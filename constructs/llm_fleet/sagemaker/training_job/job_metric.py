"""A number that is read from a training job's log."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMetric:
    """A metric of CloudWatch that SageMaker makes of lines of the job's log (`/aws/sagemaker/TrainingJobs`).

    What is wrong is told by `TrainingJobSpec` (LF967): a regular expression that does not compile, or has no group.
    """

    name: str
    """E.g. `train:loss`."""
    regex: str
    """Its first group is the number, e.g. `'loss': ([0-9.e+-]+)`."""
    above: float | None = None
    """An alarm goes off while it is above this. Default: none does."""
    below: float | None = None
    """An alarm goes off while it is below this. Default: none does."""
