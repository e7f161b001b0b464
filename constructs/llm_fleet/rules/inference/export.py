"""Rules of exporting a model: source, target, server, host and network."""

from collections.abc import Iterator

from llm_fleet.catalog.model_server import export_disk_copies, fargate_facts, model_exports, model_servers, tools_image
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import GIB, check_fit, export_bytes, in_gib, weight_bytes
from llm_fleet.rules.inference.hosts import check_host_type, check_hosts
from llm_fleet.rules.inference.model import check_model, check_place
from llm_fleet.rules.inference.server import check_server, check_server_on, cores_of
from llm_fleet.rules.inference.service import check_pulled_image
from llm_fleet.rules.problem import Problem, is_unresolved, rule, under
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource
from llm_fleet.spec.service import ExportSpec, Hosts, ServiceSpec


@rule
def check_service_export(
    service: ServiceSpec, export: ExportSpec, *, region: str | None, internet: InternetAccess | None
) -> Iterator[Problem]:
    """Return what is wrong with the export of `service`, by its attribute names and, below `export`, those of `export`.

    Server and model must be right. `internet`: internet access of the network that the export runs in; `None` when
    unknown.
    """
    tools = export.tools_image or tools_image()
    problems = [
        *under(check_model(export.source), "export", "source"),
        *check_export(export, service.model, service.server),
        *under(check_export_network(export.source, internet), "export"),
        *check_pulled_image(tools, "export", "tools_image", region=region, internet=internet),
    ]
    yield from problems
    serving = neuron_instance(service.instance_type)
    if not problems and not export.fargate and serving is not None:
        cores = cores_of(service.server, serving)
        yield from check_export_host(service.model, export_host(service, export), server=service.server, cores=cores)


def check_export_of(
    service: ServiceSpec, export: ExportSpec, *, region: str | None, internet: InternetAccess | None
) -> list[Problem]:
    """Return what is wrong with an export whose service and hosts are not checked elsewhere.

    Of the service, only what the export needs is checked: server, model and instance type.
    """
    server, model, on = service.server, service.model, service.instance_type
    of_type = check_host_type(on, managed=False)
    own = [] if export.instance_type is None else check_host_type(export.instance_type, managed=False)
    of_model = under(check_place(model) or check_model(model), "model")
    of_server = under([*check_server(server), *check_server_on(server, on, region)], "server")
    problems = [
        *of_type,
        *of_server,
        *of_model,
        *under(own, "export"),
        *under(check_hosts(export.hosts), "export", "hosts"),
        *under(check_place(export.source), "export", "source"),
        *check_pulled_image(server.image, "server", "image", region=region, internet=internet),
        *under(_two_places(export), "export"),
    ]
    if not (of_server or of_type or of_model):
        problems += check_fit(server, model, on)
    return problems or check_service_export(service, export, region=region, internet=internet)


def _two_places(export: ExportSpec) -> Iterator[Problem]:
    if export.fargate and (export.instance_type is not None or export.hosts != Hosts()):
        yield export.wrong(
            "fargate", Code.MODEL_EXPORT, "set only one of `fargate` and own hosts", "remove one of them"
        )


def export_host(service: ServiceSpec, export: ExportSpec) -> str:
    """Return the instance type of the export: as set, or the smallest on which it can run."""
    serving = neuron_instance(service.instance_type)
    if export.instance_type is not None or serving is None:
        return export.instance_type or service.instance_type
    model, server = service.model, service.server
    cores = cores_of(server, serving)
    return export_instance(model, server=server, cores=cores, family=serving.family) or service.instance_type


def check_export(export: ExportSpec, model: Model, server: ModelServer) -> list[Problem]:
    """Return why the image of `server` cannot export the checkpoint of `export` as `model`."""
    room = _fargate_room(export, model.size, server) if export.fargate and model.size is not None else ()
    return [
        *under(_source(export.source), "export", "source"),
        *under(_target(export.source, model), "model"),
        *under(_server(server, fargate=export.fargate), "server"),
        *under(room, "export"),
    ]


@rule
def check_export_host(model: Model, instance_type: str, *, server: ModelServer, cores: int) -> Iterator[Problem]:
    """Return a problem when a host of `instance_type` has too little memory, or too few cores, for the export."""
    instance = None if is_unresolved(instance_type) else neuron_instance(instance_type)
    if instance is None or model.size is None or _holds(model.size, instance, cores):
        return
    smallest = export_instance(model, server=server, cores=cores, family=instance.family)
    yield Problem(
        code=Code.MODEL_EXPORT_MEMORY,
        message=f"the export needs {in_gib(export_bytes(model.size))} of host memory and {cores} NeuronCores, and "
        f"{instance.name} has {task_memory_mib(instance) / 1024:.1f} GiB for a task and {instance.cores} NeuronCores",
        remedy=f"use {smallest}, the smallest that is large enough" if smallest else "export it on your own host",
        path=("export", "instance_type"),
        value=instance.name,
    )


