"""Input of a training run of the drill: a model without weights, and text, on the cluster's shared storage."""

from __future__ import annotations

from pathlib import Path

from llm_fleet import spec
from llm_fleet_local.drill.platforms.hyperpod import aws_settings
from llm_fleet_local.drill.platforms.node_files import put
from llm_fleet_local.drill.training.run_on_cluster import USER, Ground, RunOnCluster

_HERE = Path(__file__).parent
_TEXT = sorted(Path(spec.__file__).parent.glob("*.py"))
"""The training text, about 370 kB: the modules that describe a fleet, which every installation has."""


def lay_out(cluster: Ground, run: RunOnCluster, config: Path) -> None:
    """Write the model of `run`, with `config` as its config.json, and the text to the folders that `run` reads.

    The model's tokenizer is trained on a worker, with the environment of jobs. The user gets access to S3, which a
    node's role grants. Raises `CommandError`.
    """
    model, data = run.run.model, run.run.data.place
    text = "\n".join(page.read_text(encoding="utf-8") for page in _TEXT)
    worker = cluster.worker
    put(worker, aws_settings(cluster.region, cluster.services.endpoint, home=f"/home/{USER}", owner=USER))
    worker.run("chown", "-R", f"{USER}:", f"/home/{USER}/.aws")
    drafts = {"config.json": config.read_text(encoding="utf-8"), "text.txt": text}
    drafts["tiny_model.py"] = (_HERE / "tiny_model.py").read_text(encoding="utf-8")
    for name, content in drafts.items():
        worker.write(f"/tmp/material/{name}", content)  # noqa: S108 - on a throwaway node
    run.as_user(
        f"source /etc/llm-fleet/training.sh; cd /tmp/material; mkdir -p {data}; cp text.txt {data}/\n"
        f'exec "$LLM_FLEET_PYTHON" tiny_model.py {model} config.json text.txt'
    )
