"""What becomes of a trained model."""

from dataclasses import dataclass

from llm_fleet.rules.inference.terms import ServerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedExport:
    """The trained model as an inference service reads it: compiled for its server, on its instances, in its sizes."""

    to: str
    """Where in S3 the service reads it, `s3://bucket/prefix`."""
    server: ServerKind = ServerKind.TGI
    """Which server it is compiled for. Default: `tgi`."""
    instance_type: str = "inf2.xlarge"
    """On what it is served, by EC2's name. Default: `inf2.xlarge`."""
    tensor_parallel: int | None = None
    """Over how many NeuronCores it is spread there. Default: all of the instance."""
    batch_size: int = 4
    """How many sequences are generated side by side. Default: 4."""
    sequence_length: int = 4096
    """Tokens of prompt and answer together, at most. Default: 4096."""
    environment: str | None = None
    """Which of the partition's environments it is compiled in, by its name: one with optimum-neuron and the compiler of
    the server's image. Default: the nodes' own for exports (`TrainingEnvironment.server`)."""
