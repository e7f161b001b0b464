"""What a training job reads and writes: channels, S3 URIs, checkpoints, results, metrics and tracking."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.training_job import training_job_limit
from llm_fleet.rules.buckets import bucket_and_prefix, check_bucket_name, check_key_prefix
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import AnyCode, PathPart, Problem, is_unresolved
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_data import Channel, Checkpoints, InputMode, JobMetric, Tracking

SCHEME = "s3://"


def check_s3_place(uri: str, code: AnyCode, *path: PathPart, what: str) -> Iterator[Problem]:
    """Return a problem at `path` unless `uri` is an S3 URI; `what` names it, e.g. `the URI of the data`.

    Of a text that contains a CDK token, the known part is checked.
    """
    fault = _s3_fault(uri)
    if fault is not None:
        yield Problem(
            code=code,
            message=f"{what} {fault}",
            remedy="write s3://bucket/prefix",
            path=path,
            value=uri,
            allowed="s3://bucket/prefix",
        )


def _s3_fault(uri: str) -> str | None:
    if not uri.startswith(SCHEME):
        return None if is_unresolved(uri) else "is not an S3 URI"
    bucket, key = bucket_and_prefix(uri)
    if not bucket or (not is_unresolved(bucket) and check_bucket_name(bucket)):
        return f"has the invalid bucket name {bucket!r}" if bucket else "has no bucket name"
    if is_unresolved(key):
        return None
    faults = check_key_prefix(key, SageMakerCode.TRAINING_PLACE) if key else []
    if faults:
        return f"is invalid: {faults[0].message}"
    limit = training_job_limit("OutputDataConfig.S3OutputPath")
    return None if limit.holds(len(uri)) else f"is longer than {limit.maximum} characters"


_CHANNEL = SageMakerCode.TRAINING_CHANNEL
_DIRECTORY = re.compile(r"/[A-Za-z0-9_-]{1,8}(/[^/]+)*/?")
"""The mount name (`FsxLustreConfig.MountName`), then a path on the file system."""


def check_channels(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with the channels, below `channels` and their names."""
    return [
        *_number(job),
        *(
            problem.under("channels", name)
            for name, channel in job.channels.items()
            for problem in _channel(name, channel)
        ),
    ]


def check_channel_network(job: TrainingJobSpec, *, has_network: bool) -> Iterator[Problem]:
    """Return a problem for each channel on a file system when the job is in no network."""
    if not has_network:
        yield from (
            Problem(
                code=SageMakerCode.NETWORK_NEEDED,
                message="a channel on FSx for Lustre requires that the job is in a network",
                remedy="set the job's network, in the AZ of the file system, or read the data from S3",
                path=("channels", name),
                value=name,
            )
            for name, channel in job.channels.items()
            if channel.file_system_id is not None
        )


def _number(job: TrainingJobSpec) -> Iterator[Problem]:
    limit = training_job_limit("InputDataConfig")
    if len(job.channels) > (limit.maximum or 0):
        yield Problem(
            code=_CHANNEL,
            message=f"a training job can have at most {limit.maximum} channels, and these are {len(job.channels)}",
            remedy="move related data below a common S3 prefix, and use one channel for it",
            path=("channels",),
            value=len(job.channels),
            allowed=f"up to {limit.maximum}",
        )


def _channel(name: str, channel: Channel) -> Iterator[Problem]:
    yield from _name(name)
    if (channel.uri is None) == (channel.file_system_id is None):
        yield _problem("a channel must be either in S3 or on a file system", "set only one of both", "uri", channel.uri)
    elif channel.uri is not None:
        yield from check_s3_place(channel.uri, _CHANNEL, "uri", what="the URI of the data")
        yield from _modes_of_s3(channel)
    else:
        yield from _on_file_system(channel)
    yield from _content_type(channel.content_type)


def _name(name: str) -> Iterator[Problem]:
    limit = training_job_limit("InputDataConfig[].ChannelName")
    if is_unresolved(name):
        return
    if not limit.matches(name) or not limit.holds(len(name)):
        allowed = f"{limit.range} letters, digits, dots, hyphens and underscores"
        yield replace(_problem("this is not a valid channel name", "write e.g. train", "name", name, allowed), path=())


