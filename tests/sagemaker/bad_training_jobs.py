"""What cannot be trained: each as edits of the good fleet file, and as changes of the good description."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_fleet.spec.smp import SmpConfiguration
from llm_fleet.spec.training_job import Spot, WarmPool
from llm_fleet.spec.training_job_code import Distribution, SourceBundle, TrainingImage
from llm_fleet.spec.training_job_data import Channel, Checkpoints, JobMetric, JobOutput, Tracking

IMAGE, COUNT, LAUNCHER = "image: pytorch", "count: 2", "distribution: torchrun"
TYPE, LOSS, CHECKPOINTS = "ml.g5.12xlarge", '"loss=([0-9.]+)"', "checkpoints: true"
TRAIN = '{train: "s3://my-data/train"}'
TRCOMP = "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-trcomp-training:1.11.0-gpu-py38"
PT16 = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.6.0-gpu-py36"
LONG = "gpt2-with-a-name-that-no-state-machine-is-given"
SMP = SmpConfiguration(hybrid_shard_degree=8)


def script(name: str) -> Callable[[Path], SourceBundle]:
    def bundle(directory: Path) -> SourceBundle:
        return SourceBundle(folder=directory / "train", entry_point=name)

    return bundle


def metric(regex: str, **alarm: Any) -> dict[str, Any]:
    return {"metrics": {"loss": JobMetric(regex=regex, **alarm)}}


def channel(name: str, uri: str, **options: Any) -> dict[str, Any]:
    return {"channels": {name: Channel(uri=uri, **options)}}


# name: edits of the file, changes of the arguments, code, path in the file, part of the remedy
BAD: dict[str, tuple[tuple[str, ...], dict[str, Any], str, str, str]] = {
    "a name too long": (("  gpt2:", f"  {LONG}:"), {"name": f"test-{LONG}"}, "LF900", "", "write 'gpt2-with"),
    "a retired instance": ((TYPE, "ml.p3.2xlarge"), {"instance_type": "ml.p3.2xlarge"}, "LF901", "instance", "ml.g6e"),
    "no ml.": ((TYPE, "g5.12xlarge"), {"instance_type": "g5.12xlarge"}, "LF902", "instance", "'ml.g5.12xlarge'"),
    "no such instance": ((TYPE, "ml.g5.13xlarge"), {"instance_type": "ml.g5.13xlarge"}, "LF902", "instance", "ml.g5.1"),
    "no instances": ((COUNT, "count: 0"), {"instance_count": 0}, "LF971", "count", "write 1"),
    "a volume beside local disks": ((COUNT, "volume: 100 GiB"), {"volume_gib": 100}, "LF971", "volume", "leave"),
    "a plan that is none": (
        (COUNT, "training_plan: spring"),
        {"training_plan_arn": "spring"},
        "LF971",
        "training_plan",
        "arn:aws:sagemaker",
    ),
    "a retired image": (
        (IMAGE, "image: {kind: pytorch, version: '1.6.0'}"),
        {"image": TrainingImage.pytorch("1.6.0")},
        "LF960",
        "image.version",
        "'2.10.0'",
    ),
    "a retired image of Transformers": (
        (IMAGE, "image: {kind: hugging-face, version: '4.12.3'}"),
        {"image": TrainingImage.hugging_face("4.12.3")},
        "LF960",
        "image.version",
        "'5.3.0'",
    ),
    "an image that was never": (
        (IMAGE, "image: {kind: pytorch, version: '2.14.1'}"),
        {"image": TrainingImage.pytorch("2.14.1")},
        "LF960",
        "image.version",
        "'2.14.0'",
    ),
    "no address": ((IMAGE, "image: {uri: train}"), {"image": TrainingImage.of("train")}, "LF960", "image.uri", "tag"),
    "Training Compiler": (
        (IMAGE, f"image: {TRCOMP}"),
        {"image": TrainingImage.of(TRCOMP)},
        "LF970",
        "image.uri",
        "torch.compile",
    ),
    "PyTorch 1.6 by address": (
        (IMAGE, f"image: {PT16}"),
        {"image": TrainingImage.of(PT16)},
        "LF970",
        "image.uri",
        "pytorch",
    ),
    "GPUs' image on Trainium": ((TYPE, "ml.trn1.2xlarge"), {"instance_type": "ml.trn1.2xlarge"}, "LF960", "image", "n"),
    "Neuron's image on GPUs": (
        (IMAGE, "image: pytorch-neuronx"),
        {"image": TrainingImage.pytorch_neuronx()},
        "LF960",
        "image",
        "pytorch or hugging-face",
    ),
    "Transformers without GPUs": (
        (IMAGE, "image: hugging-face", TYPE, "ml.m5.xlarge"),
        {"image": TrainingImage.hugging_face(), "instance_type": "ml.m5.xlarge"},
        "LF960",
        "image",
        "ml.g5.xlarge",
    ),
    "x86 images on Arm": (
        (TYPE, "ml.p6e-gb200.36xlarge"),
        {"instance_type": "ml.p6e-gb200.36xlarge"},
        "LF960",
        "image",
        "of your own",
    ),
    "SMP on Blackwell": (
        (IMAGE, "image: smp", TYPE, "ml.p6-b200.48xlarge"),
        {"image": TrainingImage.smp(), "instance_type": "ml.p6-b200.48xlarge"},
        "LF960",
        "image",
        "p4d",
    ),
    "no script": (("    source: train/train.py\n", ""), {"source": None}, "LF961", "source", "the folder"),
    "a script that runs nowhere": (
        ("train/train.py", "{folder: train, entry_point: ../train.py}"),
        {"source": script("../train.py")},
        "LF961",
        "source.entry_point",
        "train.py",
    ),
    "an absolute script": (
        ("train/train.py", "{folder: train, entry_point: /train.py}"),
        {"source": script("/train.py")},
        "LF961",
        "source.entry_point",
        "from the folder",
    ),
    "a script that is not there": (
        ("train/train.py", "train/trian.py"),
        {"source": script("trian.py")},
        "LF961",
        "source.entry_point",
        "'train.py'",
    ),
    "torchrun of a shell script": (
        ("train/train.py", "train/prepare.sh"),
        {"source": script("prepare.sh")},
        "LF961",
        "source.entry_point",
        ".py",
    ),
    "a reserved hyperparameter": (
        ("epochs: 3", "sagemaker_program: x"),
        {"hyperparameters": {"sagemaker_program": "x"}},
        "LF962",
        "hyperparameters.sagemaker_program",
        "leave it out",
    ),
    "SMP v1": (
        ("epochs: 3", "mp_parameters: {partitions: 2}"),
        {"hyperparameters": {"mp_parameters": {"partitions": 2}}},
        "LF970",
        "hyperparameters.mp_parameters",
        "smp",
    ),
    "a parameter server": (
        ("epochs: 3", "sagemaker_parameter_server_enabled: true"),
        {"hyperparameters": {"sagemaker_parameter_server_enabled": True}},
        "LF970",
        "hyperparameters.sagemaker_parameter_server_enabled",
        "torchrun",
    ),
    "a path of the state machine": (
        ("epochs: 3", "epochs.$: 3"),
        {"hyperparameters": {"epochs.$": 3}},
        "LF962",
        "hyperparameters.epochs.$",
        ".$",
    ),
    "a hyperparameter too long": (
        ("epochs: 3", f"text: {'x' * 2600}"),
        {"hyperparameters": {"text": "x" * 2600}},
        "LF962",
        "hyperparameters.text",
        "file",
    ),
    "too many hyperparameters": (
        ("epochs: 3", ", ".join(f"p{i}: 1" for i in range(92))),
        {"hyperparameters": {f"p{i}": 1 for i in range(93)}},
        "LF962",
        "hyperparameters",
        "file",
    ),
    "a secret": (
        ("NCCL_DEBUG: WARN", "HF_TOKEN: x"),
        {"environment": {"HF_TOKEN": "x"}},
        "LF962",
        "environment.HF",
        "",
    ),
    "a secret by its value": (
        ("NCCL_DEBUG: WARN", f"HUB: hf_{'a' * 34}"),
        {"environment": {"HUB": f"hf_{'a' * 34}"}},
        "LF962",
        "environment.HUB",
        "Secrets Manager",
    ),
    "no name of a variable": (
        ("NCCL_DEBUG: WARN", "NCCL-DEBUG: WARN"),
        {"environment": {"NCCL-DEBUG": "WARN"}},
        "LF962",
        "environment.NCCL-DEBUG",
        "underscores",
    ),
    "a tag of ours": (
        (COUNT, "tags: {'llm-fleet:training-job': x}"),
        {"tags": {"llm-fleet:training-job": "x"}},
        "LF962",
        "tags.llm-fleet:training-job",
        "another key",
    ),
    "no place in S3": ((TRAIN, "{train: data}"), channel("train", "data"), "LF963", "channels.train.s3", "s3://"),
    "no bucket": ((TRAIN, "{train: 's3://A_B/x'}"), channel("train", "s3://A_B/x"), "LF963", "channels.train.s3", "s3"),
    "no channel": ((TRAIN, "{'tr ain': 's3://abc/x'}"), channel("tr ain", "s3://abc/x"), "LF963", "channels", "train"),
    "gzip of files": (
        (TRAIN, "{train: {s3: 's3://abc/x', compressed: true}}"),
        channel("train", "s3://abc/x", compressed=True),
        "LF963",
        "channels.train.compressed",
        "in the script",
    ),
    "checkpoints in no bucket": (
        (CHECKPOINTS, "checkpoints: our-checkpoints"),
        {"checkpoints": Checkpoints(uri="our-checkpoints")},
        "LF964",
        "checkpoints.s3",
        "s3://",
    ),
    "checkpoints in the results": (
        (CHECKPOINTS, "checkpoints: {local_path: /opt/ml/model}"),
        {"checkpoints": Checkpoints(local_path="/opt/ml/model")},
        "LF964",
        "checkpoints.local_path",
        "/opt/ml/checkpoints",
    ),
    "results nowhere": ((COUNT, "output: here"), {"output": JobOutput(uri="here")}, "LF964", "output.s3", "s3://"),
    "a warm pool above its cap": (
        (COUNT, "warm_pool: 2 h"),
        {"warm_pool": WarmPool(keep_alive_seconds=7200)},
        "LF965",
        "warm_pool.keep",
        "3600",
    ),
    "a cap above the service's": (
        (COUNT, "warm_pool: {keep: 1 h, cap: 7 h}"),
        {"warm_pool": WarmPool(keep_alive_seconds=3600, cap_seconds=25200)},
        "LF965",
        "warm_pool.cap",
        "21600",
    ),
    "a warm pool of nothing": (
        (COUNT, "warm_pool: 0 s"),
        {"warm_pool": WarmPool(keep_alive_seconds=0)},
        "LF965",
        "warm_pool.keep",
        "write 1",
    ),
    "a warm pool on spot": (
        (COUNT, "warm_pool: 30 min\n    spot: true"),
        {"warm_pool": WarmPool(keep_alive_seconds=1800), "spot": Spot()},
        "LF965",
        "warm_pool",
        "spot",
    ),
    "a run of a month": ((COUNT, "max_run: 30 days"), {"max_run_seconds": 2592000}, "LF966", "max_run", "28 days"),
    "a wait shorter than the run": (
        (COUNT, "spot: {max_wait: 1 h}"),
        {"spot": Spot(max_wait_seconds=3600)},
        "LF966",
        "spot.max_wait",
        "86400",
    ),
    "no retries told": ((COUNT, "retries: 0"), {"retries": 0}, "LF966", "retries", "leave it out"),
    "too many retries": ((COUNT, "retries: 31"), {"retries": 31}, "LF966", "retries", "30"),
    "too short to be pending": (
        (COUNT, "max_pending: 10 min"),
        {"max_pending_seconds": 600},
        "LF966",
        "max_pending",
        "1800",
    ),
    "pending without accelerators": (
        (COUNT, "max_pending: 1 h", TYPE, "ml.m5.xlarge"),
        {"max_pending_seconds": 3600, "instance_type": "ml.m5.xlarge"},
        "LF966",
        "max_pending",
        "leave it out",
    ),
    "a regex that does not compile": ((LOSS, '"loss=(["'), metric("loss=(["), "LF967", "metrics.loss.regex", "write"),
    "a regex without a group": ((LOSS, '"loss="'), metric("loss="), "LF967", "metrics.loss.regex", "parentheses"),
    "an alarm at nothing": (
        (LOSS, "{regex: '(x)', above: 1, below: 2}"),
        metric("(x)", above=1, below=2),
        "LF967",
        "metrics.loss.above",
        "greater",
    ),
    "SMDDP on g5": (
        (LAUNCHER, "distribution: smddp", IMAGE, "image: smp"),
        {"distribution": Distribution.smddp(), "image": TrainingImage.smp()},
        "LF968",
        "distribution",
        "ml.p4d.24xlarge or ml.p4de.24xlarge",
    ),
    "SMDDP without its library": (
        (LAUNCHER, "distribution: smddp", TYPE, "ml.p4d.24xlarge"),
        {"distribution": Distribution.smddp(), "instance_type": "ml.p4d.24xlarge"},
        "LF968",
        "distribution",
        "image smp",
    ),
    "MPI on Trainium": (
        (LAUNCHER, "distribution: mpi", TYPE, "ml.trn1.32xlarge", IMAGE, "image: pytorch-neuronx"),
        {
            "distribution": Distribution.mpi(),
            "instance_type": "ml.trn1.32xlarge",
            "image": TrainingImage.pytorch_neuronx(),
        },
        "LF968",
        "distribution",
        "torchrun",
    ),
    "processes without MPI": (
        (LAUNCHER, "distribution: {kind: torchrun, processes_per_host: 2}"),
        {"distribution": Distribution(kind=Distribution.torchrun().kind, processes_per_host=2)},
        "LF968",
        "distribution.processes_per_host",
        "leave it out",
    ),
    "SMP in another image": (
        (LAUNCHER, "distribution: {kind: smp, smp: {hybrid_shard_degree: 8}}", TYPE, "ml.p4d.24xlarge"),
        {"distribution": Distribution.smp(SMP), "instance_type": "ml.p4d.24xlarge"},
        "LF968",
        "distribution",
        "image smp",
    ),
    "SMP over more than there is": (
        (
            LAUNCHER,
            "distribution: {kind: smp, smp: {hybrid_shard_degree: 32}}",
            TYPE,
            "ml.p4d.24xlarge",
            IMAGE,
            "image: smp",
        ),
        {
            "distribution": Distribution.smp(SmpConfiguration(hybrid_shard_degree=32)),
            "instance_type": "ml.p4d.24xlarge",
            "image": TrainingImage.smp(),
        },
        "LF830",
        "distribution.smp",
        "16",
    ),
    "a record nowhere": ((COUNT, "tracking: {}"), {"tracking": Tracking()}, "LF969", "tracking", "MLflow"),
    "no MLflow": (
        (COUNT, "tracking: {mlflow: here}"),
        {"tracking": Tracking(mlflow_arn="here")},
        "LF969",
        "tracking.mlflow",
        "arn:aws:sagemaker",
    ),
    "a shell in isolation": (
        (COUNT, "remote_debug: true\n    network_isolation: true"),
        {"remote_debug": True, "network_isolation": True},
        "LF971",
        "remote_debug",
        "isolation",
    ),
}
