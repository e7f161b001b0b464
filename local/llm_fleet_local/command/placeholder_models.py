"""Creates existing resources that a fleet file names in the AWS emulator: the models of its services in S3.

They pass the model check of a deployment: `config.json`, the settings with which the model was compiled, and a few
bytes instead of compiled code and weights.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console

from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.service import ServiceConfig
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.inference.model import requested_of_model
from llm_fleet.spec.model_shape import ModelSource

_WEIGHTS = "checkpoint/weights/tp0_sharded_checkpoint.safetensors"


class PlaceholderModels:
    """The models of a fleet's services, in the fleet's own buckets and in others."""

    def __init__(self, fleet: Fleet, *, client: Callable[[str], Any], console: Console) -> None:
        """Create the models of the fleet; `client` returns a boto3 client of a service."""
        self._fleet = fleet
        self._client = client
        self._console = console

    @property
    def need_storage_first(self) -> bool:
        """Return whether a model is in a bucket of the fleet's own storage stack."""
        return any(service.model.own_bucket(self._fleet.storage.buckets) for service in self._services())

    def upload(self) -> None:
        """Upload every model to the location of its service and print that; an existing model is not changed."""
        for service in self._services():
            own = service.model.own_bucket(self._fleet.storage.buckets)
            if own is None:
                bucket, prefix = bucket_and_prefix(service.model.location)
                self._make(bucket)
            else:
                bucket, prefix = self._bucket_of_fleet(own[0]), own[1]
            self._upload(bucket, prefix, service)

    def _services(self) -> Iterator[ServiceConfig]:
        return (each for each in self._fleet.services.values() if each.model.source is ModelSource.S3)

    def _make(self, bucket: str) -> None:
        s3 = self._client("s3")
        if bucket not in [each["Name"] for each in s3.list_buckets()["Buckets"]]:
            place: dict[str, Any] = {"LocationConstraint": self._fleet.region}
            options = {} if self._fleet.region == "us-east-1" else {"CreateBucketConfiguration": place}
            s3.create_bucket(Bucket=bucket, **options)

    def _bucket_of_fleet(self, name: str) -> str:
        """Return the value of the storage stack's output."""
        stacks = self._client("cloudformation").describe_stacks(StackName=f"{self._fleet.name}-storage")["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stacks[0]["Outputs"]}
        return outputs[f"BucketName{name}"]

    def _upload(self, bucket: str, prefix: str, service: ServiceConfig) -> None:
        s3 = self._client("s3")
        folder = f"{prefix}/" if prefix else ""
        place = f"s3://{bucket}/{folder}"
        if s3.list_objects_v2(Bucket=bucket, Prefix=folder, MaxKeys=1).get("KeyCount"):
            self._console.print(f"{place} exists already", soft_wrap=True, highlight=False)
            return
        instance = neuron_instance(service.instance_type)
        assert instance is not None
        requested = requested_of_model(service.server, service.model, instance)
        for name, text in files_of(requested).items():
            s3.put_object(Bucket=bucket, Key=f"{folder}{name}", Body=text.encode())
        sizes = (
            f", with settings for {requested['tensor_parallel']} cores of {requested['target']}, batches of "
            f"{requested['batch_size']} and sequences of {requested['sequence_length']} tokens"
            if requested["compiled"]
            else ""
        )
        self._console.print(
            f"{place} now has a few bytes instead of your model{sizes}", soft_wrap=True, highlight=False
        )


def files_of(requested: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of a model with the settings in `requested`, as optimum-neuron writes it, by name."""
    files = {"config.json": "{}", "tokenizer.json": "{}", _WEIGHTS: "weights"}
    if not requested["compiled"]:
        return files
    compiled = {
        "_serialized_key": "NxDNeuronConfig",
        "neuronxcc_version": requested["compiler"],
        "target": requested["target"],
        "tp_degree": requested["tensor_parallel"],
        "batch_size": requested["batch_size"],
        "sequence_length": requested["sequence_length"],
        "torch_dtype": "bfloat16",
    }
    return {**files, "neuron_config.json": json.dumps(compiled), "model.pt": "code"}
