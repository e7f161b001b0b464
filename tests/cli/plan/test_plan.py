"""`llm-fleet plan` as a person and as CI run it, without AWS."""

import json
import sys
import time
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from tests.terminal import run, run_in_terminal
from tools.synth_environment import ROOT

TRN1 = ROOT / "examples" / "hyperpod-trn1.yaml"
LLAMA = ROOT / "examples" / "training-llama2-7b.yaml"
QUICK = ("--no-synth", "--no-aws")

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
    """Prices that the developer has refreshed are of no matter here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_plan_in_words(capsys: pytest.CaptureFixture[str]):
    assert plan(LLAMA, *QUICK) == 0
    lines = capsys.readouterr().out.splitlines()
    workers = next(line for line in lines if line.startswith("train/workers"))
    assert workers.split() == [
        *("train/workers", "ml.trn1.32xlarge", "4", "512", "64", "neuron", "2,048", "GiB", "800", "Gbit/s", "on-demand")
    ]
    assert "7 machines at most, with 524 vCPUs; 66 accelerators of 2,112 GiB; 3.2 Tbit/s of EFA in all" in lines
    assert "1,200 MB/s for all nodes together; 240 MB/s for each of 5 when all read at once" in lines
    # Checkpoint: 6.7 G parameters, 14 bytes each.
    assert any(line.split()[:4] == ["llama2-7b", "4", "94", "GB"] and "enough" in line for line in lines)
    assert any(line.startswith("together: $") and line.endswith("a month of 730 hours") for line in lines)
    assert any(line.startswith("at the price of us-east-1, as none of us-west-2 is known") for line in lines)
    assert any(line.startswith("not in it: data transfer") for line in lines)


def test_a_short_file_system_is_a_remark_with_the_throughput_that_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "fleet.yaml"
    text = LLAMA.read_text()
    assert "size: 4800 GiB" in text
    file.write_text(text.replace("size: 4800 GiB", "size: 2400 GiB"))
    assert plan(file, *QUICK) == 0
    # 94 GB in 120 s are 787 MB/s; 2.4 TiB have them from 500 MB/s/TiB on.
    assert "remark: llama2-7b: write `throughput: 500 MB/s/TiB` under storage.fsx" in capsys.readouterr().out


def test_json_has_every_section(capsys: pytest.CaptureFixture[str]):
    assert plan(TRN1, *QUICK, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["fleet", "file", "region", "machines", "network", "lustre", "cost"]
    assert told["machines"]["at_most"] == {
        "machines": 5,
        "vcpus": 516,
        "accelerators": 64,
        "accelerator_memory_gib": 2048,
        "efa_gbps": 3200,
        "unknown_types": [],
    }
    (zone,) = told["network"]["zones"]
    # One for the controller, 8 for each of four workers, 3 for the file system; room for a worker, and AWS's five.
    assert (zone["addresses_taken"], zone["addresses_needed"], zone["addresses_given"]) == (36, 49, 32768)
    assert told["cost"]["complete"] is True
    assert told["cost"]["month"]["maximum"] == pytest.approx(told["cost"]["hour"]["maximum"] * 730, abs=0.1)


def test_a_price_table_of_the_users_own_and_what_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    prices = tmp_path / "prices.json"
    entry = {
        **{"service": "sagemaker-cluster", "item": "ml.trn1.32xlarge", "region": "us-west-2", "unit": "hour"},
        **{"usd": "10", "source": "ours", "read": "2026-11-01", "verified": True},
    }
    prices.write_text(json.dumps({"format": 1, "prices": [entry]}))
    assert plan(ROOT / "examples" / "hyperpod-full.yaml", *QUICK, "--prices", prices) == 0
    out = capsys.readouterr().out
    assert "$10/h" in out
    assert "no price known: second volumes of train/trn1, OpenZFS SINGLE_AZ_HA_2, storage of storage.home" in out
    assert "; what has no price is left out" in out


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
def test_a_broken_price_table_is_told(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    prices = tmp_path / "prices.json"
    prices.write_text(text)
    assert plan(TRN1, *QUICK, "--prices", prices) == 1
    assert "LF1083" in capsys.readouterr().err


def test_no_such_file_and_a_wrong_fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert plan(tmp_path / "none.yaml", *QUICK, "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["problems"]
    assert "none.yaml" in err


def test_a_folder_that_is_no_assembly(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "manifest.json").write_text("{}")
    assert plan(TRN1, "--no-aws", "--assembly", tmp_path) == 1
    out, err = capsys.readouterr()
    assert "LF1080" in err
    assert "together: $" in out, "what the file alone tells comes first"


def test_what_needs_a_synthesis_is_refused_without_one(capsys: pytest.CaptureFixture[str]):
    assert plan(TRN1, "--no-synth", "--deployed") == 2
    assert "LF1085" in capsys.readouterr().err


def test_a_picture_without_graphviz_is_refused_before_the_synthesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert plan(TRN1, "--no-aws", "--picture", tmp_path / "it.svg") == 1
    told = capsys.readouterr()
    assert "LF1098" in told.err
    assert "pip install 'llm-fleet[picture]'" in told.err
    assert told.out == ""


def test_forty_columns():
    ran = run_in_terminal("plan", str(TRN1), *QUICK, columns=40)
    assert ran.code == 0
    assert all(len(line.rstrip()) <= 40 for line in ran.lines)
    assert "  an hour: $98.92" in [line.rstrip() for line in ran.lines]


def test_a_pipe_has_a_line_a_row_and_no_colour():
    ran = run("plan", str(TRN1), *QUICK)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    (workers,) = [line for line in ran.lines if line.startswith("ml-cluster/worker-group") and "$24.73/h" in line]
    assert "$72,211.60" in workers


def test_two_thousand_nodes_are_planned_in_under_three_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    queues = "\n".join(f"      q{number}: {{type: trn1.32xlarge, max: 50}}" for number in range(40))
    file = tmp_path / "fleet.yaml"
    file.write_text(LARGE.format(queues=queues))
    begin = time.monotonic()
    code = plan(file, *QUICK, "--json")
    seconds = time.monotonic() - begin
    assert code == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)["machines"]["at_most"]["machines"] == 2001
    assert seconds < 3
