"""Common problems of HyperPod users, from public issue threads, and where llm-fleet reports each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pain:
    """One problem that several users have reported."""

    title: str
    threads: str
    """Where users report it; `#n` is an issue of awslabs/awsome-distributed-ai."""
    where: str
    """Where llm-fleet reports it."""


PAINS = {
    1: Pain("Another program holds the package manager's lock, and the cluster fails", "#96, #243", "the node's step"),
    2: Pain(
        "A file that nodes download at start has changed or is missing",
        "#186, #1055",
        "the node's step; by default nothing is downloaded",
    ),
    3: Pain("A node failed, and the failed step is not reported", "#188", "`llm-fleet logs`, the node's report"),
    4: Pain("A node failed, and its log stream is empty", "#189", "`llm-fleet logs`, from the report in S3"),
    5: Pain("The root volume fills up", "#127, #187, #427, #781, #913, #1218", "the node's step, an alarm"),
    6: Pain("A newer AMI breaks scripts", "#672 to #683, #1115 to #1121", "`llm-fleet upgrade`, `check`"),
    7: Pain("Two versions of Slurm are installed, and the wrong one is used", "#1107", "the node's step"),
    8: Pain("srun rejects --container-image", "#638, #674, #703", "the node's step"),
    9: Pain("A security group without EFA's rules", "#259", "synth, `llm-fleet check`"),
    10: Pain(
        "FSx for Lustre uses TCP instead of EFA without a warning", "#849, #989, #1124, #1202, #1209", "the node's step"
    ),
    13: Pain("No capacity in the Availability Zone", "#204, #510, #1004", "`llm-fleet check`, `events`, `nodes`"),
    14: Pain(
        "A training plan in another Availability Zone, or one that ends", "#1004, #1160", "synth, `llm-fleet check`"
    ),
    15: Pain(
        "A new cluster uses an old accounting database",
        "physai#17",
        "the node's step; each cluster has its own name in the database",
    ),
    16: Pain("An empty topology file keeps jobs from starting", "physai#14, #23", "the node's step"),
    17: Pain("Slurm is configured both by provisioning_parameters.json and by the API", "the migration guide", "synth"),
    18: Pain("A login node runs jobs", "#151, #778", "synth"),
    19: Pain(
        "Jobs are not resumed: the auto-resume plug-in is missing", "#231, #232", "the node's step, the batch files"
    ),
    20: Pain("One user with two uids", "#1061, #1069", "synth"),
    21: Pain("Connecting to a node is complicated, and throttled", "ai-on-hyperpod#46, #88", "`llm-fleet connect`"),
    22: Pain("A tool that expects EKS crashes on Slurm", "sagemaker-hyperpod-cli#264, #268", "`llm-fleet nodes`"),
    23: Pain("Metrics exporters do not run, without an error", "#324, #950, #1012, #1082", "the node's step, an alarm"),
    24: Pain("Permanent drift; nodes deleted by hand", "#1011", "`llm-fleet plan`, `nodes`"),
    25: Pain("The node has a wrong version of the Neuron SDK", "#530, #532, #1055", "the node's step"),
}
"""By llm-fleet's own numbers. Two more are not shown in any message: an IAM role with six copies that drift apart (here
one builder makes them), and stacks that cannot be deleted (the tests delete each example)."""


def reported(pain: int, text: object, words: str) -> None:
    """Assert that `text`, which the user reads, reports the `pain` in these `words`. docs/pains.md lists each call."""
    assert pain in PAINS
    assert words in " ".join(str(text).split())