def _modes_of_s3(channel: Channel) -> Iterator[Problem]:
    if channel.compressed and channel.input_mode is not InputMode.PIPE:
        yield _problem(
            "SageMaker decompresses objects only in Pipe mode",
            "remove it, and decompress them in the script",
            "compressed",
            True,
        )


def _on_file_system(channel: Channel) -> Iterator[Problem]:
    id, directory = channel.file_system_id, channel.directory
    limit = training_job_limit("InputDataConfig[].DataSource.FileSystemDataSource.FileSystemId")
    if id is not None and not is_unresolved(id) and not limit.matches(id):
        yield _problem("this is not the id of a file system", "write e.g. fs-0123456789abcdef0", "file_system_id", id)
    if directory is None or (not is_unresolved(directory) and not _DIRECTORY.fullmatch(directory)):
        yield _problem(
            "a directory on FSx for Lustre must begin with the file system's mount name",
            "write e.g. /fsx/data, where fsx is the mount name that `aws fsx describe-file-systems` shows",
            "directory",
            directory,
        )
    if channel.input_mode is not InputMode.FILE:
        yield _problem(
            "a channel on a file system supports only File mode",
            "remove the input mode",
            "input_mode",
            channel.input_mode,
        )
    for attribute in ("sharded", "manifest", "compressed"):
        if getattr(channel, attribute):
            yield _problem(f"`{attribute}` has no effect: it is only for channels in S3", "remove it", attribute, True)


def _content_type(content_type: str | None) -> Iterator[Problem]:
    limit = training_job_limit("InputDataConfig[].ContentType")
    if content_type is not None and not is_unresolved(content_type) and not limit.holds(len(content_type)):
        yield _problem("this content type is too long", "write e.g. application/json", "content_type", content_type)


def _problem(message: str, remedy: str, attribute: str, value: object, allowed: str = "") -> Problem:
    return Problem(code=_CHANNEL, message=message, remedy=remedy, path=(attribute,), value=value, allowed=allowed)


_ML = "/opt/ml/"
_SERVICES = ("/opt/ml/input", "/opt/ml/model", "/opt/ml/output", "/opt/ml/code", "/opt/ml/failure")
"""Folders that SageMaker fills or uploads itself (Developer Guide, model-train-storage)."""


