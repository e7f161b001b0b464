"""Nodes install pinned Neuron packages from a mirror in S3, created by `llm-fleet mirror`; then the mirror fails."""

from collections.abc import Generator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from llm_fleet.cli.main import main
from llm_fleet_local.aws.server import client_environment
from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.scenarios.conftest import Deploy
from llm_fleet_local.drill.stand_ins.apt_repository import build, neuron_packages

_MIRROR = "s3://drill-mirror/packages"
_TOOLS = "aws-neuronx-tools"
_FLEET = """
fleet: hermetic
region: us-west-2
network: {az: usw2-az4, internet: none}
clusters:
  mirrored:
    kind: hyperpod
    lifecycle: OnCreate
    neuron: {release: "2.28.1", host: install}
    downloads: {lock: downloads.lock.json, mirror: "s3://drill-mirror/packages"}
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 1, partition: trn1}
"""


@pytest.fixture(scope="module")
def lock(aws: AwsEmulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lock file of a vendor's signed repository. Its files are in the mirror; the repository no longer runs."""
    folder = tmp_path_factory.mktemp("vendor")
    debs = build(folder / "repository", neuron_packages("2.28.1", "2.31.1"))
    lock, sources = folder / "downloads.lock.json", folder / "sources.list"
    bucket = {"LocationConstraint": "us-west-2"}
    aws.client("s3").create_bucket(Bucket="drill-mirror", CreateBucketConfiguration=bucket)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in client_environment(aws.endpoint, account="", region="us-west-2").items():
            patch.setenv(name, value)
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=debs.folder)) as vendor:
            Thread(target=vendor.serve_forever, daemon=True).start()
            try:
                sources.write_text(f"deb http://127.0.0.1:{vendor.server_address[1]} stable main\n")
                requested = ["--system", "debian-13-amd64", "--neuron", "2.28.1", "--sources", str(sources)]
                assert main(["mirror", "lock", *requested, "--keyring", str(debs.keyring), "-o", str(lock)]) == 0
                assert main(["mirror", "build", "--lock", str(lock), "--to", _MIRROR]) == 0
            finally:
                vendor.shutdown()
        assert main(["mirror", "check", "--lock", str(lock), "--to", _MIRROR]) == 0
    return lock


@pytest.fixture(scope="module")
def mirrored(lock: Path, deploy: Deploy) -> Generator[DrillCluster]:
    """A cluster of a controller and a worker, whose nodes may fetch from the mirror."""
    fleet = lock.parent / "fleet.yaml"
    fleet.write_text(_FLEET.replace("downloads.lock.json", str(lock)))
    with deploy(1, fleet, "mirrored") as cluster:
        cluster.boot()
        cluster.bring_up()
        yield cluster


def test_the_release_is_installed_next_to_the_images_driver_and_held(mirrored: DrillCluster):
    worker = mirrored.node(mirrored.workers[0].name)
    found = worker.run("dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", "aws-neuronx-*").stdout
    assert "aws-neuronx-collectives 2.30.59.0-" in found
    assert "aws-neuronx-runtime-lib 2.30.51.0-" in found
    assert "aws-neuronx-dkms" not in found, "the image's own driver must be left alone"
    assert _TOOLS in worker.run("apt-mark", "showhold").stdout.split()
    assert _fetched(mirrored) == 3


def test_a_second_start_fetches_nothing(mirrored: DrillCluster):
    mirrored.run_scripts([mirrored.workers[0].name])
    assert _changes(mirrored) == []


def test_a_dead_mirror_is_reported_and_a_fixed_one_recovers_the_node(mirrored: DrillCluster, aws: AwsEmulator):
    name = mirrored.workers[0].name
    worker, s3 = mirrored.node(name), aws.client("s3")
    worker.run("dpkg", "--purge", "--force-hold", _TOOLS)
    worker.run("rm", "-r", "/var/cache/llm-fleet/downloads")
    listed = s3.list_objects_v2(Bucket="drill-mirror")["Contents"]
    key = next(item["Key"] for item in listed if f"{_TOOLS}_2.28" in item["Key"])
    content = s3.get_object(Bucket="drill-mirror", Key=key)["Body"].read()

    s3.delete_object(Bucket="drill-mirror", Key=key)
    assert _code(mirrored) == "LFN88"
    s3.put_object(Bucket="drill-mirror", Key=key, Body=content[:-1] + b"!")
    assert _code(mirrored) == "LFN90"
    s3.put_object(Bucket="drill-mirror", Key=key, Body=content)
    assert mirrored.run_scripts([name]) == {name: 0}
    assert any(_TOOLS in change for change in _changes(mirrored))


def _code(cluster: DrillCluster) -> str:
    """Run the worker's script, which must fail; return its code."""
    name = cluster.workers[0].name
    assert cluster.run_scripts([name], check=False)[name] == 1
    return _report(cluster)["code"]


def _changes(cluster: DrillCluster) -> list[str]:
    return [change for step in _report(cluster)["steps"] for change in step["changes"]]


def _fetched(cluster: DrillCluster) -> int:
    return sum(change.startswith("downloaded ") for change in _changes(cluster))


def _report(cluster: DrillCluster) -> dict[str, Any]:
    report = cluster.report(cluster.workers[0].name)
    assert report is not None
    return report
