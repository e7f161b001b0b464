"""What a training job of SageMaker runs: its image, its script, and what starts the script's processes."""

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
    "tag": "write `version`, or a whole `uri`",
    "training-compiler": "write `pytorch` or `hugging-face`, and call torch.compile in the script: Training Compiler "
    "has ended",
    "huggingface": "write `hugging-face`",
    "transformers": "write `hugging-face`",
    "neuron": "write `pytorch-neuronx`",
    "trainium": "write `pytorch-neuronx`",
    "smdistributed": "write `smp`",
    "tensorflow": "name an image of your own by its `uri`: llm-fleet knows none of TensorFlow",
}

OF_DISTRIBUTION: Mapping[str, str] = {
    "torch_distributed": "write `torchrun`",
    "pytorchddp": "write `torchrun`: it has replaced the launcher pytorchddp",
    "ddp": "write `torchrun`",
    "fsdp": "write `torchrun`: FSDP is the script's own choice, and needs no other launcher",
    "deepspeed": "write `torchrun`: DeepSpeed is the script's own choice, and needs no other launcher",
    "pytorchxla": "write `torchrun`: the launcher of Training Compiler has ended with it",
    "parameter_server": "write `torchrun`: the parameter server has ended with the images of its years",
    "horovod": "write `torchrun`, or `mpi` for an image of your own with Horovod in it",
    "smdistributed": "write `smddp`, or `smp` for the model parallel library",
    "dataparallel": "write `smddp`",
    "modelparallel": "write `smp`: it is version 2; of version 1, nothing is left",
    "multi_worker_mirrored_strategy": "write `torchrun`: this is TensorFlow's, for which llm-fleet has no image",
    "parameters": "write `smp`: `{kind: smp, smp: {hybrid_shard_degree: 8}}`",
    "enabled": "leave it out, and write the launcher's name: `distribution: torchrun`",
    "processes": "write `processes_per_host`",
}


LEFT_OUT = frozenset({"__pycache__", "node_modules", "venv"})
"""Folders that no training script needs, and that change without it; those that begin with a dot are left out too."""


class TrainingImageKind(StrEnum):
    """A family of images, as a fleet file spells it."""

    PYTORCH = "pytorch"
    HUGGING_FACE = "hugging-face"
    PYTORCH_NEURONX = "pytorch-neuronx"
    SMP = "smp"
    """The image of the SageMaker model parallel library v2, which has SMDDP too."""
    OWN = "own"
    """An image by its address."""

    @property
    def newest_version(self) -> str:
        """The version that is taken where none is given; of no own image."""
        if self is TrainingImageKind.SMP:
            return smp_versions()[0]
        return training_image_families()[self.value].default


class TrainingImage(Spec):
    """One of AWS's images for training, or one of your own.

    AWS's are known by region; whether CUDA is in it follows from the instance. One that does not exist, is retired or
    does not run on the instance is refused (LF960, LF970). Source: `catalog/data/training_job_images.json`.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_IMAGE

    kind: TrainingImageKind = TrainingImageKind.PYTORCH
    """`pytorch`, `hugging-face`, `pytorch-neuronx` or `smp`. Default: `pytorch`, or `own` with a `uri`."""
    version: Annotated[str | None, Field(examples=['"2.10.0"'])] = None
    """Version of PyTorch, or of Transformers with `hugging-face`, in quotes. Default: the catalog's."""
    own_uri: Annotated[str | None, Field(alias="uri")] = None
    """The address of an image of your own, or of another of AWS's, tag included; in ECR. Default: none."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Let the word of a family, or an address, stand for an image; a mapping with an address is an own image."""
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
        """Return AWS's PyTorch image, for GPUs or without. Default: 2.10.0, patched until 2027-01-21."""
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
        """Return the image of the SageMaker model parallel library v2, by its PyTorch. Default: 2.5.1, the last."""
        return cls(kind=TrainingImageKind.SMP, version=version)

    @classmethod
    def of(cls, uri: str) -> "TrainingImage":
        """Return the image in ECR at `uri`; with a source it must have the sagemaker-training toolkit in it."""
        return cls(kind=TrainingImageKind.OWN, own_uri=uri)

    def uri(self, *, region: str, instance_type: str) -> str:
        """Return its address for `instance_type` in `region`; of an image that the rules let pass."""
        if self.own_uri is not None:
            return self.own_uri
        version = self.version or self.kind.newest_version
        if self.kind is TrainingImageKind.SMP:
            return smp_images()[version].uri(region)
        family = training_image_families()[self.kind.value]
        return family.uri(version, training_instances()[instance_type].processor, region)

    @property
    def pytorch_version(self) -> str | None:
        """The version of PyTorch in it; `None` of an own image."""
        if self.kind is TrainingImageKind.OWN:
            return None
        version = self.version or self.kind.newest_version
        if self.kind is TrainingImageKind.SMP:
            return version
        return training_image_families()[self.kind.value].versions[version].pytorch


