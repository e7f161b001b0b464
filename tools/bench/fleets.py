"""Fleet files of a chosen size, made for the measurements."""

from pathlib import Path

import yaml

CONTROLLER = {"role": "controller", "type": "ml.m5.xlarge", "count": 1}


def one_cluster(folder: Path, *, worker_groups: int) -> str:
    """Write a fleet of one cluster with `worker_groups` groups of one node; return the file's path."""
    return _write(folder / f"{worker_groups}-groups.yaml", {"train": _cluster(worker_groups)})


def two_clusters(folder: Path) -> str:
    """Write a fleet of two clusters with one worker group each; return the file's path."""
    return _write(folder / "two-clusters.yaml", {"train": _cluster(1), "tune": _cluster(1)})


def _cluster(worker_groups: int) -> dict[str, object]:
    workers = {
        f"workers-{number}": {"role": "compute", "type": "ml.trn1.32xlarge", "count": 1, "partition": f"p{number}"}
        for number in range(worker_groups)
    }
    return {"kind": "hyperpod", "groups": {"controller": dict(CONTROLLER), **workers}}


def _write(path: Path, clusters: dict[str, object]) -> str:
    fleet = {
        "fleet": "bench",
        "region": "us-west-2",
        "network": {"az": "usw2-az4"},
        "storage": {"fsx": {"size": "4800 GiB", "throughput": "250 MB/s/TiB"}},
        "clusters": clusters,
    }
    path.write_text(yaml.safe_dump(fleet, sort_keys=False))
    return str(path)
