"""The lifecycle script of a notebook instance: one text, with all that it lays down in it."""

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.lifecycle.packed_files import packed
from llm_fleet.lifecycle.script_folder import default_folder, read_folder
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.notebook_script import check_script_size

_FOLDER = "notebook_instance"
_SCRIPT = "lay_down.sh"
_HOME = "opt/llm-fleet"
_PROGRAMS = "usr/local/bin/"


def notebook_settings(*, pins: Sequence[str], bucket: str, idle_minutes: int | None) -> dict[str, Any]:
    """Return what the instance is told. `bucket` may be a token. No minutes at all are told as 0: the CDK leaves out
    what is `None`.
    """
    return {"pins": list(pins), "bucket": bucket, "idle_minutes": idle_minutes or 0}


def lifecycle_script(scope: Construct, settings: Mapping[str, Any], *, files: Mapping[str, str]) -> str:
    """Return what SageMaker runs at each start. `settings` may hold tokens.

    `files`: what else is laid down, by absolute paths; programs are those in `/usr/local/bin`. Without tokens.
    """
    script = (default_folder() / _FOLDER / _SCRIPT).read_text(encoding="utf-8")
    told = cdk.Stack.of(scope).to_json_string(dict(settings))
    return script.replace("@FILES@", _packed(files)).replace("@SETTINGS@", told)


def check_lifecycle_script(script: str) -> list[Problem]:
    """Return whether the script is longer than SageMaker takes."""
    facts = notebook_facts()
    return check_script_size(script, facts.script_characters_max, SageMakerCode.NOTEBOOK_SCRIPT)


def _packed(files: Mapping[str, str]) -> str:
    ours = {
        f"{_HOME}/{_FOLDER}/{file.path}": file.data
        for file in read_folder(default_folder() / _FOLDER)
        if file.path != _SCRIPT
    }
    theirs = {path.lstrip("/"): text.encode() for path, text in files.items()}
    programs = frozenset(path for path in theirs if path.startswith(_PROGRAMS))
    return packed({**ours, **theirs}, executable=programs)
