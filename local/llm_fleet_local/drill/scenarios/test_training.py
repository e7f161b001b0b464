"""Jobs train with the published batch files, lose nodes, and end with the same result; then the model is exported.

Jobs without HyperPod's recovery are in `test_parallelcluster.py`.
"""

from __future__ import annotations

import os

import pytest

from llm_fleet.rules.problem import FleetError
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.platforms.recovery import Recovery
from llm_fleet_local.drill.report.model import environment_of
from llm_fleet_local.drill.scenarios.trains import Trains
from llm_fleet_local.drill.stand_ins.stand_in import calls
from llm_fleet_local.drill.training.half_written import stop_while_writing
from llm_fleet_local.drill.training.handing_over import compile_ahead, convert_and_export, load_in_transformers
from llm_fleet_local.drill.training.run_on_cluster import JobFailed, RunOnCluster
from llm_fleet_local.drill.training.story import finish, start
from llm_fleet_local.drill.until import until

SECONDS_TO_FIRST_STEP = 60
"""From the loss of a node to the first step after it, with the drill's timeouts."""


pytestmark = pytest.mark.usefixtures("cluster")
"""Each scenario leaves all workers idle."""


def test_the_environment_is_built_once_and_verified_by_all(cluster: DrillCluster):
    made = environment_of(cluster.script_runs)
    assert made is not None, "none of the workers has built it, or more than one"
    print(f"environment built in {made.seconds:.1f} s")
    assert made.waited == len(cluster.workers) - 1
    assert made.verify_seconds < made.seconds / 4


def test_a_worker_is_lost_and_the_run_ends_with_the_same_parameters(trains: Trains):
    """The job is requeued automatically, a spare node replaces the lost one, and steps are repeated."""
    training = trains.training
    print(f"first step {training.seconds_to_first_step:.1f} s after the loss, {training.steps_lost} steps lost")
    assert training.is_same
    assert (training.undisturbed.restarts, training.disturbed.restarts) == (0, 1)
    assert training.seconds_to_first_step < SECONDS_TO_FIRST_STEP
    assert training.steps_lost <= trains.run.checkpoint.every
    first, second = training.nodes
    lost = trains.cluster.instance(training.lost_node).host_name
    assert lost in first
    assert lost not in second
    assert len(second) == len(first) == trains.run.plan.nodes
    requested = [call for call in calls(trains.cluster.shared) if call.name == "srun --auto-resume"]
    assert {call.arguments for call in requested} == {("--auto-resume=1",)}


def test_a_node_dies_while_it_writes_and_a_checkpoint_is_cut_off(trains: Trains):
    """A writer dies during a checkpoint, and the last complete one is truncated: the run resumes from an older one."""
    cluster, run = trains.cluster, trains.again("cut-off", every=5)
    with Recovery(cluster) as recovery:
        first = start(cluster, run)
        writer = cluster.host_names[first.nodes[0]]
        checkpoints = f"{run.run.plan.folder}/checkpoints"
        until("it trains", lambda: run.rows, seconds=120)
        at, begun = stop_while_writing(cluster.node(writer), checkpoints, range(15, 35, 5))
        cluster.lose(writer)
        assert "checkpoint.json" not in begun
        weights = next((run.folder / "checkpoints" / f"step_{at - 5:08d}").glob("model-*.safetensors"))
        os.truncate(weights, weights.stat().st_size // 2)
        finish(cluster, run)
        recovery.wait_for(writer, seconds=120)
    log = run.log("train")
    assert f"step_{at - 5:08d} is skipped" in log
    assert f"resumes from step {at - 10} (" in log
    assert f".step_{at:08d}." in log, "what the dead node had begun was not removed"
    trains.assert_same(run)
    assert {path.name for path in (run.folder / "checkpoints").iterdir() if path.name.startswith("step_")} == {
        f"step_{step:08d}" for step in (30, 35, 40)
    }


def test_more_nodes_than_the_partition_has_are_refused_before_anything_is_submitted(trains: Trains):
    run = trains.undisturbed
    run = RunOnCluster(trains.cluster, run.run.model_copy(update={"name": "too-many", "nodes": 4, "folder": None}))
    with pytest.raises(FleetError, match=r"none is submitted: .*Requested node configuration is not available"):
        run.submit("train")


def test_checkpoints_that_cannot_be_written_end_the_job_for_good(trains: Trains):
    run = trains.again("read-only", every=5)
    run.as_user(f"mkdir -p {run.run.plan.folder}/checkpoints; chmod 555 {run.run.plan.folder}/checkpoints")
    run.submit("train")
    with pytest.raises(JobFailed, match="ended as FAILED"):
        run.wait("train", seconds=60)
    assert "not requeued, because a restart does not help" in run.log("train")
    assert run.rows == []


def test_the_trained_model_is_handed_over(trains: Trains):
    """Compiled and exported with stand-ins for the vendor's programs; everything else is real."""
    run = trains.undisturbed
    assert "4 steps were run to compile" in compile_ahead(run)
    assert "the service accepts it: set `model: s3://drill-models/tiny`" in convert_and_export(trains.cluster, run)
    assert "parameters match result.json of the training" in run.log("convert")
    name, parameters, loss = load_in_transformers(run)
    assert (name, parameters) == ("LlamaForCausalLM", 656_000)
    assert loss < 6.9, "a model that has learnt nothing has 6.93"
    cluster = trains.cluster
    held = cluster.aws.client("s3").list_objects_v2(Bucket="drill-models", Prefix="tiny/")["Contents"]
    assert {"tiny/llm-fleet-model.json", "tiny/model.pt", "tiny/tokenizer.json"} <= {one["Key"] for one in held}
    requested = {call.name for call in calls(cluster.shared)}
    assert {"neuron_parallel_compile", "optimum-cli"} <= requested
