"""What a training job runs: container image, source folder, and distribution (the launcher of the script)."""

from collections.abc import Iterator
from posixpath import isabs, normpath

from llm_fleet.catalog.training_job import (
    TrainingImageFamily,
    TrainingInstance,
    ended_images,
    launchers,
    smddp_instances,
    smp_regions,
    smp_versions,
    training_image_families,
    training_instances,
    training_job_limit,
)
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.training.smp import check_smp
from llm_fleet.rules.training.smp_run import check_smp_place
from llm_fleet.rules.values import did_you_mean, nearest
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import DistributionKind, SourceBundle, TrainingImage, TrainingImageKind

_IMAGE = SageMakerCode.TRAINING_IMAGE
_FOR = {"gpu": "for GPUs", "cpu": "without accelerators", "neuron": "for Trainium"}
_INSTEAD = {
    "gpu": "use the image `pytorch` or `hugging-face`",
    "cpu": "use the image `pytorch`, or an instance type with GPUs such as ml.g5.xlarge",
    "neuron": "use the image `pytorch-neuronx`",
}


def check_image(job: TrainingJobSpec) -> Iterator[Problem]:
    """Return why the image does not exist, or cannot run on the instance type, below `image`."""
    image = job.image
    found = list(_own(image) if image.kind is TrainingImageKind.OWN else _version(image))
    if not found:
        found = list(_on_instance(image, training_instances().get(job.instance_type)))
    yield from (problem.under("image") for problem in found)


def check_image_region(image: TrainingImage, region: str | None) -> Iterator[Problem]:
    """Return why AWS does not offer the image in `region`, below `image`; the user's own image passes.

    A region that is a CDK token is a problem, as the image's registry depends on it; `None` is not checked.
    """
    if region is None or image.kind is TrainingImageKind.OWN:
        return
    if is_unresolved(region):
        yield Problem(
            code=_IMAGE,
            message="the registry of AWS's images differs by region, and the stack's region is a CDK token",
            remedy="give the stack an `env` with its region, or use your own image",
            path=("image",),
        )
        return
    offered = smp_regions() if image.kind is TrainingImageKind.SMP else _family(image).regions
    if region not in offered:
        yield Problem(
            code=_IMAGE,
            message=f"AWS does not offer this image in {region}",
            remedy="copy it to your own ECR repository and use that image, or deploy to one of the allowed regions",
            path=("image",),
            value=region,
            allowed=", ".join(offered),
        )


def _family(image: TrainingImage) -> TrainingImageFamily:
    return training_image_families()[image.kind.value]


def _version(image: TrainingImage) -> Iterator[Problem]:
    version = image.version
    if version is None or is_unresolved(version):
        return
    of_smp = image.kind is TrainingImageKind.SMP
    known = smp_versions() if of_smp else tuple(_family(image).versions)
    if version in known:
        return
    title = "SMP v2 and PyTorch" if of_smp else _family(image).title
    retired = not of_smp and version in _family(image).retired
    offer = None if retired else nearest(version, known)
    yield image.wrong(
        "version",
        _IMAGE,
        f"the image with {title} {version} is retired: AWS no longer patches it"
        if retired
        else f"AWS offers no image with {title} {version}",
        f"write `{offer or image.kind.newest_version}`, or remove the version, which has the same effect"
        if (offer or image.kind.newest_version) == image.kind.newest_version
        else f"write `{offer}`",
        allowed=", ".join(known),
    )


def _own(image: TrainingImage) -> Iterator[Problem]:
    uri = image.own_uri or ""
    limit = training_job_limit("AlgorithmSpecification.TrainingImage")
    if is_unresolved(uri):
        return
    for ended in ended_images():
        if ended.pattern.search(uri):
            yield Problem(
                code=SageMakerCode.TRAINING_ENDED,
                message=f"this is {ended.what}",
                remedy=ended.successor,
                path=("own_uri",),
                value=uri,
            )
            return
    if "/" not in uri or not uri.partition("/")[2] or any(character.isspace() for character in uri):
        yield Problem(
            code=_IMAGE,
            message="this is not the URI of a container image",
            remedy="write registry, repository and tag, e.g. 111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0",
            path=("own_uri",),
            value=uri,
        )
    elif not limit.holds(len(uri)):
        yield Problem(
            code=_IMAGE,
            message=f"the image URI is too long, with {len(uri)} characters",
            remedy="shorten the name of the repository or the tag",
            path=("own_uri",),
            value=uri,
            allowed=f"{limit.range} characters",
        )


