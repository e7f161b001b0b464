"""Whether a model can be exported, and on what."""

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

    Ask only of a server and a model that are right. `internet`: of the network that it runs in; `None` where that is
    not known.
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
    """Return what is wrong with an export where no one has asked about its service, or its hosts.

    It is judged by what the export needs of the service: server, model and instance type.
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
        yield export.wrong("fargate", Code.MODEL_EXPORT, "both hosts of your own and Fargate", "leave one of them out")


def export_host(service: ServiceSpec, export: ExportSpec) -> str:
    """Return the instance type that it is exported on: as told, else the smallest that can."""
    serving = neuron_instance(service.instance_type)
    if export.instance_type is not None or serving is None:
        return export.instance_type or service.instance_type
    model, server = service.model, service.server
    cores = cores_of(server, serving)
    return export_instance(model, server=server, cores=cores, family=serving.family) or service.instance_type


def check_export(export: ExportSpec, model: Model, server: ModelServer) -> list[Problem]:
    """Return what keeps `server`'s image from exporting the checkpoint of `export` as `model`."""
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
        message=f"exporting the model takes {in_gib(export_bytes(model.size))} of host memory and {cores} "
        f"NeuronCores, and {instance.name} has {task_memory_mib(instance) / 1024:.1f} GiB for a task and "
        f"{instance.cores}",
        remedy=f"take {smallest}, the smallest that does" if smallest else "export it on a host of your own",
        path=("export", "instance_type"),
        value=instance.name,
    )


@rule
def check_export_network(source: Model, internet: InternetAccess | None) -> Iterator[Problem]:
    """Return a problem when a checkpoint on the Hub cannot be fetched; `internet` is `None` where nobody told."""
    if internet == InternetAccess.NONE and source.source is ModelSource.HUB:
        yield Problem(
            code=Code.CLOSED_NETWORK,
            message="the checkpoint is fetched from the Hub, and this network has no way there",
            remedy="copy it into a bucket and name it as s3://…, or give the network a NAT gateway",
            path=("source", *source.place),
            value=source.place_value,
        )


def export_instance(model: Model, *, server: ModelServer, cores: int, family: str) -> str | None:
    """Return the smallest instance type that can export `model` over `cores` cores, of `family` where it has one."""
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
    """Return the GiB of disk that the export takes beside the image."""
    return -(-weight_bytes(shape) * export_disk_copies() // GIB) + 1


def _holds(shape: ModelShape, instance: NeuronInstance, cores: int) -> bool:
    return export_bytes(shape) <= task_memory_mib(instance) * 1024**2 and cores <= instance.cores


def _source(source: Model) -> Iterator[Problem]:
    if source.is_compiled:
        yield source.wrong(
            "compiled",
            Code.MODEL_EXPORT,
            "the checkpoint is said to be exported already",
            "say that it is not: compiled=False",
            value=True,
        )
    if source.source is ModelSource.IMAGE:
        yield source.wrong(
            "source",
            Code.MODEL_EXPORT,
            "a checkpoint in the image cannot be exported",
            "take it from S3 or the Hub",
            value="image",
        )


def _target(source: Model, model: Model) -> Iterator[Problem]:
    if model.source is not ModelSource.S3:
        yield _at_place(model, "an exported model can only be written to S3", "write s3://bucket/prefix")
        return
    if not model.is_compiled:
        yield model.wrong(
            "compiled", Code.MODEL_EXPORT, "what is exported is compiled", "leave `compiled` out", value=False
        )
    if is_unresolved(model.location) or is_unresolved(source.location) or source.source is not ModelSource.S3:
        return
    (bucket, prefix), (from_bucket, from_prefix) = bucket_and_prefix(model.location), bucket_and_prefix(source.location)
    inside = f"{prefix}/".startswith(f"{from_prefix}/") or f"{from_prefix}/".startswith(f"{prefix}/")
    if bucket == from_bucket and (inside or not prefix or not from_prefix):
        message = f"the exported model would lie within the checkpoint {source.location}, or around it"
        yield _at_place(model, message, "write another prefix beside it")


def _server(server: ModelServer, *, fargate: bool) -> Iterator[Problem]:
    facts = model_exports().get(server.kind)
    if facts is None:
        yield server.wrong(
            "kind",
            Code.MODEL_EXPORT,
            f"the image of {server.kind} has no command that exports a model: it compiles what it does not find when "
            f"it starts",
            f"export with {' or '.join(model_exports())}, or let the server compile",
        )
    elif fargate and not facts.cpu:
        yield server.wrong(
            "kind",
            Code.MODEL_EXPORT,
            f"the image of {server.kind} exports language models on hosts with Neuron devices only",
            "leave `fargate` out",
        )


def _fargate_room(export: ExportSpec, shape: ModelShape, server: ModelServer) -> Iterator[Problem]:
    facts, need = fargate_facts(), export_bytes(shape)
    storage = export_disk_gib(shape) + model_servers()[server.kind].image_gib
    if need > facts.memory_max_gib * GIB or storage > facts.storage_max_gib:
        yield export.wrong(
            "fargate",
            Code.MODEL_EXPORT_MEMORY,
            f"exporting the model takes {in_gib(need)} of memory and {storage} GiB of disk, and a task of "
            f"Fargate has {facts.memory_max_gib} GiB and {facts.storage_max_gib} GiB at most",
            "leave `fargate` out: it is then exported on a Neuron host that is large enough",
        )


def _at_place(model: Model, message: str, remedy: str) -> Problem:
    return Problem(code=Code.MODEL_EXPORT, message=message, remedy=remedy, path=model.place, value=model.place_value)
