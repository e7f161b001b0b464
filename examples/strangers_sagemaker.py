"""A notebook, an endpoint with a time to live and a watched training job in your own stack: the lines between markers.

python examples/strangers_sagemaker.py      synthesizes it to cdk.out, without an AWS account
"""

from pathlib import Path

import aws_cdk as cdk
from constructs import Construct

from llm_fleet import (
    Channel,
    Checkpoints,
    EndpointModel,
    EndpointSpec,
    FleetNetwork,
    HuggingFaceEndpoint,
    JobMetric,
    LossSpike,
    NetworkSpec,
    SourceBundle,
    TrainingImage,
    TrainingJob,
    TrainingJobSpec,
    TrainingNotebook,
    TrainingWatch,
    WatchConditions,
    WatchSpec,
)

SCRIPTS = Path(__file__).parent / "sagemaker-training"


class LabStack(cdk.Stack):
    """A team's stack with a SageMaker notebook, endpoint and training job."""

    def __init__(self, scope: Construct, id: str, *, env: cdk.Environment | None = None) -> None:
        """Create the resources of the stack."""
        super().__init__(scope, id, env=env)

        # --- the thirty lines ---
        network = FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1"]))
        TrainingNotebook(self, "Notebook", network=network)
        HuggingFaceEndpoint(
            self,
            "GptJ",
            EndpointSpec(
                model=EndpointModel.from_hub("EleutherAI/gpt-j-6b", revision="float16"),
                instance_type="ml.g4dn.xlarge",
                environment={"SM_VLLM_MAX_MODEL_LEN": "2048"},
                time_to_live_seconds=4 * 3600,
            ),
        )
        spike = WatchConditions(loss_spike=LossSpike(metric="loss"))
        watch = TrainingWatch(self, "Watch", WatchSpec(conditions=spike), name="lab")
        job = TrainingJobSpec(
            name="text",
            image=TrainingImage.pytorch(),
            source=SourceBundle(folder=SCRIPTS, entry_point="train.py"),
            instance_type="ml.g5.12xlarge",
            channels={"train": Channel(uri="s3://my-data/text")},
            checkpoints=Checkpoints(),
            metrics={"loss": JobMetric(regex="loss=([0-9.]+)")},
        )
        TrainingJob(self, "Text", job=job, network=network, watch=watch)
        # --- end ---


def main(outdir: str = "cdk.out") -> None:
    """Synthesize the stack for an account and region, into `outdir`."""
    app = cdk.App(outdir=outdir)
    LabStack(app, "Lab", env=cdk.Environment(account="111122223333", region="us-west-2"))
    app.synth()


if __name__ == "__main__":
    main()
