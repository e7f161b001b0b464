"""Values of the wrong class in a training job, and what to write in Python instead."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form, check_attributes, check_form
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.training_job_terms import DistributionKind, InputMode, TrainingImageKind


def _text(code: AnyCode, example: str, *, optional: bool = True) -> Form:
    return Form(wanted="a text", types=(str,), code=code, remedy=f"write {example}", optional=optional)


def _whole(code: AnyCode, example: str, *, optional: bool = True) -> Form:
    return Form(wanted="a whole number", types=(int,), code=code, remedy=f"write {example}", optional=optional)


def _switch(*, optional: bool = False) -> Form:
    return Form(wanted="True or False", types=(bool,), remedy="write True or False, without quotes", optional=optional)


def _mapping(example: str) -> Form:
    wanted = "a mapping of texts"
    return Form(wanted=wanted, types=(dict, Mapping), code=SageMakerCode.TRAINING_HYPERPARAMETER, remedy=example)


def _several(of: str, code: AnyCode, example: str) -> Form:
    return Form(wanted=f"a tuple of {of}", types=(tuple, list), code=code, remedy=f"write ({example},), also of one")


_URI = "s3://bucket/prefix in quotes"
_S = SageMakerCode
_JOB: Mapping[str, Form] = {
    "name": _text(_S.NAME, "a short name in quotes, e.g. 'gpt2'", optional=False),
    "image": Form(
        wanted="a TrainingImage",
        has=("kind", "version", "own_uri"),
        code=_S.TRAINING_IMAGE,
        remedy="write TrainingImage.pytorch(), or TrainingImage.of(…) for an image of your own",
    ),
    "source": Form(
        wanted="a SourceBundle",
        has=("entry_point", "files"),
        code=_S.TRAINING_SOURCE,
        remedy='write SourceBundle("train", entry_point="train.py")',
        optional=True,
    ),
    "instance_type": _text(_S.INSTANCE_UNKNOWN, "its name in quotes, e.g. 'ml.g5.xlarge'", optional=False),
    "instance_count": _whole(_S.TRAINING_SETTING, "a number, e.g. 2", optional=False),
    "volume_gib": _whole(_S.TRAINING_SETTING, "GiB without quotes, e.g. 100, or leave it out"),
    "max_run_seconds": _whole(_S.TRAINING_TIME, "seconds, e.g. 86400", optional=False),
    "max_pending_seconds": _whole(_S.TRAINING_TIME, "seconds, e.g. 7200, or leave it out"),
    "retries": _whole(_S.TRAINING_TIME, "a number from 1 to 30, or leave it out"),
    "spot": Form(
        wanted="a Spot", has=("max_wait_seconds",), code=_S.TRAINING_TIME, remedy="write Spot()", optional=True
    ),
    "warm_pool": Form(
        wanted="a WarmPool",
        has=("keep_alive_seconds", "cap_seconds"),
        code=_S.TRAINING_WARM_POOL,
        remedy="write WarmPool(keep_alive_seconds=1800)",
        optional=True,
    ),
    "training_plan_arn": _text(_S.TRAINING_SETTING, "the plan's ARN in quotes"),
    "hyperparameters": _mapping('write {"epochs": 3}'),
    "environment": _mapping('write {"NCCL_DEBUG": "WARN"}'),
    "tags": _mapping('write {"team": "nlp"}'),
    "channels": _several("Channel", _S.TRAINING_CHANNEL, 'Channel.s3("train", "s3://my-data/train")'),
    "checkpoints": Form(
        wanted="Checkpoints",
        has=("uri", "local_path"),
        code=_S.TRAINING_PLACE,
        remedy="write Checkpoints(), for a place in the job's own bucket",
        optional=True,
    ),
    "output_uri": _text(_S.TRAINING_PLACE, _URI),
    "output_key_arn": _text(_S.TRAINING_PLACE, "the key's ARN in quotes"),
    "compress_output": _switch(),
    "metrics": _several("JobMetric", _S.TRAINING_METRIC, 'JobMetric(name="loss", regex="loss=([0-9.]+)")'),
    "distribution": Form(
        wanted="a Distribution",
        has=("kind", "smp_configuration", "processes_per_host"),
        code=_S.TRAINING_DISTRIBUTION,
        remedy="write Distribution.torchrun(), or another of its makers",
    ),
    "tracking": Form(
        wanted="a Tracking",
        has=("mlflow_arn", "experiment", "tensorboard_uri"),
        code=_S.TRAINING_TRACKING,
        remedy='write Tracking(mlflow_arn="arn:aws:sagemaker:…")',
        optional=True,
    ),
    "remote_debug": _switch(),
    "infra_check": _switch(),
    "network_isolation": _switch(),
    "encrypt_between_nodes": _switch(optional=True),
}
_CHANNEL: Mapping[str, Form] = {
    "name": _text(_S.TRAINING_CHANNEL, "a name in quotes, e.g. 'train'", optional=False),
    "uri": _text(_S.TRAINING_CHANNEL, _URI),
    "file_system_id": _text(_S.TRAINING_CHANNEL, "the file system's id in quotes, 'fs-…'"),
    "directory": _text(_S.TRAINING_CHANNEL, "'/<mount name>/<folder>' in quotes"),
    "input_mode": Form(
        wanted=" or ".join(f"InputMode.{each.name}" for each in InputMode),
        types=(InputMode,),
        code=Code.NOT_A_CHOICE,
        remedy="write InputMode.FAST_FILE, or leave it out",
    ),
    "sharded": _switch(),
    "manifest": _switch(),
    "compressed": _switch(),
    "read_only": _switch(),
    "content_type": _text(_S.TRAINING_CHANNEL, "it in quotes"),
    "key_arn": _text(_S.TRAINING_CHANNEL, "the key's ARN in quotes"),
}
_METRIC: Mapping[str, Form] = {
    "name": _text(_S.TRAINING_METRIC, "a name in quotes", optional=False),
    "regex": _text(_S.TRAINING_METRIC, "a regular expression in quotes", optional=False),
}
_PARTS: Mapping[str, Mapping[str, Form]] = {
    "image": {
        "kind": Form(
            wanted=" or ".join(f"TrainingImageKind.{each.name}" for each in TrainingImageKind),
            types=(TrainingImageKind,),
            code=Code.NOT_A_CHOICE,
            remedy="write TrainingImage.pytorch(), or another of its makers",
        ),
        "version": _text(_S.TRAINING_IMAGE, "the version in quotes, e.g. '2.10.0'"),
        "own_uri": _text(_S.TRAINING_IMAGE, "the image's address in quotes"),
    },
    "source": {"entry_point": _text(_S.TRAINING_SOURCE, "the script's name in quotes", optional=False)},
    "checkpoints": {
        "uri": _text(_S.TRAINING_PLACE, _URI),
        "local_path": _text(_S.TRAINING_PLACE, "a folder in quotes", optional=False),
    },
    "distribution": {
        "kind": Form(
            wanted=" or ".join(f"DistributionKind.{each.name}" for each in DistributionKind),
            types=(DistributionKind,),
            code=Code.NOT_A_CHOICE,
            remedy="write Distribution.torchrun(), or another of its makers",
        ),
        "smp_configuration": Form(
            wanted="an SmpConfiguration",
            has=("hybrid_shard_degree", "tensor_parallel_degree", "random_seed", "backend"),
            code=_S.TRAINING_DISTRIBUTION,
            remedy="write Distribution.smp(SmpConfiguration(…))",
            optional=True,
        ),
    },
    "tracking": {
        "mlflow_arn": _text(_S.TRAINING_TRACKING, "the ARN in quotes"),
        "experiment": _text(_S.TRAINING_TRACKING, "the name in quotes"),
        "tensorboard_uri": _text(_S.TRAINING_TRACKING, _URI),
    },
}


def check_job_forms(job: Any) -> list[Problem]:
    """Return a problem for each value of `job` that is of another class than it must be, nested ones too."""
    problems = check_attributes(job, _JOB)
    wrong = {problem.path[0] for problem in problems}
    for name, forms in _PARTS.items():
        part = getattr(job, name)
        if name not in wrong and part is not None:
            problems += [problem.under(name) for problem in check_attributes(part, forms)]
    for name, member, forms in (("channels", _MEMBER_CHANNEL, _CHANNEL), ("metrics", _MEMBER_METRIC, _METRIC)):
        if name not in wrong:
            for index, each in enumerate(getattr(job, name)):
                found = check_form(each, member) or check_attributes(each, forms)
                problems += [problem.under(name, index) for problem in found]
    return problems


_MEMBER_CHANNEL = Form(
    wanted="a Channel",
    has=tuple(_CHANNEL),
    code=_S.TRAINING_CHANNEL,
    remedy='write Channel.s3("train", "s3://my-data/train")',
)
_MEMBER_METRIC = Form(
    wanted="a JobMetric",
    has=("name", "regex", "above", "below"),
    code=_S.TRAINING_METRIC,
    remedy='write JobMetric(name="loss", regex="loss=([0-9.]+)")',
)
