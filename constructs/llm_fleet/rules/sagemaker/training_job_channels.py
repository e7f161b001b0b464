"""The data of a training job: channels from S3 and from FSx for Lustre."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.training_job import training_job_limit
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.s3_place import check_s3_place
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_data import Channel, InputMode

_CODE = SageMakerCode.TRAINING_CHANNEL
_DIRECTORY = re.compile(r"/[A-Za-z0-9_-]{1,8}(/[^/]+)*/?")
"""The mount name in front (`FsxLustreConfig.MountName`), then a path on the file system."""


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


def check_channel_network(job: TrainingJobSpec, *, has_network: bool) -> list[Problem]:
    """Return each channel on a file system of a job that stands in no network."""
    if has_network:
        return []
    return [
        Problem(
            code=SageMakerCode.NETWORK_NEEDED,
            message="FSx for Lustre is reached through a network of yours, and this job stands in none",
            remedy="give the job a network, in the AZ of the file system, or take the data from S3",
            path=("channels", name),
            value=name,
        )
        for name, channel in job.channels.items()
        if channel.file_system_id is not None
    ]


def _number(job: TrainingJobSpec) -> Iterator[Problem]:
    limit = training_job_limit("InputDataConfig")
    if len(job.channels) > (limit.maximum or 0):
        yield Problem(
            code=_CODE,
            message=f"a job has {limit.maximum} channels at most, and these are {len(job.channels)}",
            remedy="put what belongs together under one prefix, and name that",
            path=("channels",),
            value=len(job.channels),
            allowed=f"up to {limit.maximum}",
        )


def _channel(name: str, channel: Channel) -> Iterator[Problem]:
    yield from _name(name)
    if (channel.uri is None) == (channel.file_system_id is None):
        yield _problem("a channel is either in S3 or on a file system", "tell one place", "uri", channel.uri)
    elif channel.uri is not None:
        yield from check_s3_place(channel.uri, _CODE, "uri", what="the data's place")
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
        yield replace(_problem("this is no name of a channel", "write e.g. train", "name", name, allowed), path=())


def _modes_of_s3(channel: Channel) -> Iterator[Problem]:
    if channel.compressed and channel.input_mode is not InputMode.PIPE:
        yield _problem(
            "SageMaker unpacks objects in Pipe mode only",
            "leave it out, and unpack them in the script",
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
            "a directory on FSx for Lustre begins with the file system's mount name",
            "write e.g. /fsx/data, where fsx is the mount name that `aws fsx describe-file-systems` tells",
            "directory",
            directory,
        )
    if channel.input_mode is not InputMode.FILE:
        yield _problem(
            "a file system is mounted: there is nothing to stream",
            "leave the mode out",
            "input_mode",
            channel.input_mode,
        )
    for attribute in ("sharded", "manifest", "compressed"):
        if getattr(channel, attribute):
            yield _problem("only a channel in S3 can be so", "leave it out", attribute, True)


def _content_type(content_type: str | None) -> Iterator[Problem]:
    limit = training_job_limit("InputDataConfig[].ContentType")
    if content_type is not None and not is_unresolved(content_type) and not limit.holds(len(content_type)):
        yield _problem(
            "this is longer than any content type", "write e.g. application/json", "content_type", content_type
        )


def _problem(message: str, remedy: str, attribute: str, value: object, allowed: str = "") -> Problem:
    return Problem(code=_CODE, message=message, remedy=remedy, path=(attribute,), value=value, allowed=allowed)
