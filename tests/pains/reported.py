"""The pains of HyperPod's users, from the threads of awslabs/awsome-distributed-ai and its like, and who tells each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pain:
    """One thing that users keep running into."""

    title: str
    threads: str
    """Where users tell of it; `#n` is of awslabs/awsome-distributed-ai."""
    where: str
    """Where llm-fleet shows it."""


PAINS = {
    1: Pain("Another program holds the package manager, and the cluster fails", "#96, #243", "the node's step"),
    2: Pain("What is downloaded at start changes or is gone", "#186, #1055", "the node's step; nothing by default"),
    3: Pain("A node failed, and no word of the step", "#188", "`llm-fleet logs`, the node's report"),
    4: Pain("A node failed, and its log stream is empty", "#189", "`llm-fleet logs`, from the report in S3"),
    5: Pain("The root volume fills up", "#127, #187, #427, #781, #913, #1218", "the node's step, an alarm"),
    6: Pain("A newer AMI breaks scripts", "#672 to #683, #1115 to #1121", "`llm-fleet upgrade`, `check`"),
    7: Pain("Two versions of Slurm, and the wrong one is taken", "#1107", "the node's step"),
    8: Pain("srun does not know --container-image", "#638, #674, #703", "the node's step"),
    9: Pain("A security group without EFA's rules", "#259", "synth, `llm-fleet check`"),
    10: Pain("FSx runs over TCP, and nobody notices", "#849, #989, #1124, #1202, #1209", "the node's step"),
    13: Pain("No capacity in the zone", "#204, #510, #1004", "`llm-fleet check`, `events`, `nodes`"),
    14: Pain("A training plan of another zone, or one that ends", "#1004, #1160", "synth, `llm-fleet check`"),
    15: Pain("A new cluster meets an old accounting database", "physai#17", "the node's step; a name of its own"),
    16: Pain("A topology file that is empty keeps jobs from starting", "physai#14, #23", "the node's step"),
    17: Pain("Slurm configured by a JSON file and by the API", "the migration guide", "synth"),
    18: Pain("A login node executes jobs", "#151, #778", "synth"),
    19: Pain("Jobs are not resumed: the plug-in is gone", "#231, #232", "the node's step, the batch files"),
    20: Pain("One person with two ids", "#1061, #1069", "synth"),
    21: Pain("Getting onto a node is a riddle, and throttled", "ai-on-hyperpod#46, #88", "`llm-fleet connect`"),
    22: Pain("A tool that expects EKS crashes on Slurm", "sagemaker-hyperpod-cli#264, #268", "`llm-fleet nodes`"),
    23: Pain("Exporters are silently absent", "#324, #950, #1012, #1082", "the node's step, an alarm"),
    24: Pain("A difference that never ends; nodes deleted by hand", "#1011", "`llm-fleet plan`, `nodes`"),
    25: Pain("The Neuron SDK of the node is another than it should be", "#530, #532, #1055", "the node's step"),
}
"""By numbers of our own. Two more have nothing to be seen: roles whose six copies drift apart (here one builder makes
them), and stacks that cannot be deleted (here each example is, in the tests)."""


def reported(pain: int, text: object, words: str) -> None:
    """Assert that `text`, which the user reads, shows the `pain` in these `words`. docs/pains.md lists each call."""
    assert pain in PAINS
    assert words in " ".join(str(text).split())
