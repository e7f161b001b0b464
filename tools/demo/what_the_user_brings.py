"""Lays into the embedded AWS what a fleet file names and no stack makes: the models of its services in S3.

What lies there passes the check that each deployment makes of a model: `config.json`, what the model was compiled for,
and a few bytes in place of compiled code and weights.
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


class WhatTheUserBrings:
    """The models of a fleet's services, those in buckets of others apart from those in the fleet's own."""

    def __init__(self, fleet: Fleet, *, client: Callable[[str], Any], console: Console) -> None:
        """Take whose models, and where to lay them: `client` makes a boto3 client of a service."""
        self._fleet = fleet
        self._client = client
        self._console = console

    @property
    def needs_storage_first(self) -> bool:
        """Whether a model lies in a bucket that the fleet's own storage stack makes."""
        return any(service.model.own_bucket(self._fleet.storage.buckets) for service in self._services())

    def lay(self) -> None:
        """Lay every model where its service looks for it, and say so; one that is there stays as it is."""
        for service in self._services():
            own = service.model.own_bucket(self._fleet.storage.buckets)
            if own is None:
                bucket, prefix = bucket_and_prefix(service.model.location)
                self._make(bucket)
            else:
                bucket, prefix = self._bucket_of_fleet(own[0]), own[1]
            self._lay(bucket, prefix, service)

    def _services(self) -> Iterator[ServiceConfig]:
        return (each for each in self._fleet.services.values() if each.model.source is ModelSource.S3)

    def _make(self, bucket: str) -> None:
        s3 = self._client("s3")
        if bucket not in [each["Name"] for each in s3.list_buckets()["Buckets"]]:
            place: dict[str, Any] = {"LocationConstraint": self._fleet.region}
            options = {} if self._fleet.region == "us-east-1" else {"CreateBucketConfiguration": place}
            s3.create_bucket(Bucket=bucket, **options)

    def _bucket_of_fleet(self, name: str) -> str:
        """Return what the storage stack's output says."""
        stacks = self._client("cloudformation").describe_stacks(StackName=f"{self._fleet.name}-storage")["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stacks[0]["Outputs"]}
        return outputs[f"BucketName{name}"]

    def _lay(self, bucket: str, prefix: str, service: ServiceConfig) -> None:
        s3 = self._client("s3")
        folder = f"{prefix}/" if prefix else ""
        place = f"s3://{bucket}/{folder}"
        if s3.list_objects_v2(Bucket=bucket, Prefix=folder, MaxKeys=1).get("KeyCount"):
            self._console.print(f"{place} is there already", soft_wrap=True, highlight=False)
            return
        instance = neuron_instance(service.instance_type)
        assert instance is not None
        requested = requested_of_model(service.server, service.model, instance)
        for name, text in files_of(requested).items():
            s3.put_object(Bucket=bucket, Key=f"{folder}{name}", Body=text.encode())
        sizes = (
            f", said to be compiled for {requested['tensor_parallel']} cores of {requested['target']}, batches of "
            f"{requested['batch_size']} and sequences of {requested['sequence_length']} tokens"
            if requested["compiled"]
            else ""
        )
        self._console.print(
            f"{place} now has a few bytes that stand in for your model{sizes}", soft_wrap=True, highlight=False
        )


def files_of(requested: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of a model that is what `asked` asks for, as optimum-neuron writes one, by their names."""
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
