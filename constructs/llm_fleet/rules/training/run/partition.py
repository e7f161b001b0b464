"""Where a run takes place: nodes of one kind, and what they carry for jobs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPartition:
    """A Slurm partition of a cluster, as far as a run depends on it. `TrainingRun` judges it; it raises nothing itself.

    A fleet file's job gets it from its cluster; with a cluster of your own, say what you have.
    """

    cluster: str
    """The cluster's name, as AWS knows it."""
    name: str
    """The partition's name."""
    instance_type: str
    """Of its nodes: EC2's or SageMaker's name, e.g. `trn1.32xlarge` or `ml.trn1.32xlarge`."""
    nodes: int
    """How many nodes it has, or can grow to."""
    processes: int | None = None
    """Processes of a run on each node, where the runtime says otherwise than one for each accelerator core."""
    training_folder: str | None = "/fsx/llm-fleet"
    """Where the training runtime lies on shared storage; `None` where the nodes have none."""
    environments: tuple[str, ...] | None = None
    """Names of the environments for its nodes, those for exports among them; `None` where nobody told."""
    exports_for: tuple[str, ...] | None = None
    """Servers that its environment for exports has the compiler of; `None` where nobody told, or knows."""
    shared_mounts: tuple[str, ...] = ("/fsx",)
    """Where file systems are mounted that all nodes share."""
    file_system_gib: int | None = None
    """Size of the file system under `training_folder`; `None` where nobody told."""
    hub_token_secret_arn: str | None = None
    """ARN of the secret with the Hugging Face Hub's token, which the runtime tells its jobs."""
    reads: tuple[str, ...] | None = None
    """Names of buckets that its nodes may read; `None` where nobody told."""
    writes: tuple[str, ...] | None = None
    """Names of buckets that its nodes may read and write; `None` where nobody told."""
