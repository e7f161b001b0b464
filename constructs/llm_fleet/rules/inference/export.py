"""Whether a model can be exported, and on what."""

from collections.abc import Iterator

from llm_fleet.catalog.model_server import export_disk_copies, fargate_facts, model_exports, model_servers
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.memory import GIB, export_bytes, in_gib, weight_bytes
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.rules.inference.protocols import ModelLike, ServerLike, ShapeLike
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved


def check_export(source: ModelLike, model: ModelLike, server: ServerLike, *, fargate: bool) -> list[Problem]:
    """Return what keeps `server`'s image from exporting the checkpoint `source` as `model`.

    `fargate`: whether that is to be on a host without Neuron devices.
    """
    return [
        *(problem.under("source") for problem in _source(source)),
        *(problem.under("model") for problem in _target(source, model)),
        *(problem.under("server") for problem in _server(server, fargate=fargate)),
        *(_fargate_room(model.shape, server) if fargate and model.shape is not None else ()),
    ]


def check_export_host(model: ModelLike, instance_type: str, *, server: ServerLike, cores: int) -> list[Problem]:
    """Return a problem when a host of `instance_type` has too little memory, or too few cores, for the export."""
    instance = None if is_unresolved(instance_type) else neuron_instance(instance_type)
    if instance is None or model.shape is None or _holds(model.shape, instance, cores):
        return []
    smallest = export_instance(model, server=server, cores=cores, family=instance.family)
    return [
        Problem(
            code=Code.MODEL_EXPORT_MEMORY,
            message=f"exporting the model takes {in_gib(export_bytes(model.shape))} of host memory and {cores} "
            f"NeuronCores, and {instance.name} has {task_memory_mib(instance) / 1024:.1f} GiB for a task and "
            f"{instance.cores}",
            remedy=f"take {smallest}, the smallest that does" if smallest else "export it on a host of your own",
            path=("hosts", "instance_type"),
            value=instance.name,
        )
    ]


def check_export_network(source: ModelLike, internet: InternetAccess | None) -> list[Problem]:
    """Return a problem when a checkpoint on the Hub cannot be fetched; `internet` is `None` where nobody told."""
    if internet != InternetAccess.NONE or source.source is not ModelSource.HUB:
        return []
    return [
        Problem(
            code=Code.CLOSED_NETWORK,
            message="the checkpoint is fetched from the Hub, and this network has no way there",
            remedy="copy it into a bucket and name it as s3://…, or give the network a NAT gateway",
            path=("source", "location"),
            value=source.location,
        )
    ]


def export_instance(model: ModelLike, *, server: ServerLike, cores: int, family: str) -> str | None:
    """Return the smallest instance type that can export `model` over `cores` cores, of `family` where it has one."""
    families = model_servers()[server.kind].families
    known = (neuron_instance(name) for name in neuron_instance_names())
    shape = model.shape
    fitting = [
        each
        for each in known
        if each is not None and shape is not None and each.family in families and _holds(shape, each, cores)
    ]
    alike = [each for each in fitting if each.family == family] or fitting
    return min(alike, key=lambda each: (each.hbm_gib, each.host_memory_gib)).name if alike else None


def export_disk_gib(shape: ShapeLike) -> int:
    """Return the GiB of disk that the export takes beside the image."""
    return -(-weight_bytes(shape) * export_disk_copies() // GIB) + 1


def _holds(shape: ShapeLike, instance: NeuronInstance, cores: int) -> bool:
    return export_bytes(shape) <= task_memory_mib(instance) * 1024**2 and cores <= instance.cores


def _source(source: ModelLike) -> Iterator[Problem]:
    if source.compiled:
        yield _problem(
            "the checkpoint is said to be exported already", "say that it is not: compiled=False", "compiled", True
        )
    if source.source is ModelSource.IMAGE:
        yield _problem("a checkpoint in the image cannot be exported", "take it from S3 or the Hub", "source", "image")


def _target(source: ModelLike, model: ModelLike) -> Iterator[Problem]:
    if model.source is not ModelSource.S3:
        yield _problem(
            "an exported model can only be written to S3", "write s3://bucket/prefix", "location", model.location
        )
        return
    if not model.compiled:
        yield _problem("what is exported is compiled", "leave `compiled` out", "compiled", False)
    if is_unresolved(model.location) or is_unresolved(source.location) or source.source is not ModelSource.S3:
        return
    (bucket, prefix), (from_bucket, from_prefix) = bucket_and_prefix(model.location), bucket_and_prefix(source.location)
    inside = f"{prefix}/".startswith(f"{from_prefix}/") or f"{from_prefix}/".startswith(f"{prefix}/")
    if bucket == from_bucket and (inside or not prefix or not from_prefix):
        yield _problem(
            f"the exported model would lie within the checkpoint {source.location}, or around it",
            "write another prefix beside it",
            "location",
            model.location,
        )


def _server(server: ServerLike, *, fargate: bool) -> Iterator[Problem]:
    facts = model_exports().get(server.kind)
    if facts is None:
        yield _problem(
            f"the image of {server.kind} has no command that exports a model: it compiles what it does not find when "
            f"it starts",
            f"export with {' or '.join(model_exports())}, or let the server compile",
            "kind",
            str(server.kind),
        )
    elif fargate and not facts.cpu:
        yield _problem(
            f"the image of {server.kind} exports language models on hosts with Neuron devices only",
            "leave `fargate` out",
            "kind",
            str(server.kind),
        )


def _fargate_room(shape: ShapeLike, server: ServerLike) -> Iterator[Problem]:
    facts, need = fargate_facts(), export_bytes(shape)
    storage = export_disk_gib(shape) + model_servers()[server.kind].image_gib
    if need > facts.memory_max_gib * GIB or storage > facts.storage_max_gib:
        yield Problem(
            code=Code.MODEL_EXPORT_MEMORY,
            message=f"exporting the model takes {in_gib(need)} of memory and {storage} GiB of disk, and a task of "
            f"Fargate has {facts.memory_max_gib} GiB and {facts.storage_max_gib} GiB at most",
            remedy="leave `fargate` out: it is then exported on a Neuron host that is large enough",
            path=("fargate",),
            value=True,
        )


def _problem(message: str, remedy: str, path: str, value: object) -> Problem:
    return Problem(code=Code.MODEL_EXPORT, message=message, remedy=remedy, path=(path,), value=value)