@rule
def check_export_network(source: Model, internet: InternetAccess | None) -> Iterator[Problem]:
    """Return a problem when a checkpoint on the Hub cannot be downloaded; `internet` is `None` when unknown."""
    if internet == InternetAccess.NONE and source.source is ModelSource.HUB:
        yield Problem(
            code=Code.CLOSED_NETWORK,
            message="the checkpoint cannot be downloaded from the Hugging Face Hub: the network has no internet access",
            remedy="copy it to a bucket and write its s3:// URI, or give the network a NAT gateway",
            path=("source", *source.place),
            value=source.place_value,
        )


def export_instance(model: Model, *, server: ModelServer, cores: int, family: str) -> str | None:
    """Return the smallest instance type that can export `model` over `cores` cores, preferably of `family`."""
    families = model_servers()[server.kind].families
    known = (neuron_instance(name) for name in neuron_instance_names())
    shape = model.size
    fitting = [
        each
        for each in known
        if each is not None and shape is not None and each.family in families and _holds(shape, each, cores)
    ]
    alike = [each for each in fitting if each.family == family] or fitting
    return min(alike, key=lambda each: (each.hbm_gib, each.host_memory_gib)).name if alike else None


def export_disk_gib(shape: ModelShape) -> int:
    """Return the GiB of disk that the export needs in addition to the image."""
    return -(-weight_bytes(shape) * export_disk_copies() // GIB) + 1


def _holds(shape: ModelShape, instance: NeuronInstance, cores: int) -> bool:
    return export_bytes(shape) <= task_memory_mib(instance) * 1024**2 and cores <= instance.cores


def _source(source: Model) -> Iterator[Problem]:
    if source.is_compiled:
        yield source.wrong(
            "compiled",
            Code.MODEL_EXPORT,
            "the source of an export must be a checkpoint that is not compiled",
            "write compiled=False",
            value=True,
        )
    if source.source is ModelSource.IMAGE:
        yield source.wrong(
            "source",
            Code.MODEL_EXPORT,
            "the source of an export cannot be a checkpoint in the image",
            "use a checkpoint in S3 or on the Hugging Face Hub",
            value="image",
        )


def _target(source: Model, model: Model) -> Iterator[Problem]:
    if model.source is not ModelSource.S3:
        yield _at_place(model, "an exported model can only be written to S3", "write s3://bucket/prefix")
        return
    if not model.is_compiled:
        yield model.wrong(
            "compiled", Code.MODEL_EXPORT, "an exported model is always compiled", "remove `compiled`", value=False
        )
    if is_unresolved(model.location) or is_unresolved(source.location) or source.source is not ModelSource.S3:
        return
    (bucket, prefix), (from_bucket, from_prefix) = bucket_and_prefix(model.location), bucket_and_prefix(source.location)
    inside = f"{prefix}/".startswith(f"{from_prefix}/") or f"{from_prefix}/".startswith(f"{prefix}/")
    if bucket == from_bucket and (inside or not prefix or not from_prefix):
        message = f"the prefix of the exported model overlaps with that of the checkpoint, {source.location}"
        yield _at_place(model, message, "write a different prefix next to it")


def _server(server: ModelServer, *, fargate: bool) -> Iterator[Problem]:
    facts = model_exports().get(server.kind)
    if facts is None:
        yield server.wrong(
            "kind",
            Code.MODEL_EXPORT,
            f"the image of {server.kind} cannot export models: the server compiles models when it starts",
            f"export with {' or '.join(model_exports())}, or let the server compile",
        )
    elif fargate and not facts.cpu:
        yield server.wrong(
            "kind",
            Code.MODEL_EXPORT,
            f"the image of {server.kind} can export models only on hosts with Neuron devices",
            "remove `fargate`",
        )


def _fargate_room(export: ExportSpec, shape: ModelShape, server: ModelServer) -> Iterator[Problem]:
    facts, need = fargate_facts(), export_bytes(shape)
    storage = export_disk_gib(shape) + model_servers()[server.kind].image_gib
    if need > facts.memory_max_gib * GIB or storage > facts.storage_max_gib:
        yield export.wrong(
            "fargate",
            Code.MODEL_EXPORT_MEMORY,
            f"the export needs {in_gib(need)} of memory and {storage} GiB of disk, and a Fargate task has at most "
            f"{facts.memory_max_gib} GiB and {facts.storage_max_gib} GiB",
            "remove `fargate`: the export then runs on a Neuron host that is large enough",
        )


def _at_place(model: Model, message: str, remedy: str) -> Problem:
    return Problem(code=Code.MODEL_EXPORT, message=message, remedy=remedy, path=model.place, value=model.place_value)
