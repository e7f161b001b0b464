"""A watch that is synthesized once for all tests that read its templates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet import (
    CheckpointLayout,
    JobWatch,
    LossSpike,
    NotANumber,
    RestartPolicy,
    Stall,
    ThroughputDrop,
    TrainingWatch,
    WatchConditions,
    WatchedJobs,
    WatchSpec,
)
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import TrainingImage
from llm_fleet.spec.training_job_data import Checkpoints, JobMetric
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

CLUSTER = "arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab"
ALICE = "arn:aws:iam::111122223333:role/alice"

Body = dict[str, Any]


@dataclass(frozen=True)
class Watched:
    """The templates of a watch, and of two jobs that it follows."""

    watch: Body
    jobs: Body

    def of_type(self, type: str, *, of_jobs: bool = False) -> dict[str, Body]:
        """Properties of the resources of `type`, by their logical ids."""
        template = self.jobs if of_jobs else self.watch
        return {name: one["Properties"] for name, one in template["Resources"].items() if one["Type"] == type}

    def only(self, type: str, having: str = "") -> Body:
        """Properties of the only resource of `type` whose logical id has `having` in it."""
        (found,) = [one for name, one in self.of_type(type).items() if having in name]
        return found

    def id_of(self, type: str, having: str) -> str:
        """Logical id of that resource."""
        (found,) = [name for name in self.of_type(type) if having in name]
        return found


def make_watch(scope: Construct, others: Mapping[str, WatchedJobs], **more: Any) -> TrainingWatch:
    """Return a watch with all settings."""
    return TrainingWatch(
        scope,
        "Watch",
        WatchSpec(
            conditions=WatchConditions(
                loss_spike=LossSpike(metric="train:loss"),
                stall=Stall(metric="train:loss"),
                not_a_number=NotANumber(metric="train:loss_nan"),
                throughput_drop=ThroughputDrop(metric="train:speed"),
            ),
            checkpoints=CheckpointLayout.hugging_face(),
            others=others,
        ),
        name="fleet",
        **more,
    )


def make_role(scope: Construct) -> iam.IRole:
    """The execution role of a job."""
    return iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))  # pyright: ignore


def job_spec(name: str, *metrics: str, checkpoints: bool = True) -> TrainingJobSpec:
    """A training job with these metrics."""
    return TrainingJobSpec(
        name=name,
        image=TrainingImage.pytorch(),
        instance_type="ml.g5.xlarge",
        checkpoints=Checkpoints() if checkpoints else None,
        metrics={metric: JobMetric(regex="([0-9.]+)") for metric in metrics},
    )


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """A watch over two jobs of another stack, over Alice's, and over a cluster."""
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("watch") / "cdk.out"))
    stack, jobs = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Watch", "Jobs"))
    others = WatchedJobs(
        roles=[iam.Role.from_role_arn(stack, "Alice", ALICE)],
        checkpoints=["s3://alice/one/", "s3://alice/two"],
    )
    watch = make_watch(stack, {"Alice": others}, clusters=[CLUSTER])
    key: kms.IKey = kms.Key(jobs, "Key")  # pyright: ignore[reportAssignmentType]
    own = JobWatch(
        restart=RestartPolicy(maximum=1, back_off_seconds=5, at_max_runtime=True),
        conditions=WatchConditions(stall=Stall(metric="loss", minutes=40)),
        checkpoints=CheckpointLayout.of(pattern=r"step_(\d+)", marker="done"),
        grace_minutes=5,
    )
    for name, settings in (("llama", own), ("llama-large", None)):
        scope = Construct(jobs, name)
        job = job_spec(name, "loss", "train:loss", "train:loss_nan", "train:speed")
        uri = f"s3://checkpoints/{name}/"
        watch.follow(scope, job, role=make_role(scope), checkpoint_uri=uri, settings=settings, keys=[key])
    assembly = app.synth()
    return Watched(watch=assembly.get_stack_by_name("Watch").template, jobs=assembly.get_stack_by_name("Jobs").template)
