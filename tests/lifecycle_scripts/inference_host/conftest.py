"""A throwaway host for each test, and one AWS for all of them."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lifecycle_scripts.inference_host.throwaway_host import Aws, ThrowawayHost, serve


@pytest.fixture(scope="module")
def _aws() -> Iterator[Aws]:
    aws = Aws()
    server = serve(aws)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield aws
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def aws(_aws: Aws) -> Aws:
    """AWS, before any request."""
    _aws.requests.clear()
    _aws.answers.clear()
    return _aws


@pytest.fixture
def host(tmp_path: Path, aws: Aws) -> ThrowawayHost:
    """A new host of its AMI."""
    return ThrowawayHost(tmp_path / "root", aws)
