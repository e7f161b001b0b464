"""Code of a SageMaker training job: its image, its script, and the launcher of the script's processes."""

from collections.abc import Mapping
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.training_job import smp_images, smp_versions, training_image_families, training_instances
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.spec.model import WithPaths
from llm_fleet.spec.smp import SmpConfiguration
from llm_fleet.spec.spec import SHORTHAND, Spec, Within
from llm_fleet.spec.values import PATH

OF_IMAGE: Mapping[str, str] = {
    "image_uri": "write `uri`",
    "framework": "write `kind`",
    "framework_version": "write `version`",
    "tag": "write `version`, or a complete `uri`",
    "training-compiler": "write `pytorch` or `hugging-face`, and call torch.compile in the script: Training Compiler "
    "is discontinued",
    "huggingface": "write `hugging-face`",
    "transformers": "write `hugging-face`",
    "neuron": "write `pytorch-neuronx`",
    "trainium": "write `pytorch-neuronx`",
    "smdistributed": "write `smp`",
    "tensorflow": "set the `uri` of your own image: llm-fleet has no TensorFlow images",
}

OF_DISTRIBUTION: Mapping[str, str] = {
    "torch_distributed": "write `torchrun`",
    "pytorchddp": "write `torchrun`: it has replaced the launcher pytorchddp",
    "ddp": "write `torchrun`",
    "fsdp": "write `torchrun`: FSDP is enabled in the script and needs no other launcher",
    "deepspeed": "write `torchrun`: DeepSpeed is enabled in the script and needs no other launcher",
    "pytorchxla": "write `torchrun`: the launcher of Training Compiler is discontinued",
    "parameter_server": "write `torchrun`: parameter servers are discontinued",
    "horovod": "write `torchrun`, or `mpi` for an image of your own with Horovod in it",
    "smdistributed": "write `smddp`, or `smp` for the model parallel library",
    "dataparallel": "write `smddp`",
    "modelparallel": "write `smp`: it is version 2; version 1 is discontinued",
    "multi_worker_mirrored_strategy": "write `torchrun`: this is TensorFlow's, for which llm-fleet has no image",
    "parameters": "write `smp`: `{kind: smp, smp: {hybrid_shard_degree: 8}}`",
    "enabled": "remove it, and write the launcher's name: `distribution: torchrun`",
    "processes": "write `processes_per_host`",
}


LEFT_OUT = frozenset({"__pycache__", "node_modules", "venv"})
"""Folders that no training script needs; names with a leading dot are left out, too."""


class TrainingImageKind(StrEnum):
    """A family of training images, as values of the fleet file."""

    PYTORCH = "pytorch"
    HUGGING_FACE = "hugging-face"
    PYTORCH_NEURONX = "pytorch-neuronx"
    SMP = "smp"
    """The image of the SageMaker model parallel library v2, which also contains SMDDP."""
    OWN = "own"
    """An image by its URI."""

    @property
    def newest_version(self) -> str:
        """The default version; not for an image of the user's own."""
        if self is TrainingImageKind.SMP:
            return smp_versions()[0]
        return training_image_families()[self.value].default


class TrainingImage(Spec):
    """A training image of AWS, or your own.

    The region decides the registry, and the instance type decides whether the image contains CUDA. An image that does
    not exist, is retired or does not run on the instance type is an error (LF960, LF970). Source:
    `catalog/data/training_job_images.json`.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_IMAGE

    kind: TrainingImageKind = TrainingImageKind.PYTORCH
    """`pytorch`, `hugging-face`, `pytorch-neuronx` or `smp`. Default: `pytorch`, or `own` with a `uri`."""
    version: Annotated[str | None, Field(examples=['"2.10.0"'])] = None
    """Version of PyTorch, or of Transformers with `hugging-face`, in quotes. Default: the catalog's newest."""
    own_uri: Annotated[str | None, Field(alias="uri")] = None
    """URI, with tag, of your own image, or of another image of AWS; in ECR. Default: none."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read a string as a family or as the URI of an image; a mapping with `uri` is an image of the user's own."""
        if isinstance(written, str):
            return {"uri": written, "kind": "own"} if "/" in written else {"kind": written}
        given = cast("dict[str, Any]", written) if isinstance(written, dict) else {}
        is_own = given.get("uri") is not None and "kind" not in given
        return {**given, "kind": "own"} if is_own else written  # pyright: ignore[reportUnknownVariableType]

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer the families."""
        families = [kind.value for kind in TrainingImageKind if kind is not TrainingImageKind.OWN]
        return [{"type": "string", "examples": families}]

    @classmethod
    def in_python(cls) -> str:
        """Return how one is written in Python, for remedies."""
        return "TrainingImage.pytorch(), or TrainingImage.of(…) for an image of your own"

    @classmethod
    def pytorch(cls, version: str | None = None) -> "TrainingImage":
        """Return AWS's PyTorch image, for GPUs or CPUs. Default: 2.10.0, patched until 2027-01-21."""
        return cls(kind=TrainingImageKind.PYTORCH, version=version)

    @classmethod
    def hugging_face(cls, version: str | None = None) -> "TrainingImage":
        """Return AWS's image with Hugging Face Transformers `version`, for GPUs. Default: 5.3.0, with PyTorch 2.9."""
        return cls(kind=TrainingImageKind.HUGGING_FACE, version=version)

    @classmethod
    def pytorch_neuronx(cls, version: str | None = None) -> "TrainingImage":
        """Return AWS's PyTorch image for Trainium (trn1, trn2), with the Neuron SDK. Default: 2.9.0, SDK 2.29.0."""
        return cls(kind=TrainingImageKind.PYTORCH_NEURONX, version=version)

    @classmethod
    def smp(cls, version: str | None = None) -> "TrainingImage":
        """Return the image of the SageMaker model parallel library v2, by PyTorch version. Default: 2.5.1, the last."""
        return cls(kind=TrainingImageKind.SMP, version=version)

    @classmethod
    def of(cls, uri: str) -> "TrainingImage":
        """Return the image in ECR at `uri`; with a source it must contain the sagemaker-training toolkit."""
        return cls(kind=TrainingImageKind.OWN, own_uri=uri)

    def uri(self, *, region: str, instance_type: str) -> str:
        """Return the URI of the image for `instance_type` in `region`; only for an image without errors."""
        if self.own_uri is not None:
            return self.own_uri
        version = self.version or self.kind.newest_version
        if self.kind is TrainingImageKind.SMP:
            return smp_images()[version].uri(region)
        family = training_image_families()[self.kind.value]
        return family.uri(version, training_instances()[instance_type].processor, region)

    @property
    def pytorch_version(self) -> str | None:
        """Version of PyTorch in the image; `None` for an image of the user's own."""
        if self.kind is TrainingImageKind.OWN:
            return None
        version = self.version or self.kind.newest_version
        if self.kind is TrainingImageKind.SMP:
            return version
        return training_image_families()[self.kind.value].versions[version].pytorch


