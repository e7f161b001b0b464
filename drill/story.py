"""The story that `make drill` tells: a worker is lost while a job runs, and both come back."""

from __future__ import annotations

from dataclasses import dataclass

from drill.cluster import DrillCluster
from drill.platforms.recovery import Recovery

_STEPS = 60
_JOB = f"""#!/bin/bash
#SBATCH --job-name=train --nodes=2 --requeue --open-mode=append --output=/fsx/train.log
# A training job in small: counts to {_STEPS}, no node a step ahead of the other, keeps a checkpoint on the shared file
# system, and goes on from it.
export begin=$(cat /fsx/checkpoint 2>/dev/null || echo 0) run=/fsx/run-${{SLURM_RESTART_COUNT:-0}}
echo "begins at step $begin on $SLURM_JOB_NODELIST"
srun bash -c '
  for ((step = begin + 1; step <= {_STEPS}; step++)); do
    echo $step >$run.$SLURM_PROCID
    until [[ $(cat $run.$((1 - SLURM_PROCID)) 2>/dev/null) -ge $step ]]; do sleep 0.05; done
    [[ $SLURM_PROCID -gt 0 ]] || echo $step >/fsx/checkpoint
    sleep 0.1
  done'
echo "ends at step $(cat /fsx/checkpoint)"
"""


@dataclass(frozen=True)
class Told:
    """How it went."""

    lost: str
    """Name of the node that was lost."""
    first_nodes: tuple[str, ...]
    """Host names that the job ran on at first."""
    second_nodes: tuple[str, ...]
    """And after it was requeued."""
    seconds_to_run_again: float
    log: str
    """What the job wrote."""


def lose_a_worker_in_a_job(cluster: DrillCluster) -> Told:
    """Start a job on two workers, lose one of them, and wait until the job has ended and the node is healthy again.

    Raises `NotInTime`, or `AssertionError` where it goes otherwise.
    """
    slurm, journal = cluster.slurm, cluster.journal
    (partition, *_) = cluster.view.group(cluster.workers[0].group).partitions
    cluster.controller.run("sh", "-c", "rm -f /fsx/checkpoint /fsx/train.log /fsx/run-*")
    with Recovery(cluster) as recovery:
        job_id = slurm.submit(_JOB, f"--partition={partition}")
        first = slurm.wait_for_job(job_id, "RUNNING", seconds=30)
        journal.note("job", f"job {job_id} runs on {' and '.join(first.nodes)}")
        slurm.wait_for_file("/fsx/checkpoint", seconds=30)
        lost = cluster.host_names[first.nodes[1]]
        cluster.lose(lost)
        began = journal.last("lost")
        again = slurm.wait_for_job(job_id, "RUNNING", seconds=120, restarts=1)
        entry = journal.note("job-again", f"job {job_id} runs again, on {' and '.join(again.nodes)}")
        recovery.wait_for(lost, seconds=120)
        ended = slurm.wait_for_job(job_id, "COMPLETED", "FAILED", "CANCELLED", seconds=120)
        assert ended.state == "COMPLETED", f"the job ended as {ended.state}"
        journal.note("job-ended", f"job {job_id} has ended, its last step is {_STEPS}")
    log = cluster.controller.read("/fsx/train.log")
    assert began is not None
    return Told(lost, first.nodes, again.nodes, entry.at - began.at, log)
