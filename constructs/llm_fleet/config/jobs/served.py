"""What a job exports, as told, or as the service of the file has it."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.catalog.model_server import default_batch_size, default_sequence_length
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.jobs.export import JobExportConfig
from llm_fleet.config.jobs.job import JobConfig
from llm_fleet.config.service import ServiceConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import ModelShape
from llm_fleet.spec.served_model import ModelSource

_SIZES = ("server", "instance_type", "tensor_parallel", "batch_size", "sequence_length")
_SHAPE = ("parameters", "layers", "attention_heads", "kv_heads", "head_dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An export with its defaults (`ExportLike`)."""

    to: str
    server: ServerKind
    instance_type: str
    tensor_parallel: int | None
    batch_size: int
    sequence_length: int
    environment: str | None


def served(job: JobConfig, fleet: Fleet) -> Served | None:
    """Return what `job` exports; `None` for nothing, and for what `check_served` refuses."""
    export = job.export
    if export is None:
        return None
    if export.service is None:
        return None if export.to is None else _as_told(export, export.to)
    service = fleet.services.get(export.service)
    place = None if service is None else place_of(service, fleet)
    if service is None or place is None:
        return None
    server = service.server
    return Served(
        to=place,
        server=server.kind,
        instance_type=service.instance_type,
        tensor_parallel=server.tensor_parallel,
        batch_size=server.batch_size,
        sequence_length=server.sequence_length,
        environment=export.environment,
    )


def place_of(service: ServiceConfig, fleet: Fleet) -> str | None:
    """Return where in S3 `service` reads its model; `None` where it reads none there, or nobody knows the bucket."""
    model = service.model
    if model.source is not ModelSource.S3:
        return None
    if model.bucket is None:
        return model.location
    found = model.own_bucket(fleet.storage)
    name = None if found is None else fleet.storage.buckets[found[0]].bucket_name
    return None if name is None else f"s3://{name}/{model.prefix or ''}".rstrip("/")


def check_served(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what only a fleet file gets wrong about an export, by attribute names of the job."""
    export = job.export
    if export is None:
        return
    if export.service is None:
        if export.to is None:
            yield _wrong("nobody told what reads the model", "add `service: <name>`, or `to: s3://…`")
        return
    told = [name for name in ("to", *_SIZES) if getattr(export, name) is not None]
    for name in told:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`service` says it already: the model is compiled for its server, in its sizes, where it reads",
            remedy=f"leave `{JobExportConfig.key_of(name)}` out",
            path=("export", name),
            value=getattr(export, name),
        )
    service = fleet.services.get(export.service)
    yield from _unknown(export.service, fleet) if service is None else _service(service, job, fleet)


def _as_told(export: JobExportConfig, to: str) -> Served:
    return Served(
        to=to,
        server=export.server or ServerKind.TGI,
        instance_type=export.instance_type or "inf2.xlarge",
        tensor_parallel=export.tensor_parallel,
        batch_size=default_batch_size() if export.batch_size is None else export.batch_size,
        sequence_length=default_sequence_length() if export.sequence_length is None else export.sequence_length,
        environment=export.environment,
    )


def _unknown(name: str, fleet: Fleet) -> Iterator[Problem]:
    names = list(fleet.services)
    yield Problem(
        code=Code.UNKNOWN_REFERENCE,
        message=f"there is no service {name!r} under `services`",
        remedy=did_you_mean(name, names, otherwise="add it there, or write `to: s3://…` in its place"),
        path=("export", "service"),
        value=name,
        allowed=", ".join(names),
    )


def _service(service: ServiceConfig, job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    model = service.model
    if model.source is not ModelSource.S3:
        yield _wrong(
            f"the service {service.name} reads its model from {model.location}, and a job writes to S3",
            f"write `model: s3://…` of the service {service.name}",
            service.name,
        )
    elif model.bucket is not None and model.bucket in fleet.storage.buckets and place_of(service, fleet) is None:
        yield _wrong(
            f"the bucket {model.bucket} gets its name when it is made, and a job has to write it",
            f"give it one: `{model.bucket}: {{name: …}}` under `storage.buckets`",
            service.name,
        )
    mine, theirs = job.shape, model.size
    if mine is not None and theirs is not None and not _same(mine, theirs):
        yield _wrong(
            f"the service {service.name} is made for another model: one of {theirs.parameters:,} parameters, "
            f"{theirs.layers} layers and {theirs.attention_heads} heads; the job trains one of {mine.parameters:,}, "
            f"{mine.layers} and {mine.attention_heads}",
            f"tell the service the model that is trained: `model: {{…, shape: …}}` of {service.name}",
            service.name,
        )


def _same(mine: ModelShape, theirs: ModelShape) -> bool:
    return all(getattr(mine, name) == getattr(theirs, name) for name in _SHAPE)


def _wrong(message: str, remedy: str, service: str | None = None) -> Problem:
    path = ("export",) if service is None else ("export", "service")
    return Problem(code=Code.JOB_EXPORT, message=message, remedy=remedy, path=path, value=service)