class SourceBundle(WithPaths, Spec):
    """A folder that goes to the job as it is, and the script in it that is run.

    The container unpacks it to `/opt/ml/code`, installs its `requirements.txt` where there is one, and runs the script
    with the hyperparameters as `--name value`; `SM_MODEL_DIR`, `SM_CHANNEL_<NAME>`, `SM_NUM_GPUS`, `SM_HOSTS` and
    `SM_CURRENT_HOST` are set beside them. Hidden files, `__pycache__` and virtual environments are left out.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("source_dir", "dir", "path"), "write `folder`"),
        **dict.fromkeys(("script", "main"), "write `entry_point`"),
    }

    folder: Annotated[str | PathLike[str], PATH, Field(examples=["train"])]
    """The folder on this machine, from where this file lies. In Python: from where the app is run."""
    entry_point: Annotated[str, Field(examples=["train.py"])]
    """The script, from the folder."""

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Let the path of the script stand for folder and script."""
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
        """The folder; `None` where it is not known what it begins at."""
        return None if self._directory is None else self._directory / self.folder

    @property
    def path(self) -> Path:
        """The folder, absolute."""
        return (self.place or Path(self.folder)).resolve()

    @property
    def files(self) -> frozenset[str] | None:
        """What lies in the folder; `None` where there is none, or where it is not known."""
        return None if self.place is None or not self.place.is_dir() else frozenset(_source_files(self.place))


def _source_files(folder: Path) -> list[str]:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return [name for name in names if _is_source(name)]


def _is_source(name: str) -> bool:
    return not any(part.startswith(".") or part in LEFT_OUT for part in name.split("/")) and not name.endswith(".pyc")


class DistributionKind(StrEnum):
    """What starts the processes of a training script, as a fleet file spells it."""

    NONE = "none"
    """One process on each instance."""
    TORCHRUN = "torchrun"
    """One process for each accelerator, by torchrun."""
    SMP = "smp"
    """The same, with the SageMaker model parallel library v2."""
    SMDDP = "smddp"
    """One process for each GPU, by the SageMaker distributed data parallel library."""
    MPI = "mpi"


class Distribution(Spec):
    """What starts the processes of the script on all instances.

    What does not go with instance, image or script is refused (LF968). Parameter servers, Training Compiler's launcher
    and SMP v1 have ended, and pytorchddp has been replaced by torchrun: none of them is offered.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_DISTRIBUTION

    kind: Annotated[DistributionKind, SHORTHAND] = DistributionKind.NONE
    """`none`, `torchrun`, `smp`, `smddp` or `mpi`. Default: `none`, one process on each instance."""
    smp_configuration: Annotated[SmpConfiguration | None, Field(alias="smp")] = None
    """With `smp`: what SMP v2 is told, by its own keys."""
    processes_per_host: Annotated[
        int | None,
        Within(
            limit=Limit(minimum=1),
            code=SageMakerCode.TRAINING_DISTRIBUTION,
            what="the number of processes on an instance",
        ),
    ] = None
    """With `mpi`: how many processes on each instance. Default: one for each GPU."""

    @classmethod
    def none(cls) -> "Distribution":
        """Return no launcher: the script is started once on each instance."""
        return cls()

    @classmethod
    def torchrun(cls) -> "Distribution":
        """Return PyTorch's own launcher: a process for each GPU or NeuronCore. DDP and FSDP need no more than this."""
        return cls(kind=DistributionKind.TORCHRUN)

    @classmethod
    def smp(cls, configuration: SmpConfiguration) -> "Distribution":
        """Return torchrun with the SageMaker model parallel library v2; in the image `smp`."""
        return cls(kind=DistributionKind.SMP, smp_configuration=configuration)

    @classmethod
    def smddp(cls) -> "Distribution":
        """Return the SageMaker distributed data parallel library: on p4d and p4de only, in the image `smp`."""
        return cls(kind=DistributionKind.SMDDP)

    @classmethod
    def mpi(cls, *, processes_per_host: int | None = None) -> "Distribution":
        """Return MPI. Default: a process for each GPU."""
        return cls(kind=DistributionKind.MPI, processes_per_host=processes_per_host)
