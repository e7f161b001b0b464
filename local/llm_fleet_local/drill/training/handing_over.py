"""From a trained run to a model for the inference service: compile, convert, export and register, each as a job."""

from __future__ import annotations

from urllib.parse import urlparse

from llm_fleet.jobs.render_run import render_run, render_stages
from llm_fleet.jobs.settings import directives
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.training.run_on_cluster import RunOnCluster

_SECONDS = 120.0
_LOAD = """
import sys, torch, transformers
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1])
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
words = tokenizer("A node explains itself.", return_tensors="pt")
loss = model(**words, labels=words["input_ids"]).loss
print(type(model).__name__, sum(one.numel() for one in model.parameters()), float(loss))
"""


def compile_ahead(run: RunOnCluster) -> str:
    """Run the `compile` stage, with a stand-in for the vendor's program that records its calls; return its log.

    A run on CPUs has no such stage: its batch file is the published one, with nodes and partition of the run.
    """
    options = {**directives(run.run, "train"), "job-name": f"{run.run.name}-compile"}
    files = {**render_run(run.run, stages=("train",)), **render_stages(("compile",), options=options)}
    files["run.sh"] = render_run(run.run, stages=("train",))["run.sh"]
    run.submit("compile", files=files)
    run.wait("compile", seconds=_SECONDS)
    return run.log("compile")


def convert_and_export(cluster: DrillCluster, run: RunOnCluster) -> str:
    """Convert the newest checkpoint, export it and copy it to the folder that its service reads; return the last log.

    The exporter's compiler is a stand-in that records its calls. Raises `JobFailed`.
    """
    assert run.run.export is not None
    bucket, s3 = urlparse(run.run.export.to).netloc, cluster.aws.client("s3")
    if bucket not in {one["Name"] for one in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": cluster.view.region})
    run.submit("convert", "export")
    run.wait("convert", seconds=_SECONDS)
    run.wait("export", seconds=_SECONDS)
    return run.log("export")


def load_in_transformers(run: RunOnCluster) -> tuple[str, int, float]:
    """Load the converted model with `transformers` on a worker; return class, parameters and loss of a sentence."""
    said = run.as_user(
        "source /etc/llm-fleet/training.sh\n"
        f'exec "$LLM_FLEET_PYTHON" - {run.run.plan.folder}/huggingface <<"PYTHON"{_LOAD}PYTHON\n'
    )
    name, parameters, loss = said.split()[-3:]
    return name, int(parameters), float(loss)