def _on_instance(image: TrainingImage, instance: TrainingInstance | None) -> Iterator[Problem]:
    if instance is None or instance.successor is not None or image.kind is TrainingImageKind.OWN:
        return
    if instance.architecture != "x86_64":
        yield _wrong(
            f"AWS builds its training images for x86 processors, and {instance.name} has Arm processors",
            "use your own image, or an instance type with x86 processors",
        )
    elif image.kind is TrainingImageKind.SMP:
        yield from (
            Problem(code=_IMAGE, message=each.message, remedy=each.remedy, allowed=each.allowed, value=each.value)
            for each in check_smp_place(instance.name, None)
        )
    else:
        yield from _processor(image, instance)


def _processor(image: TrainingImage, instance: TrainingInstance) -> Iterator[Problem]:
    family = _family(image)
    version = image.version or family.default
    if is_unresolved(version):
        return
    tags = family.versions[version].tags
    kinds = " or ".join(_FOR[processor] for processor in tags)
    if instance.processor not in tags:
        yield _wrong(
            f"this image is built {kinds}, and {instance.name} is an instance type {_FOR[instance.processor]}",
            _INSTEAD[instance.processor],
        )
    elif family.instances is not None and instance.family not in family.instances:
        yield _wrong(f"this image does not run on {instance.name}", f"use {' or '.join(family.instances)}")


def _wrong(message: str, remedy: str) -> Problem:
    return Problem(code=_IMAGE, message=message, remedy=remedy)


REQUIREMENTS = "requirements.txt"
"""SageMaker's training toolkit installs its packages with pip before it starts the script."""
_PACKAGE = "setup.py"
_SOURCE = SageMakerCode.TRAINING_SOURCE


def check_source(job: TrainingJobSpec) -> list[Problem]:
    """Return why the container cannot run the script, below `source`."""
    source = job.source
    if source is None:
        return list(_needed(job))
    found = [*_folder(source), *(list(_entry_point(source)) or _launched(job, source))]
    return [problem.under("source") for problem in found]


def _folder(source: SourceBundle) -> Iterator[Problem]:
    if source.place is not None and not source.files:
        yield Problem(
            code=_SOURCE,
            message="this folder does not exist" if source.files is None else "this folder is empty",
            remedy="write the folder that contains the training script",
            path=("folder",),
            value=str(source.place),
        )


def check_requirements(
    job: TrainingJobSpec, *, closed: bool, index_variables: tuple[str, ...] = ("PIP_INDEX_URL", "PIP_FIND_LINKS")
) -> Iterator[Problem]:
    """Return a problem when pip cannot download the required packages. `closed`: the network has no internet access."""
    source = job.source
    if source is None or source.files is None or REQUIREMENTS not in source.files:
        return
    if not job.network_isolation and (not closed or any(name in job.environment for name in index_variables)):
        return
    where = "an isolated container" if job.network_isolation else "a network without internet access"
    yield Problem(
        code=_SOURCE,
        message=f"pip cannot download the packages of {REQUIREMENTS} from {where}",
        remedy="use an image that contains these packages, or remove the file"
        if job.network_isolation
        else "use an image that contains these packages, or set the environment variable PIP_INDEX_URL to a package "
        "index that the network reaches",
        path=("source",),
    )


def _needed(job: TrainingJobSpec) -> Iterator[Problem]:
    if job.image.kind is not TrainingImageKind.OWN:
        yield Problem(
            code=_SOURCE,
            message="`source` is required: AWS's images contain no training script",
            remedy="set `source` to the folder of the training script, with the name of the script",
            path=("source",),
        )
    elif launchers()[job.distribution.kind.value].hyperparameters:
        yield Problem(
            code=_SOURCE,
            message=f"`source` is required: {launchers()[job.distribution.kind.value].title} starts a training script",
            remedy="set `source` to the folder of the training script, or remove `distribution`",
            path=("source",),
        )


def _entry_point(source: SourceBundle) -> Iterator[Problem]:
    name = source.entry_point
    if not name or isabs(name) or normpath(name).startswith(".."):
        yield _problem(
            "the script must be a relative path inside the source folder"
            if name
            else "the name of the script is empty",
            "write the path relative to the source folder, e.g. train.py",
            name,
        )
    elif source.files and normpath(name) not in source.files:
        scripts = sorted(each for each in source.files if each.endswith((".py", ".sh")))
        yield _problem(
            f"the source folder does not contain {name}",
            did_you_mean(name, scripts, otherwise=f"create {name} in the folder, or write the path of your script"),
            name,
            ", ".join(scripts[:10]),
        )


