"""What a run of the drill begins with: a model without weights and text, on the cluster's shared storage."""

from __future__ import annotations

from pathlib import Path

from local.drill.platforms.hyperpod import aws_settings
from local.drill.platforms.node_files import put
from local.drill.training.run_on_cluster import USER, Ground, RunOnCluster

_HERE = Path(__file__).parent
_TEXT = sorted((_HERE.parents[2] / "docs").glob("*.md"))
"""Some 130 kB of words that are at hand: the project's own pages."""


def lay_out(cluster: Ground, run: RunOnCluster, config: Path) -> None:
    """Put the model that `run` names, with `config` for its config.json, and its text where `run` looks for them.

    The model's tokenizer is learnt on a worker, by the environment that jobs have. The user gets what a node's role
    gives: the way to S3. Raises `CommandError`.
    """
    model, data = run.run.model, run.run.data.place
    text = "\n".join(page.read_text(encoding="utf-8") for page in _TEXT)
    worker = cluster.worker
    put(worker, aws_settings(cluster.region, cluster.services.endpoint, home=f"/home/{USER}", owner=USER))
    worker.run("chown", "-R", f"{USER}:", f"/home/{USER}/.aws")
    drafts = {"config.json": config.read_text(encoding="utf-8"), "text.txt": text}
    drafts["tiny_model.py"] = (_HERE / "tiny_model.py").read_text(encoding="utf-8")
    for name, content in drafts.items():
        worker.write(f"/tmp/material/{name}", content)  # noqa: S108 - a node's own, and the node is thrown away
    run.as_user(
        f"source /etc/llm-fleet/training.sh; cd /tmp/material; mkdir -p {data}; cp text.txt {data}/\n"
        f'exec "$LLM_FLEET_PYTHON" tiny_model.py {model} config.json text.txt'
    )
