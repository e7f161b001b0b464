"""The request of a training job, checked by botocore's validator for every kind of job."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from llm_fleet.catalog.training_job import training_image_families, training_instances
from llm_fleet.rules.training.image import ecr_repository
from llm_fleet.sagemaker.training_job_request import render_request
from llm_fleet.spec.smp import SmpConfiguration
from llm_fleet.spec.training_job import Spot, WarmPool
from llm_fleet.spec.training_job_code import Distribution, TrainingImage, TrainingImageKind
from llm_fleet.spec.training_job_data import Channel, Checkpoints, InputMode, JobMetric, JobOutput, Tracking
from tests.fleet_file.good_training_job import source_folder
from tests.sagemaker.training_jobs import PLACE, spec

MODEL: Any = get_session().get_service_model("sagemaker")
SHAPE = MODEL.operation_model("CreateTrainingJob").input_shape
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
APP = "arn:aws:sagemaker:us-west-2:111122223333:mlflow-app/app-ABC"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/spring"
IN_VPC = replace(PLACE, subnet_ids=("subnet-1", "subnet-2"), security_group_ids=("sg-1",), volume_key_arn=KEY)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return source_folder(tmp_path_factory.mktemp("job"))


def faults(request: dict[str, Any]) -> str:
    return ParamValidator().validate(request, SHAPE).generate_report()


def test_a_complete_request(directory: Path):
    request = render_request(spec(directory), PLACE)
    assert faults(request) == ""
    assert request == {
        "TrainingJobName": "gpt2-20261122-093000-abcd",
        "AlgorithmSpecification": {
            "TrainingImage": "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:"
            "2.10.0-gpu-py313-cu130-ubuntu22.04-sagemaker",
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+)"}],
            "EnableSageMakerMetricsTimeSeries": True,
        },
        "RoleArn": "arn:aws:iam::111122223333:role/gpt2",
        "HyperParameters": {
            "epochs": "3",
            "learning-rate": "0.0001",
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": '"s3://jobs/gpt2/sourcedir.tar.gz"',
            "sagemaker_container_log_level": "20",
            "sagemaker_region": '"us-west-2"',
            "sagemaker_torch_distributed_enabled": "true",
            "sagemaker_instance_type": '"ml.g5.12xlarge"',
        },
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix",
                        "S3Uri": "s3://my-data/train",
                        "S3DataDistributionType": "FullyReplicated",
                    }
                },
                "InputMode": "File",
            }
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/gpt2/output", "CompressionType": "GZIP"},
        "ResourceConfig": {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
        "CheckpointConfig": {"S3Uri": "s3://jobs/gpt2/checkpoints", "LocalPath": "/opt/ml/checkpoints"},
        "EnableNetworkIsolation": False,
        "EnableInterContainerTrafficEncryption": True,
        "EnableManagedSpotTraining": False,
        "Environment": {"NCCL_DEBUG": "WARN"},
    }


def test_a_request_with_all_settings(directory: Path):
    job = spec(
        directory,
        image=TrainingImage.smp(),
        instance_type="ml.p4d.24xlarge",
        distribution=Distribution.smp(SmpConfiguration(hybrid_shard_degree=8, tensor_parallel_seed=3)),
        channels={
            "a": Channel(uri="s3://abc/m", manifest=True, sharded=True, input_mode=InputMode.PIPE, compressed=True),
            "b": Channel(file_system_id="fs-0123456789abcdef0", directory="/fsx/data", read_only=False),
            "c": Channel(uri="s3://abc", input_mode=InputMode.FAST_FILE, content_type="application/json"),
        },
        checkpoints=Checkpoints(uri="s3://abc/c", local_path="/checkpoints"),
        output=JobOutput(uri="s3://abc/o", key_arn=KEY, compress=False),
        max_pending_seconds=7200,
        spot=Spot(max_wait_seconds=172800),
        retries=30,
        training_plan_arn=PLAN,
        tracking=Tracking(mlflow_arn=APP, experiment="e", tensorboard_uri="s3://abc/t"),
        remote_debug=True,
        infra_check=True,
        encrypt_between_nodes=False,
        tags={"team": "nlp"},
    )
    request = render_request(job, replace(IN_VPC, tags={"fleet": "test", "team": "all"}))
    assert faults(request) == ""
    assert set(request) == set(SHAPE.members) - {
        "DebugHookConfig", "DebugRuleConfigurations", "ExperimentConfig", "ProfilerConfig",
        "ProfilerRuleConfigurations", "SessionChainingConfig", "ServerlessJobConfig", "ModelPackageConfig",
    }  # fmt: skip
    hyperparameters = request["HyperParameters"]
    assert json.loads(hyperparameters["mp_parameters"]) == {"hybrid_shard_degree": 8, "random_seed": 3}
    assert hyperparameters["sagemaker_torch_distributed_enabled"] == "true"
    assert hyperparameters["sagemaker_distributed_dataparallel_enabled"] == "false"
    assert request["VpcConfig"] == {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1", "subnet-2"]}
    assert request["Tags"] == [{"Key": "fleet", "Value": "test"}, {"Key": "team", "Value": "nlp"}]
    assert request["ResourceConfig"] == {
        "InstanceType": "ml.p4d.24xlarge",
        "InstanceCount": 2,
        "VolumeSizeInGB": 30,
        "TrainingPlanArn": PLAN,
    }, "a key of a volume on an instance that has none is rejected by the service"
    assert request["InputDataConfig"][1]["DataSource"]["FileSystemDataSource"] == {
        "FileSystemId": "fs-0123456789abcdef0",
        "FileSystemAccessMode": "rw",
        "FileSystemType": "FSxLustre",
        "DirectoryPath": "/fsx/data",
    }
    assert request["OutputDataConfig"] == {"KmsKeyId": KEY, "S3OutputPath": "s3://abc/o", "CompressionType": "NONE"}
    assert request["StoppingCondition"] == {
        "MaxRuntimeInSeconds": 86400,
        "MaxWaitTimeInSeconds": 172800,
        "MaxPendingTimeInSeconds": 7200,
    }


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (Distribution.none(), {}),
        (
            Distribution.mpi(processes_per_host=4),
            {
                "sagemaker_mpi_enabled": "true",
                "sagemaker_mpi_num_of_processes_per_host": "4",
                "sagemaker_mpi_custom_mpi_options": '""',
            },
        ),
    ],
)
def test_launchers_have_the_hyperparameters_of_the_sdk(
    directory: Path, distribution: Distribution, expected: dict[str, str]
):
    """Compared with `Framework._distribution_configuration` in sagemaker 2.257.7; torchrun and SMP are tested above."""
    request = render_request(spec(directory, distribution=distribution, hyperparameters={}), PLACE)
    own = {"sagemaker_program", "sagemaker_submit_directory", "sagemaker_container_log_level", "sagemaker_region"}
    assert {name: text for name, text in request["HyperParameters"].items() if name not in own} == expected


def test_smddp_gets_its_instance_type(directory: Path):
    job = spec(
        directory,
        image=TrainingImage.smp(),
        instance_type="ml.p4d.24xlarge",
        distribution=Distribution.smddp(),
        hyperparameters={},
    )
    hyperparameters = render_request(job, PLACE)["HyperParameters"]
    assert hyperparameters["sagemaker_distributed_dataparallel_enabled"] == "true"
    assert hyperparameters["sagemaker_instance_type"] == '"ml.p4d.24xlarge"'
    assert hyperparameters["sagemaker_distributed_dataparallel_custom_mpi_options"] == '""'


def test_a_custom_image_without_a_script_gets_unquoted_hyperparameters(directory: Path):
    own = TrainingImage.of("111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0")
    job = spec(
        directory, image=own, source=None, distribution=Distribution.none(), hyperparameters={"a": "b", "c": [1, 2]}
    )
    request = render_request(job, replace(PLACE, source_uri=None))
    assert request["HyperParameters"] == {"a": "b", "c": "[1, 2]"}
    assert faults(request) == ""


def test_every_image_is_valid_in_every_region(directory: Path):
    instance = {"gpu": "ml.g5.xlarge", "cpu": "ml.m5.xlarge", "neuron": "ml.trn1.2xlarge"}
    seen = 0
    for family in training_image_families().values():
        for version, facts in family.versions.items():
            for processor, region in itertools.product(facts.tags, (family.regions[0], family.regions[-1])):
                image = TrainingImage(kind=TrainingImageKind(family.name), version=version)
                job = spec(directory, image=image, instance_type=instance[processor], instance_count=1)
                request = render_request(job, replace(PLACE, region=region))
                address = request["AlgorithmSpecification"]["TrainingImage"]
                assert faults(request) == ""
                assert region in address
                assert facts.tags[processor] in address
                seen += 1
    assert seen > 15


def test_every_supported_instance_type_can_be_requested(directory: Path):
    own = TrainingImage.of("111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0")
    for name, facts in training_instances().items():
        if facts.successor is not None:
            continue
        job = spec(directory, image=own, instance_type=name, instance_count=1, distribution=Distribution.none())
        request = render_request(job, IN_VPC)
        assert faults(request) == ""
        assert ("VolumeKmsKeyId" in request["ResourceConfig"]) == (not facts.has_local_disks), name
        assert request["EnableInterContainerTrafficEncryption"] is False


@pytest.mark.parametrize("count", [1, 2])
def test_all_combinations_of_optional_settings_are_valid(directory: Path, count: int):
    """Every subset of the optional settings of a job; subsets with problems are skipped."""
    parts: dict[str, Any] = {
        "spot": Spot(),
        "warm_pool": WarmPool(keep_alive_seconds=600),
        "checkpoints": None,
        "metrics": {f"m{i}": JobMetric(regex="(.)") for i in range(40)},
        "tracking": Tracking(tensorboard_uri="s3://abc/t"),
        "network_isolation": True,
        "channels": {},
        "hyperparameters": {},
    }
    for size in range(len(parts) + 1):
        for names in itertools.combinations(parts, size):
            if {"spot", "warm_pool"} <= set(names):
                continue
            job = spec(directory, instance_count=count, **{name: parts[name] for name in names})
            request = render_request(job, IN_VPC)
            assert faults(request) == ""
            assert ("CheckpointConfig" in request) == ("checkpoints" not in names)
            assert ("InputDataConfig" in request) == ("channels" not in names)


def test_a_file_system_is_read_only_by_default(directory: Path):
    job = spec(directory, channels={"a": Channel(file_system_id="fs-0123456789abcdef0", directory="/fsx")})
    (channel,) = render_request(job, IN_VPC)["InputDataConfig"]
    assert channel["DataSource"]["FileSystemDataSource"]["FileSystemAccessMode"] == "ro"


def test_the_same_job_is_the_same_request(directory: Path):
    first, second = (json.dumps(render_request(spec(directory), IN_VPC)) for _ in range(2))
    assert first == second


def test_checkpoints_require_a_location(directory: Path):
    with pytest.raises(ValueError, match="checkpoint_uri"):
        render_request(spec(directory), replace(PLACE, checkpoint_uri=None))


def test_read_and_written_s3_uris_are_listed(directory: Path):
    job = spec(
        directory,
        channels={"a": Channel(uri="s3://abc/d/", key_arn=KEY)},
        checkpoints=Checkpoints(uri="s3://def", key_arn=KEY),
        output=JobOutput(uri="s3://ghi/o"),
        tracking=Tracking(tensorboard_uri="s3://jkl/t"),
    )
    assert job.s3_read == (("s3://abc/d/", KEY),)
    assert [uri for uri, _ in job.s3_written] == ["s3://ghi/o", "s3://def", "s3://jkl/t"]
    assert not job.needs_network
    assert spec(
        directory, channels={"a": Channel(file_system_id="fs-0123456789abcdef0", directory="/fsx")}
    ).needs_network
    assert spec(directory).s3_written == ()


def test_tokens_pass(directory: Path):
    token = "${Token[TOKEN.1]}"
    job = spec(
        directory,
        channels={"a": Channel(uri=f"s3://{token}/x"), "b": Channel(file_system_id=token, directory=f"/{token}/d")},
        checkpoints=Checkpoints(uri=token),
        output=JobOutput(uri=f"s3://{token}/{token}"),
        hyperparameters={"a": token},
        environment={"B": token},
        tracking=Tracking(mlflow_arn=token),
        training_plan_arn=token,
    )
    assert render_request(job, PLACE)["HyperParameters"]["a"] == f'"{token}"'


def test_repositories_are_listed_for_the_role(directory: Path):
    uri = spec(directory).image.uri(region="cn-north-1", instance_type="ml.g5.xlarge")
    assert ecr_repository(uri, "aws-cn") == "arn:aws-cn:ecr:cn-north-1:727897471807:repository/pytorch-training"
    elsewhere = TrainingImage.of("public.ecr.aws/x/y:1")
    assert ecr_repository(elsewhere.uri(region="us-west-2", instance_type="ml.g5.xlarge"), "aws") is None
    assert [TrainingImage.smp().pytorch_version, TrainingImage.hugging_face().pytorch_version] == ["2.5.1", "2.9.0"]
    assert elsewhere.pytorch_version is None
