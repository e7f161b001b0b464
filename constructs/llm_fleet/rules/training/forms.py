"""Of what form the values of a training runtime are: a Python user may slip, and a traceback tells nobody.

A fleet file's are always right: its models have read them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form, check_attributes, check_form, wrong_names
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.terms import EnvironmentKind, EnvironmentUse


def _text(example: str) -> Form:
    return Form(wanted="a text", types=(str,), remedy=f"write {example}, or leave it out", optional=True)


def _several(example: str, *, optional: bool = False) -> Form:
    return Form(wanted="a list of texts", types=(list, tuple), remedy=f"write {example}", optional=optional)


def _choice(choices: type, example: str, *, optional: bool = True) -> Form:
    return Form(
        wanted=f"one of {choices.__name__}",
        types=(choices,),
        remedy=f"write {choices.__name__}.{example}",
        optional=optional,
        code=Code.NOT_A_CHOICE,
    )


_ENVIRONMENT: Mapping[str, Form] = {
    "kind": _choice(EnvironmentKind, "WHEELS", optional=False),
    "use": _choice(EnvironmentUse, "JOBS"),
    "label": _text("a short name in quotes"),
    "groups": _several("groups=['workers']", optional=True),
    "stack": _text("'nxd'"),
    "release": _text("'2.28.1'"),
    "python": _text("'3.11'"),
    "packages": _several("packages=['torch==2.13.0']"),
    "image": _text("'<registry>/<repository>:<tag>'"),
    "program": _text("a path in quotes"),
    "server_kind": _text("ServerKind.TGI"),
}
_RUNTIME: Mapping[str, Form] = {
    "environments": Form(
        wanted="a list of TrainingEnvironment", types=(list, tuple), remedy="write environments=[TrainingEnvironment.…]"
    ),
    "folder": _text("a path in quotes"),
    "compile_cache": Form(
        wanted="a CompileCache", has=("max_age_days", "max_gib"), remedy="write CompileCache(…)", optional=True
    ),
    "variables": Form(wanted="texts by name", types=(Mapping,), remedy="write variables={'NCCL_DEBUG': 'WARN'}"),
    "processes": Form(wanted="numbers by group", types=(Mapping,), remedy="write processes={'workers': 8}"),
    "hub_token_secret": Form(
        wanted="a secret", has=("secret_arn",), remedy="give a Secret of aws_secretsmanager", optional=True, secret=True
    ),
}
_CACHE: Mapping[str, Form] = {
    "max_age_days": Form(wanted="a whole number", types=(int,), remedy="write max_age_days=30, or leave it out"),
    "max_gib": Form(wanted="a whole number", types=(int,), remedy="write max_gib=500, or leave it out", optional=True),
}
_ITEM: Mapping[str, Form] = {
    "environments": Form(
        wanted="a TrainingEnvironment", has=tuple(_ENVIRONMENT), remedy="write TrainingEnvironment.neuron() or the like"
    ),
    "groups": Form(wanted="a text", types=(str,), remedy="write a group's name in quotes"),
    "packages": Form(wanted="a text", types=(str,), remedy="write a package's name in quotes"),
}
_NAME = Form(wanted="a text", types=(str,), remedy="write the name in quotes")


def check_environment_forms(environment: Any) -> list[Problem]:
    """Return a problem for each value of an environment that is of the wrong type."""
    return _check(environment, _ENVIRONMENT)


def check_runtime_forms(runtime: Any) -> list[Problem]:
    """Return a problem for each value of a runtime that is of the wrong type; of its environments, which are none."""
    found = _check(runtime, _RUNTIME)
    if runtime.compile_cache is not None and "compile_cache" not in wrong_names(found):
        found += [each.under("compile_cache") for each in check_attributes(runtime.compile_cache, _CACHE)]
    return found


def check_is_runtime(value: Any, *path: str) -> list[Problem]:
    """Return that what a cluster was given for its training runtime is none."""
    form = Form(wanted="a TrainingRuntime", has=tuple(_RUNTIME), remedy="write TrainingRuntime(…)", optional=True)
    return check_form(value, form, *path)


def _check(part: Any, forms: Mapping[str, Form]) -> list[Problem]:
    found = check_attributes(part, forms)
    wrong = wrong_names(found)
    return [*found, *(each for name in forms if name not in wrong for each in _within(getattr(part, name), name))]


def _within(value: Any, name: str) -> Iterator[Problem]:
    if name in _ITEM:
        for index, item in enumerate(value or ()):
            yield from check_form(item, _ITEM[name], name, index)
    if isinstance(value, Mapping):  # What the names stand for is judged by the cluster.
        keys: list[Any] = [*value]
        for key in keys:
            yield from check_form(key, _NAME, name, str(key))