def _launched(job: TrainingJobSpec, source: SourceBundle) -> Iterator[Problem]:
    launcher = launchers()[job.distribution.kind.value]
    if not launcher.python_script:
        return
    if not source.entry_point.endswith(".py"):
        yield _problem(
            f"{launcher.title} can start only Python scripts",
            "write a script whose name ends in .py",
            source.entry_point,
        )
    elif source.files is not None and _PACKAGE in source.files:
        yield _problem(
            f"SageMaker treats a source folder with {_PACKAGE} as a package, which {launcher.title} cannot start",
            f"remove {_PACKAGE} from the folder: the script can import the modules next to it without that file",
            source.entry_point,
        )


def _problem(message: str, remedy: str, value: str, allowed: str = "") -> Problem:
    return Problem(code=_SOURCE, message=message, remedy=remedy, path=("entry_point",), value=value, allowed=allowed)


_LAUNCHER = SageMakerCode.TRAINING_DISTRIBUTION
_WITH_LIBRARIES = (TrainingImageKind.SMP, TrainingImageKind.OWN)


def check_distribution(job: TrainingJobSpec) -> Iterator[Problem]:
    """Return why the launcher cannot be used with instance type, image or configuration, below `distribution`."""
    instance = training_instances().get(job.instance_type)
    if instance is not None and instance.successor is not None:
        instance = None  # `check_instances` reports it
    found = [*_own_values(job), *(list(_instance(job, instance)) or _image(job))]
    yield from (problem.under("distribution") for problem in [*found, *_smp(job, instance)])


def _own_values(job: TrainingJobSpec) -> Iterator[Problem]:
    distribution = job.distribution
    if distribution.smp_configuration is not None and distribution.kind is not DistributionKind.SMP:
        yield _launch(
            "this setting has no effect: it is only for the distribution `smp`",
            "set the distribution to `smp`, or remove this setting",
            "smp_configuration",
        )
    if distribution.processes_per_host is not None and distribution.kind is not DistributionKind.MPI:
        yield _launch(
            "this setting has no effect: it is only for the distribution `mpi`",
            "remove it",
            "processes_per_host",
            distribution.processes_per_host,
        )


def _instance(job: TrainingJobSpec, instance: TrainingInstance | None) -> Iterator[Problem]:
    launcher = launchers()[job.distribution.kind.value]
    if instance is None:
        return
    if instance.accelerator == "neuron" and not launcher.neuron:
        yield _launch(f"{launcher.title} cannot start processes on Trainium", "write torchrun", "kind", launcher.name)
    elif job.distribution.kind is DistributionKind.SMDDP and not instance.smddp:
        named = [f"ml.{name}" for name in smddp_instances()]
        yield Problem(
            code=_LAUNCHER,
            message=f"SMDDP does not support {instance.name}: its import fails there",
            remedy=f"write torchrun, which uses NCCL, or use the instance type {' or '.join(named)}",
            path=("kind",),
            value=launcher.name,
            allowed=", ".join(named),
        )


def _image(job: TrainingJobSpec) -> Iterator[Problem]:
    """No other current image contains SMP and SMDDP."""
    kind = job.distribution.kind
    if kind in (DistributionKind.SMP, DistributionKind.SMDDP) and job.image.kind not in _WITH_LIBRARIES:
        title = launchers()[kind.value].title
        yield _launch(
            f"the image `{job.image.kind.value}` does not contain {title}: the last image with it is `smp` with "
            f"PyTorch {TrainingImageKind.SMP.newest_version}",
            "use the image `smp`, or the distribution `torchrun`, which needs no library",
            "kind",
            kind.value,
        )


def _smp(job: TrainingJobSpec, instance: TrainingInstance | None) -> Iterator[Problem]:
    distribution = job.distribution
    if distribution.kind is not DistributionKind.SMP:
        return
    if distribution.smp_configuration is None:
        yield _launch(
            "the configuration of SMP is required with the distribution `smp`",
            "set the keys of SMP's configuration",
            "smp_configuration",
        )
        return
    known = instance is not None and not is_unresolved(job.instance_count)
    world = instance.accelerators * job.instance_count if known and instance is not None else None
    for problem in check_smp(distribution.smp_configuration, world_size=world or None):
        yield problem.under("smp_configuration")
    if distribution.smp_configuration.backend is not None:
        yield _launch(
            "`backend` is not a key of SMP's configuration: the script sets it in init_process_group",
            "remove it, and pass it to the script as a hyperparameter",
            "smp_configuration",
            distribution.smp_configuration.backend,
        )


def _launch(message: str, remedy: str, attribute: str, value: object = None) -> Problem:
    return Problem(code=_LAUNCHER, message=message, remedy=remedy, path=(attribute,), value=value)
