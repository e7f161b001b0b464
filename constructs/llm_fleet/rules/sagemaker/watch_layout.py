"""How the watch tells one checkpoint from another, and a whole one from half of one."""

import re

from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.watch_protocols import CheckpointLayoutLike
from llm_fleet.rules.tokens import is_unresolved

_CODE = SageMakerCode.CHECKPOINT_LAYOUT
_EXAMPLE = r"checkpoint-(\d+)"


def check_layout(layout: CheckpointLayoutLike) -> list[Problem]:
    """Return what is wrong with a layout, by the attributes of `CheckpointLayoutLike`."""
    if layout.known is not None:
        return _check_known(layout.known)
    return [
        *_check_pattern(layout.pattern),
        *_check_file(layout.marker, "marker", "the file that ends a checkpoint lies in it", "trainer_state.json"),
        *_check_file(layout.pointer, "pointer", "the file that names the newest lies beside the folders", "latest"),
    ]


def _check_known(known: str) -> list[Problem]:
    layouts = training_watch_facts().layouts
    if is_unresolved(known) or known in layouts:
        return []
    return [
        Problem(
            code=_CODE,
            path=("known",),
            value=known,
            message="no layout of checkpoints has this name",
            allowed=", ".join(layouts),
            remedy=did_you_mean(str(known), layouts, otherwise="write one of these, or tell the pattern of a folder"),
        )
    ]


def _check_pattern(pattern: str | None) -> list[Problem]:
    if pattern is not None and is_unresolved(pattern):
        return []
    if not isinstance(pattern, str) or not pattern:
        fault = "the pattern of a checkpoint's folder is missing"
    else:
        compiled = _compiled(pattern)
        if isinstance(compiled, str):
            fault = f"the pattern does not compile: {compiled}"
        elif compiled.groups != 1:
            fault = f"the pattern has {compiled.groups} groups, and its one group must be the step"
        elif "/" in pattern:
            fault = "the pattern has a slash, and is of one folder right below the checkpoints' prefix"
        else:
            return []
    return [
        Problem(
            code=_CODE,
            path=("pattern",),
            value=pattern,
            message=fault,
            allowed="a regular expression of Python with one group, which holds the step",
            remedy=f"write e.g. {_EXAMPLE!r}; a group that only groups is written (?:…)",
        )
    ]


def _check_file(name: str | None, attribute: str, message: str, example: str) -> list[Problem]:
    if name is None or is_unresolved(name) or (name.strip("/") and not name.startswith("/") and ".." not in name):
        return []
    return [
        Problem(
            code=_CODE,
            path=(attribute,),
            value=name,
            message=message,
            allowed="a name without a leading slash",
            remedy=f"write e.g. {example!r}, or leave it out when there is none",
        )
    ]


def _compiled(pattern: str) -> re.Pattern[str] | str:
    """Return `pattern` compiled, or what is wrong with it."""
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        return str(error)
