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


def lines_of(section: str) -> dict[str, str]:
    text = page().split(f"## `{section}`")[1].split("\n## ")[0]
    rows = (line.split("|", maxsplit=2) for line in text.splitlines() if line.startswith("| `"))
    return {key.strip(" `"): description.strip(" |") for _, key, description in rows}


def test_the_line_of_a_required_key_says_so():
    assert [key for key, line in lines_of("clusters.NAME.groups.NAME").items() if line.startswith("Required. ")] == [
        "role",
        "count",
    ]
    assert "Required for compute groups" in lines_of("clusters.NAME.groups.NAME")["partition"]
    assert lines_of("clusters.NAME.users.NAME")["uid"].startswith("Required. ")


def test_a_line_has_the_values_of_its_type():
    group, fsx = lines_of("clusters.NAME.groups.NAME"), lines_of("storage.fsx")
    assert "`controller`, `login` or `compute`." in group["role"]
    assert "One or more of `InstanceStress` and `InstanceConnectivity`. Default: none." in group["deep_health_checks"]
    assert "`SCRATCH_1`, `SCRATCH_2`, `PERSISTENT_1` or `PERSISTENT_2`. Default: `PERSISTENT_2`" in fsx["deployment"]
    # A value that the description explains is not repeated, and a list of instance types is too long.
    assert lines_of("clusters.NAME` of `kind: hyperpod")["kind"].endswith("Write `hyperpod`.")
    assert fsx["compression"].count("`NONE`") == 1
    assert "xlarge" not in group["type"]