def check_places(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with the places of output, checkpoints and tracking, by the attributes of the job."""
    output, checkpoints, tracking = job.output, job.checkpoints, job.tracking
    found: list[Problem] = []
    if checkpoints is not None:
        found += [problem.under("checkpoints") for problem in _checkpoints(checkpoints)]
    if output.uri is not None:
        place = check_s3_place(output.uri, SageMakerCode.TRAINING_PLACE, "uri", what="the URI of the results")
        found += [problem.under("output") for problem in place]
    return [*found, *([] if tracking is None else _tracking(tracking))]


def _checkpoints(checkpoints: Checkpoints) -> Iterator[Problem]:
    if checkpoints.uri is not None:
        yield from check_s3_place(
            checkpoints.uri, SageMakerCode.TRAINING_PLACE, "uri", what="the URI of the checkpoints"
        )
    path = checkpoints.local_path
    limit = training_job_limit("CheckpointConfig.LocalPath")
    if is_unresolved(path):
        return
    if not path.startswith("/") or not limit.holds(len(path)) or path.rstrip("/") in ("", "/opt", "/opt/ml"):
        yield _local("this must be an absolute folder path in the container", path)
    elif any(path.rstrip("/") == each or path.startswith(f"{each}/") for each in _SERVICES):
        yield _local(f"{path} is reserved by SageMaker", path)


def _local(message: str, path: str) -> Problem:
    return Problem(
        code=SageMakerCode.TRAINING_PLACE,
        message=message,
        remedy=f"write {_ML}checkpoints, or remove it, which has the same effect",
        path=("local_path",),
        value=path,
    )


def _tracking(tracking: Tracking) -> Iterator[Problem]:
    if tracking.mlflow_arn is None and tracking.tensorboard_uri is None:
        yield _record("`tracking` has neither MLflow nor TensorBoard", "set the ARN of an MLflow app, or remove it")
    if tracking.tensorboard_uri is not None:
        yield from check_s3_place(
            tracking.tensorboard_uri,
            SageMakerCode.TRAINING_TRACKING,
            "tracking",
            "tensorboard_uri",
            what="the URI for TensorBoard",
        )
    arn, arn_limit = tracking.mlflow_arn, training_job_limit("MlflowConfig.MlflowResourceArn")
    if arn is not None and not is_unresolved(arn) and not (arn_limit.matches(arn) and arn_limit.holds(len(arn))):
        yield _record(
            "this is not the ARN of an MLflow app or tracking server",
            "write the complete ARN, e.g. arn:aws:sagemaker:us-west-2:111122223333:mlflow-app/app-ABCDEF",
            "mlflow_arn",
            arn,
        )
    name, limit = tracking.experiment, training_job_limit("MlflowConfig.MlflowExperimentName")
    if name is None or is_unresolved(name):
        return
    if tracking.mlflow_arn is None:
        yield _record(
            "`experiment` has no effect without MLflow",
            "remove it, or set the ARN of an MLflow app",
            "experiment",
            name,
        )
    elif not limit.holds(len(name)):
        yield _record("MLflow rejects this experiment name", f"write {limit.range} characters", "experiment", name)


def _record(message: str, remedy: str, attribute: str | None = None, value: object = None) -> Problem:
    path = ("tracking",) if attribute is None else ("tracking", attribute)
    return Problem(code=SageMakerCode.TRAINING_TRACKING, message=message, remedy=remedy, path=path, value=value)


_METRIC = SageMakerCode.TRAINING_METRIC


def check_metrics(job: TrainingJobSpec) -> Iterator[Problem]:
    """Return what is wrong with the metric definitions, below `metrics` and the name."""
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions")
    if len(job.metrics) > (limit.maximum or 0):
        message = f"a training job can have at most {limit.maximum} metrics, and these are {len(job.metrics)}"
        yield Problem(
            code=_METRIC,
            message=message,
            remedy="remove metrics that no alarm and no dashboard uses; MLflow accepts any number of metrics",
            path=("metrics",),
            value=len(job.metrics),
            allowed=f"up to {limit.maximum}",
        )
    for name, metric in job.metrics.items():
        yield from (problem.under("metrics", name) for problem in _metric(name, metric))


def _metric(name: str, metric: JobMetric) -> Iterator[Problem]:
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions[].Name")
    if not is_unresolved(name) and (not limit.holds(len(name)) or not limit.matches(name)):
        yield replace(_metric_fault("this is not a valid metric name", "write e.g. train:loss", "name", name), path=())
    yield from _regex(metric.regex)
    yield from _thresholds(metric)


def _regex(regex: str) -> Iterator[Problem]:
    """SageMaker does not document its regex dialect; what Python's `re` rejects is unlikely to be valid in any:
    assumption: training-metric-regex-dialect
    """
    if is_unresolved(regex):
        return
    limit = training_job_limit("AlgorithmSpecification.MetricDefinitions[].Regex")
    if not limit.holds(len(regex)):
        yield _metric_fault(
            f"the regular expression is too long, with {len(regex)} characters",
            "shorten it",
            "regex",
            regex,
            f"{limit.range} characters",
        )
        return
    try:
        compiled = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        yield _metric_fault(
            f"this is not a valid regular expression: {error}", "write e.g. `'loss': ([0-9.e+-]+)`", "regex", regex
        )
        return
    if compiled.groups == 0:
        yield _metric_fault(
            "the regular expression must have a group, which matches the number",
            "put parentheses around the part that matches the number, e.g. loss=([0-9.e+-]+)",
            "regex",
            regex,
        )


def _thresholds(metric: JobMetric) -> Iterator[Problem]:
    for attribute in ("above", "below"):
        value: object = getattr(metric, attribute)
        if value is None or is_unresolved(value):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            yield _metric_fault(
                "the threshold of an alarm must be a number", "write a number, or remove it", attribute, value
            )
            return
    above, below = metric.above, metric.below
    if above is not None and below is not None and not is_unresolved([above, below]) and above <= below:
        yield _metric_fault(
            "`above` is not greater than `below`, so that every number would ring an alarm",
            "write a number for `above` that is greater than `below`",
            "above",
            above,
            f"more than {below}",
        )


def _metric_fault(message: str, remedy: str, attribute: str, value: object, allowed: str = "") -> Problem:
    return Problem(code=_METRIC, message=message, remedy=remedy, path=(attribute,), value=value, allowed=allowed)
