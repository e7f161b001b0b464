"""Jobs of a fleet file: their partitions, and errors that only the file can have, each reported once."""

import json
import re
from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.jobs.render_run import training_runs
from tests.fleet_file.good_job import DATA, GOOD, SECRET, TRAINING, problems, run, with_keys

TALK = """\
  trn1:
    kind: parallelcluster
    head: {type: c5.4xlarge}
    queues:
      wide: {type: trn1.32xlarge, max: 2}
      narrow: {type: trn1.2xlarge, max: 3}
    """
GPUS = "      gpus: {role: compute, type: ml.p5.48xlarge, count: 2, partition: p5}\n"
FLEXIBLE = "workers: {role: compute, types: [ml.trn1.32xlarge, ml.trn1n.32xlarge], count: 4, partition: trn1}"
WORKERS = "workers: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}"

BAD: dict[str, tuple[tuple[str, ...], list[tuple[str, str]], str]] = {
    "TP 3 on 32 cores": (
        with_keys("tensor_parallel: 3"), [("LF856", "jobs.llama.tensor_parallel")], "`tensor_parallel: 8`",
    ),
    "a batch that does not divide": (
        with_keys("global_batch: 250"), [("LF859", "jobs.llama.global_batch")], "`global_batch: 256`",
    ),
    "more nodes than there are": (with_keys("nodes: 5"), [("LF852", "jobs.llama.nodes")], "`nodes: 4`"),
    "a wrong backend": (
        with_keys("backend: fsdp"), [("LF854", "jobs.llama.backend")], "`backend: neuron`, or remove it",
    ),
    "no token": (
        (f", hub_token_secret: '{SECRET}'", ""), [("LF864", "jobs.llama.model")], "`hub_token_secret`",
    ),
    "no runtime": ((TRAINING, "az: usw2-az1"), [("LF853", "jobs.llama.cluster")], "`training: {environments: {…}}`"),
    "no environment": (
        (TRAINING, f"training: {{hub_token_secret: '{SECRET}'}}"), [("LF853", "jobs.llama.cluster")], "environments",
    ),
    "an environment for exports alone": (
        ("kind: container, image", "kind: container, use: export, image"), [("LF853", "jobs.llama.cluster")], "add one",
    ),
    "an unknown cluster": (with_keys("cluster: mi"), [("LF119", "jobs.llama.cluster")], "`ml`"),
    "an unknown partition": (with_keys("partition: trn2"), [("LF119", "jobs.llama.partition")], "`trn1`"),
    "a group instead of a partition": (with_keys("partition: workers"), [("LF851", "jobs.llama.partition")], "`trn1`"),
    "a controller": (with_keys("partition: controller"), [("LF851", "jobs.llama.partition")], "`trn1`"),
    "one of two partitions": (
        ("services:", GPUS + "services:"), [("LF851", "jobs.llama.partition")], "`partition: trn1`",
    ),
    "a partition with several types": ((WORKERS, FLEXIBLE), [("LF851", "jobs.llama.cluster")], "one instance type"),
    "a mirror in an unknown bucket": (
        with_keys("checkpoint: {mirror: 's3://theirs/x'}"),
        [("LF866", "jobs.llama.checkpoint.mirror")],
        "`writes: [s3://theirs]`",
    ),
    "checkpoints without space": (
        with_keys("checkpoint: {keep: 100}"), [("LF867", "jobs.llama.checkpoint.keep")], "`checkpoint: {keep: 53}`",
    ),
    "an unknown service": (
        with_keys("export: {service: chatt}"), [("LF119", "jobs.llama.export.service")], "`chat`",
    ),
    "an export without an environment": (
        with_keys("export: {service: chat}"), [("LF873", "jobs.llama.export.environment")], "hugging-face-vllm}`",
    ),
    "an export without a destination": (with_keys("export: {}"), [("LF865", "jobs.llama.export")], "`service: <name>`"),
    "an export with other sizes": (
        with_keys("export: {service: chat, environment: any, batch_size: 8, to: 's3://our-models/x'}"),
        [("LF117", "jobs.llama.export.batch_size"), ("LF117", "jobs.llama.export.to")],
        "leave `batch_size` out",
    ),
    "a service with another model": (
        (*with_keys("export: {service: chat}"), "prefix: llama-2-7b", "prefix: tanuki-8b"),
        [("LF865", "jobs.llama.export.service")],
        "of chat",
    ),
    "a service with a model of the Hub": (
        (
            *with_keys("export: {service: chat}"),
            "{bucket: models, prefix: llama-2-7b}",
            "{hub: me/llama-2-7b}",
            "instance: inf2.xlarge",
            "instance: inf2.8xlarge",
        ),
        [("LF865", "jobs.llama.export.service")],
        "`model: s3://…`",
    ),
    "a service in a bucket without a name": (
        (*with_keys("export: {service: chat}"), "{bucket: models, prefix", "{bucket: scratch, prefix"),
        [("LF865", "jobs.llama.export.service")],
        "`scratch: {name: …}`",
    ),
    "a service with a bucket that cannot be written": (
        (*with_keys("export: {service: chat, environment: any}"), "writes: [models, ", "writes: ["),
        [("LF866", "jobs.llama.export.service")],
        "`writes: [s3://our-models]`",
    ),
    "a size set twice": (
        ("meta-llama/Llama-2-7b-hf", "/fsx/x", *with_keys(
            "config: a.json\n"
            "shape: {parameters: 1 B, layers: 2, heads: 8, kv_heads: 8, head_dim: 8, hidden: 64, intermediate: 8, "
            "vocabulary: 800}"
        )),
        [("LF117", "jobs.llama.config")],
        "remove one",
    ),
    "impossible numbers of a model": (
        ("meta-llama/Llama-2-7b-hf", "/fsx/x", *with_keys(
            "shape: {parameters: 1 B, layers: 2, heads: 8, kv_heads: 3, head_dim: 8, hidden: 64, intermediate: 8, "
            "vocabulary: 800}"
        )),
        [("LF717", "jobs.llama.shape.kv_heads")],
        "num_key_value_heads",
    ),
    "a model of unknown size": (
        ("meta-llama/Llama-2-7b-hf", "me/mine"), [("LF716", "jobs.llama.model")], "`shape: {parameters",
    ),
    "smp without smp": (with_keys("smp: {}"), [("LF872", "jobs.llama.smp")], "`backend: smp`"),
    "smp on Trainium": (with_keys("backend: smp"), [("LF854", "jobs.llama.backend")], "`backend: neuron`"),
    "smp in a region without an image": (
        (WORKERS, "workers: {role: compute, type: ml.g4dn.12xlarge, count: 4, partition: trn1}",
         *with_keys("backend: smp")),
        [("LF837", "jobs.llama.backend")],
        "fsdp",
    ),
    "text for a number": (with_keys("nodes: '4'"), [("LF113", "jobs.llama.nodes")], "without quotes"),
    "an unknown value": (with_keys("precision: fp32"), [("LF114", "jobs.llama.precision")], "float32"),
    "a key of another tool": (with_keys("tp: 8"), [("LF110", "jobs.llama.tp")], "`tensor_parallel`"),
    "no data": ((DATA, "steps: 10"), [("LF111", "jobs.llama.data")], "s3://"),
    "a name with a dot": (("  llama:", "  lla.ma:"), [("LF850", "jobs.lla.ma")], "`lla-ma`"),
    "one mistake in the cluster": (
        (WORKERS, WORKERS.replace("trn1.32", "trn1.33")),
        [("LF507", "clusters.ml.groups.workers.type")],
        "",
    ),
    "a count that is not a number": (
        (WORKERS, WORKERS.replace("count: 4", "count: many"), *with_keys("nodes: 4")),
        [("LF113", "clusters.ml.groups.workers.count")],
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_each_is_reported_once_at_its_key(name: str):
    edits, expected, remedy = BAD[name]
    found = problems(*edits)
    assert [(problem.code.value, problem.where) for problem in found] == expected, found
    assert remedy in found[0].remedy


def test_all_errors_of_a_job_are_reported_together():
    found = problems(*with_keys("nodes: 9\ntensor_parallel: 3\nsequence_length: 9000\nsteps: 0\nlearning_rate: 3"))
    codes = [problem.code.value for problem in found]
    assert sorted(codes) == ["LF852", "LF856", "LF860", "LF870", "LF870"]
    found = problems(*with_keys("tensor_parallel: 3\nmicro_batch: 0"))  # combined rules require valid numbers
    assert [problem.code.value for problem in found] == ["LF870"]


def test_consequences_of_a_mistake_are_not_reported():
    found = problems(*with_keys("tensor_parallel: '32'\nglobal_batch: 4"))  # divisible for 32, but not for the default
    assert [(problem.code.value, problem.where) for problem in found] == [("LF113", "jobs.llama.tensor_parallel")]
    found = problems(*with_keys("export: {service: chat}"), "batch_size: 4", "batch_size: 64")
    assert [(problem.code.value, problem.where) for problem in found] == [("LF720", "services.chat.instance")]


def test_the_file_is_valid_after_a_remedy_is_applied():
    (problem,) = problems(*with_keys("tensor_parallel: 3"))
    (key, value) = re.findall(r"`(\w+): (\d+)`", problem.remedy)[0]
    assert problems(*with_keys(f"{key}: {value}")) == ()
    exporting = with_keys("export: {service: chat}")
    (problem,) = problems(*exporting)
    (added,) = re.findall(r"`(export: {.*})` to `training: environments`", problem.remedy)
    assert "Python" not in problem.remedy
    assert problems(*exporting, "environments: {any", f"environments: {{{added}, any") == ()
    (problem,) = problems(*exporting, "environments: {any", "environments: {export: {kind: server, server: tgi}, any")
    assert (problem.code.value, "`server: hugging-face-vllm`" in problem.remedy) == ("LF873", True)


def test_the_environment_of_an_export_is_found():
    own = "environments: {mine: {kind: container, image: 'me/mine:1', use: export}, any"
    parsed = run(*with_keys("export: {service: chat}"), "environments: {any", own)
    assert (parsed.partition.exports_for, parsed.partition.environments) == (None, ("mine", "any"))
    assert run().partition.exports_for == ()


def test_a_valid_file_has_no_problems_and_the_run_has_all_defaults():
    assert problems() == ()
    parsed = run(
        *with_keys("export: {service: chat, environment: any}\ncheckpoint: {mirror: 's3://our-checkpoints/x'}")
    )
    assert parsed.partition.cluster == "ml"
    assert (parsed.partition.name, parsed.partition.nodes) == ("trn1", 4)
    assert parsed.partition.training_folder == "/fsx/llm-fleet"
    assert parsed.partition.environments == ("any",)
    assert parsed.partition.file_system_gib == 4800
    assert parsed.partition.writes == ("our-models", "our-checkpoints")
    assert parsed.partition.reads == ()
    assert parsed.plan.folder == "/fsx/runs/llama"
    assert parsed.export is not None
    assert parsed.export.to == "s3://our-models/llama-2-7b"
    assert (parsed.export.server, parsed.export.instance_type) == ("hugging-face-vllm", "inf2.xlarge")
    assert (parsed.export.batch_size, parsed.export.sequence_length) == (4, 4096)
    assert parsed.export.environment == "any"


def test_an_export_without_a_service_has_the_defaults_of_services():
    own = "to: 's3://our-models/mine', instance: inf2.8xlarge, batch_size: 2, environment: any"
    parsed = run(*with_keys(f"export: {{{own}}}")).export
    assert parsed is not None
    assert (parsed.server, parsed.instance_type, parsed.batch_size, parsed.sequence_length) == (
        "tgi",
        "inf2.8xlarge",
        2,
        4096,
    )


def test_a_queue_of_parallelcluster_is_a_partition():
    two = ("clusters:\n", f"clusters:\n{TALK}{TRAINING}\n")
    (problem,) = problems(*two)
    assert (problem.code, problem.where) == ("LF111", "jobs.llama.cluster")
    parsed = run(*two, *with_keys("cluster: trn1\npartition: wide"))
    assert (parsed.partition.name, parsed.partition.instance_type, parsed.partition.nodes) == (
        "wide",
        "trn1.32xlarge",
        2,
    )
    (problem,) = problems(*two, *with_keys("cluster: trn1\npartition: wode"))
    assert problem.message == "the cluster trn1 has no queue 'wode'"
    (problem,) = problems(*two, *with_keys("cluster: trn1\npartition: narrow"))
    assert problem.code == "LF868"


def test_nodes_of_all_groups_of_a_partition_are_counted():
    more = WORKERS + "\n      more: {role: compute, type: ml.trn1.32xlarge, count: 2, partition: trn1}"
    assert run(WORKERS, more).partition.nodes == 6


def test_the_model_size_can_be_in_a_config_file(tmp_path: Path):
    config = {
        "model_type": "llama",
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    text = GOOD.replace("meta-llama/Llama-2-7b-hf", "me/mine").replace(DATA, f"{DATA}\n    config: config.json")
    (tmp_path / "fleet.yaml").write_text(text)
    parsed = training_runs(load_fleet(tmp_path / "fleet.yaml"))["llama"]
    assert parsed.shape is not None
    assert (parsed.shape.hidden, parsed.shape.max_sequence, parsed.plan.sequence_length) == (2048, 2048, 2048)
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "qwen2"}))
    found = problems("meta-llama/Llama-2-7b-hf", "me/mine", *with_keys("config: config.json"), directory=tmp_path)
    assert [(problem.code.value, problem.where) for problem in found] == [("LF718", "jobs.llama.config")]
