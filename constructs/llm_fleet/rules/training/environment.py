"""What the rules see of a training runtime and its environments: vocabularies, attributes, forms of values.

Each is a plain value.

What the rules ask of a training runtime: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.

Of what form the values of a training runtime are: a Python user may slip, and a traceback tells nobody.

A fleet file's are always right: its models have read them.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form, check_attributes, check_form, wrong_names
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model_server import ServerKind


class EnvironmentKind(StrEnum):
    """What a training environment is made of."""

    NEURON = "neuron"
    """Pinned packages of one Neuron release, in a virtual environment."""
    WHEELS = "wheels"
    """Packages of the user's choice, in a virtual environment."""
    CONTAINER = "container"
    """A container image, run by Enroot and Pyxis."""
    SMP = "smp"
    """The image of the SageMaker model parallel library, likewise."""
    CONDA = "conda"
    """Archives of conda, in a prefix."""
    SERVER = "server"
    """The image of an inference server, run by Enroot and Pyxis: what its models are exported in."""

    @property
    def on_node(self) -> str:
        """The kind that nodes know: `venv`, `container` or `conda`."""
        known = {"neuron": "venv", "wheels": "venv", "smp": "container", "server": "container"}
        return known.get(self.value, self.value)


class EnvironmentUse(StrEnum):
    """What a training environment is for: a group has one of each at most."""

    JOBS = "jobs"
    """All stages of a run, but for its export."""
    EXPORT = "export"
    """The export of a run, which takes optimum-neuron, with the compiler of the server's image."""


class EnvironmentLike(Protocol):
    """An environment that jobs run in. What its kind has no use for is `None` or empty."""

    @property
    def kind(self) -> EnvironmentKind:
        """What it is made of."""
        ...

    @property
    def use(self) -> EnvironmentUse | None:
        """What it is for; `None` for the usual use of its kind."""
        ...

    @property
    def label(self) -> str | None:
        """The readable part of its name; `None` for one made of what is in it."""
        ...

    @property
    def groups(self) -> Sequence[str] | None:
        """Names of the compute groups that it is for; `None` for all that it fits."""
        ...

    @property
    def stack(self) -> str | None:
        """Of a Neuron release, which packages; `None` for the family's usual ones."""
        ...

    @property
    def release(self) -> str | None:
        """The Neuron release, or the version of the model parallel library; `None` for the usual one."""
        ...

    @property
    def python(self) -> str | None:
        """Version of Python, e.g. `3.10`; `None` for the usual one."""
        ...

    @property
    def packages(self) -> Sequence[str]:
        """`name` or `name==version`, each in the lock file."""
        ...

    @property
    def image(self) -> str | None:
        """The container image."""
        ...

    @property
    def program(self) -> str | None:
        """What makes a conda prefix."""
        ...

    @property
    def server_kind(self) -> ServerKind | None:
        """The inference server whose image it is."""
        ...


class CompileCacheLike(Protocol):
    """How long compiled graphs are kept."""

    @property
    def max_age_days(self) -> int:
        """Days that one may lie unused."""
        ...

    @property
    def max_gib(self) -> int | None:
        """What they may take together; `None` for no limit."""
        ...


class RuntimeLike(Protocol):
    """What jobs find on the nodes."""

    @property
    def environments(self) -> Sequence[EnvironmentLike]:
        """What jobs run in."""
        ...

    @property
    def folder(self) -> str | None:
        """Where all of it lies on shared storage; `None` for the usual place."""
        ...

    @property
    def compile_cache(self) -> CompileCacheLike | None:
        """How long compiled graphs are kept; `None` for the usual time, where there is anything to compile for."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of jobs, over those of the fabric."""
        ...

    @property
    def processes(self) -> Mapping[str, int]:
        """Processes of a job on each node, by group, over those of its instance type."""
        ...

    @property
    def hub_token_secret_arn(self) -> str | None:
        """The secret with a token of the Hugging Face Hub."""
        ...


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