class SourceBundle(WithPaths, Spec):
    """A folder that is uploaded for the job, and the script in it that is run.

    The container extracts it to `/opt/ml/code`, installs its `requirements.txt` if there is one, and runs the script
    with the hyperparameters as `--name value`. The variables `SM_MODEL_DIR`, `SM_CHANNEL_<NAME>`, `SM_NUM_GPUS`,
    `SM_HOSTS` and `SM_CURRENT_HOST` are set. Hidden files, `__pycache__` and virtual environments are left out.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("source_dir", "dir", "path"), "write `folder`"),
        **dict.fromkeys(("script", "main"), "write `entry_point`"),
    }

    folder: Annotated[str | PathLike[str], PATH, Field(examples=["train"])]
    """Local folder, relative to the fleet file; in Python, to the working directory of the app."""
    entry_point: Annotated[str, Field(examples=["train.py"])]
    """Path of the script, relative to the folder."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read the path of the script as folder and script."""
        if not isinstance(written, str):
            return written
        folder, _, script = written.rpartition("/")
        return {"folder": folder or ".", "entry_point": script}

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer an example."""
        return [{"type": "string", "examples": ["train/train.py"]}]

    @property
    def place(self) -> Path | None:
        """The folder; `None` if the base directory of relative paths is not known."""
        return None if self._directory is None else self._directory / self.folder

    @property
    def path(self) -> Path:
        """Absolute path of the folder."""
        return (self.place or Path(self.folder)).resolve()

    @property
    def files(self) -> frozenset[str] | None:
        """Files in the folder; `None` if it does not exist or is not known."""
        return None if self.place is None or not self.place.is_dir() else frozenset(_source_files(self.place))


def _source_files(folder: Path) -> list[str]:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return [name for name in names if _is_source(name)]


def _is_source(name: str) -> bool:
    return not any(part.startswith(".") or part in LEFT_OUT for part in name.split("/")) and not name.endswith(".pyc")


class DistributionKind(StrEnum):
    """Launcher of the processes of a training script, as values of the fleet file."""

    NONE = "none"
    """One process on each instance."""
    TORCHRUN = "torchrun"
    """One process for each accelerator, started by torchrun."""
    SMP = "smp"
    """torchrun with the SageMaker model parallel library v2."""
    SMDDP = "smddp"
    """One process for each GPU, started by the SageMaker distributed data parallel library."""
    MPI = "mpi"


class Distribution(Spec):
    """Launcher of the script's processes on all instances.

    A launcher that does not work with the instance type, image or script is an error (LF968). Parameter servers, the
    launcher of Training Compiler and SMP v1 are discontinued, and torchrun has replaced pytorchddp: none of them is
    supported.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_DISTRIBUTION

    kind: Annotated[DistributionKind, SHORTHAND] = DistributionKind.NONE
    """`none`, `torchrun`, `smp`, `smddp` or `mpi`. Default: `none`, one process on each instance."""
    smp_configuration: Annotated[SmpConfiguration | None, Field(alias="smp")] = None
    """With `smp`: configuration of SMP v2, with the library's own keys."""
    processes_per_host: Annotated[
        int | None,
        Within(
            limit=Limit(minimum=1),
            code=SageMakerCode.TRAINING_DISTRIBUTION,
            what="`processes_per_host`",
        ),
    ] = None
    """With `mpi`: number of processes on each instance. Default: one for each GPU."""

    @classmethod
    def none(cls) -> "Distribution":
        """Return no launcher: the script is started once on each instance."""
        return cls()

    @classmethod
    def torchrun(cls) -> "Distribution":
        """Return PyTorch's own launcher: one process for each GPU or NeuronCore. It is sufficient for DDP and FSDP."""
        return cls(kind=DistributionKind.TORCHRUN)

    @classmethod
    def smp(cls, configuration: SmpConfiguration) -> "Distribution":
        """Return torchrun with the SageMaker model parallel library v2; requires the image `smp`."""
        return cls(kind=DistributionKind.SMP, smp_configuration=configuration)

    @classmethod
    def smddp(cls) -> "Distribution":
        """Return the SageMaker distributed data parallel library: only on p4d and p4de, with the image `smp`."""
        return cls(kind=DistributionKind.SMDDP)

    @classmethod
    def mpi(cls, *, processes_per_host: int | None = None) -> "Distribution":
        """Return MPI. Default: one process for each GPU."""
        return cls(kind=DistributionKind.MPI, processes_per_host=processes_per_host)
