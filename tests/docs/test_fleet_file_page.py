"""docs/fleet-file.md matches the schema."""

import os

from tools.fleet_file_page import page
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "fleet-file.md"


def test_generated_page_is_up_to_date():
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "keys have changed: run `make golden`"


def test_the_page_has_a_section_for_every_kind_of_mapping():
    text = page()
    for path in ("network.vpc", "storage.fsx", "storage.home", "clusters.NAME", "clusters.NAME.groups.NAME.auto_patch"):
        assert f"## `{path}`" in text
    for path in ("head", "head.root_volume", "queues.NAME", "queues.NAME.resources.NAME", "login.NAME", "slurm"):
        assert f"## `clusters.NAME.{path}`" in text
    for kind in ("hyperpod", "parallelcluster"):
        assert f"## `clusters.NAME` of `kind: {kind}`" in text
    for path in ("model", "hosts", "front", "front.jwt", "front.jwt.claims[]", "alarms", "export", "export.source"):
        assert f"## `services.NAME.{path}`" in text
    for kind in ("tgi", "hugging-face-vllm", "aws-vllm", "aws-vllm-neuron"):
        assert f"## `services.NAME.server` of `kind: {kind}`" in text
