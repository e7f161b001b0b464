"""The jobs of a fleet file, judged by the rules that judge a `TrainingRun`."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.check_shape_source import check_shape_source
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.jobs.job import JobConfig, JobExportConfig
from llm_fleet.fleet_file.jobs.partitions import find_partition
from llm_fleet.fleet_file.service import ServiceConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.check_run import check_run
from llm_fleet.rules.training.run import check_numbers, check_run_name
from llm_fleet.rules.training.run_plan import backend_of
from llm_fleet.rules.training.smp_run import check_smp_place
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import Backend, PlacedRun, ServedExport, TrainingPartition
from llm_fleet.spec.model_shape import ModelShape
from llm_fleet.spec.served_model import ModelSource

_OF_CLUSTER = ("training_folder", "environments")
_NOWHERE = TrainingPartition(cluster="", name="", instance_type="", nodes=1)


def check_jobs(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the jobs of `fleet`, by attribute names."""
    for job in fleet.jobs.values():
        yield from (problem.under("jobs", job.name) for problem in _check(job, fleet))


def _check(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    own = list(_own(job, fleet))
    yield from own
    found = find_partition(job, fleet)
    if isinstance(found, Problem):
        yield found
        yield from check_run_name(job.name)
        yield from check_numbers(job.placed(_NOWHERE, export=None))
        return
    told = {problem.path[:2] for problem in own}
    run = job.placed(found.partition, export=None if ("export", "service") in told else served(job, fleet))
    for problem in (*check_run(run), *_region(run, fleet)):
        placed = _in_file(_in_words(problem), job)
        if placed.path[:2] not in told and not _is_of_service(problem, job):
            yield placed


def _own(job: JobConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has."""
    yield from check_served(job, fleet)
    yield from check_shape_source(shape=job.shape, config=job.config, unread=job.unread)


def _region(run: PlacedRun, fleet: Fleet) -> list[Problem]:
    """Return that there is no image of SMP v2 in the fleet's region; which instances have one is told with the run."""
    if backend_of(run) is not Backend.SMP:
        return []
    found = check_smp_place(run.partition.instance_type, fleet.region)
    return [replace(each, path=("backend",)) for each in found if each.path == ("region",)]


def _in_file(problem: Problem, job: JobConfig) -> Problem:
    """Return a problem where the file has it."""
    path = problem.path
    if path[:1] == ("partition",):
        of_cluster = path[-1] in _OF_CLUSTER or job.partition is None
        return replace(problem, path=("cluster",) if of_cluster else ("partition",), value=None)
    if path == ("export", "to") and job.export is not None and job.export.service is not None:
        return replace(problem, path=("export", "service"))
    if path[:1] == ("shape",):
        return replace(problem, path=path if job.shape is not None else ("config",))
    if problem.code is Code.MODEL_SHAPE_UNKNOWN and job.config is not None:
        return replace(problem, path=("config",))
    return problem


def _is_of_service(problem: Problem, job: JobConfig) -> bool:
    """Whether `problem` is one of a service's server, which is told there."""
    by_service = job.export is not None and job.export.service is not None
    own = (("export", "to"), ("export", "environment"))
    return by_service and problem.path[:1] == ("export",) and problem.path not in own


_WRITTEN = (
    (re.compile(r"; in Python .*$"), ""),
    (
        re.compile(r"shape=TrainedShape\(…\) with the numbers of its config\.json"),
        "`shape: {parameters: 8 B, …}` with the numbers of its config.json, or `config:` with the file's path",
    ),
    (re.compile(r"\bkeep=(\d+)\b"), r"`checkpoint: {keep: \1}`"),
    (re.compile(r"\b(\w+)='([^']*)'"), r"`\1: \2`"),
    (re.compile(r"\b(\w+)=(\d+)\b"), r"`\1: \2`"),
    (re.compile(r"\bleave (?!it\b)(\w+) out\b"), r"leave `\1` out"),
    (re.compile(r": `training:` in a fleet file, TrainingRuntime in Python"), ": `training: {environments: {…}}`"),
)


def _in_words(problem: Problem) -> Problem:
    """Return `problem` with the file's words in its remedy."""
    text = problem.remedy
    for pattern, words in _WRITTEN:
        text = pattern.sub(words, text)
    return replace(problem, remedy=text)


_SIZES = ("server", "instance_type", "tensor_parallel", "batch_size", "sequence_length")
_SHAPE = ("parameters", "layers", "attention_heads", "kv_heads", "head_dim")


def served(job: JobConfig, fleet: Fleet) -> ServedExport | None:
    """Return what `job` exports; `None` for nothing, and for what `check_served` refuses."""
    export = job.export
    if export is None:
        return None
    if export.service is None:
        return None if export.to is None else export.narrowed(ServedExport)
    service = fleet.services.get(export.service)
    place = None if service is None else place_of(service, fleet)
    if service is None or place is None:
        return None
    server = service.server
    return export.narrowed(
        ServedExport,
        to=place,
        server=server.kind,
        instance_type=service.instance_type,
        tensor_parallel=server.tensor_parallel,
        batch_size=server.batch_size,
        sequence_length=server.sequence_length,
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
    told = [name for name in ("to", *_SIZES) if name in export.model_fields_set]
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
    mine, theirs = job.known_shape, model.size
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
