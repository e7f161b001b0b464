"""The drill verifies that its bundle is the published one, or rejects it."""

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_local.drill.bundle import Bundle, WrongBundle, prove, sha256
from tests.lifecycle_scripts.throwaway_node import Node


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """A bundle as a construct publishes it, under its publisher's prefix."""
    node = Node(tmp_path)
    node.publish()
    files = {str(path.relative_to(node.bundle)): path.read_bytes() for path in node.bundle.rglob("*") if path.is_file()}
    named = Bundle("sagemaker-demo", "", files)
    prefix = f"bundles/demo/train/{named.content_hash[:16]}-{sha256(files['fleet.json'])[:16]}"
    return replace(named, prefix=prefix)


def test_a_complete_bundle_is_verified(bundle: Bundle):
    assert bundle.content_hash in prove(bundle, bundle.content_hash)[-1]


def test_a_changed_file_is_found(bundle: Bundle):
    bundle.files["on_create.sh"] += b"# changed\n"
    with pytest.raises(WrongBundle, match=r"on_create\.sh of the bundle"):
        prove(bundle, bundle.content_hash)


def test_a_missing_file_is_found(bundle: Bundle):
    del bundle.files["enter.sh"]
    with pytest.raises(WrongBundle, match=r"enter\.sh of the bundle"):
        prove(bundle, bundle.content_hash)


def test_an_additional_file_is_found(bundle: Bundle):
    bundle.files["extra.sh"] = b""
    with pytest.raises(WrongBundle, match="list of the bundle's files"):
        prove(bundle, bundle.content_hash)


def test_another_synth_is_found(bundle: Bundle):
    with pytest.raises(WrongBundle, match=r"content hash in fleet\.json: found [0-9a-f]{64}, expected 0{64}"):
        prove(bundle, "0" * 64)


def test_another_prefix_is_found(bundle: Bundle):
    with pytest.raises(WrongBundle, match="prefix in the bucket"):
        prove(replace(bundle, prefix="bundles/demo/train/old"), bundle.content_hash)
