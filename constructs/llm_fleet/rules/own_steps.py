"""Rules of node steps: skipped steps, the user's own steps, and pinned packages."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from llm_fleet.catalog.neuron import DRIVER, NeuronPackage, host_packages, neuron_releases
from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.cluster import NodeGroup, NodeScripts, OwnStep


def circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a dependency cycle: each name needs the next, and the last the first; empty without a cycle.

    Names that are not keys need nothing. Of several cycles the first in the order of the keys is returned.
    """
    left = {name: [need for need in wanted if need in needs] for name, wanted in needs.items()}
    while free := [name for name, wanted in left.items() if not any(need in left for need in wanted)]:
        for name in free:
            del left[name]
    if not left:
        return []
    path = [next(iter(left))]
    while (following := next(need for need in left[path[-1]] if need in left)) not in path:
        path.append(following)
    return path[path.index(following) :]


def check_steps(scripts: NodeScripts, groups: Sequence[NodeGroup]) -> list[Problem]:
    """Return what is wrong with skipped and own steps for nodes of `groups`, without reading the scripts."""
    names = Counter(step.name for step in scripts.own_steps)
    own = [
        problem.under("own", "steps", step.name)
        for step in scripts.own_steps
        for problem in (*_form(step), *_name(step, names), *_needs(step, names))
    ]
    return [*_skipped(scripts), *_without_steps(scripts, groups), *own, *_circle(scripts)]


def check_own_scripts(scripts: NodeScripts, files: Mapping[str, bytes]) -> list[Problem]:
    """Return a problem for each script of an own step that a node could not run.

    `files`: the files in the folder of own scripts, by relative path.
    """
    return [problem.under("own", "steps", step.name) for step in scripts.own_steps for problem in _script(step, files)]


_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _form(step: OwnStep) -> Iterator[Problem]:
    """Return what is wrong with `step` by itself."""
    if not _NAME.fullmatch(step.name):
        repaired = re.sub(r"[^a-z0-9]+", "_", step.name.lower()).strip("_").lstrip("0123456789_")
        yield step.wrong(
            "name",
            Code.STEP_NAME,
            "this is not a valid name of a step",
            f"write `{repaired}`" if repaired else "write a word of lower-case letters",
            allowed="lower-case letters, digits and underscores; a letter first",
        )
    if not step.roles:
        yield step.wrong(
            "roles",
            Code.STEP_ROLE,
            f"no node would run the step {step.name!r}: it has no roles",
            "write at least one role",
            allowed=", ".join(NodeType),
        )
    yield from check_fields(step)


def _skipped(scripts: NodeScripts) -> list[Problem]:
    known = node_steps()
    return [
        scripts.wrong(
            ("skip_steps", index),
            Code.STEP_UNKNOWN,
            f"llm-fleet has no step {name!r}",
            did_you_mean(name, known, otherwise="write one of the allowed names"),
            allowed=", ".join(known),
        )
        for index, name in enumerate(scripts.skip_steps)
        if name not in known
    ]


def _without_steps(scripts: NodeScripts, groups: Sequence[NodeGroup]) -> list[Problem]:
    """Return a problem for each group without any step.

    A node without steps does not start, since it would have verified nothing.
    """
    if not scripts.skip_steps:
        return []
    shipped = [step for name, step in node_steps().items() if name not in scripts.skip_steps]
    return [
        scripts.wrong(
            "skip_steps",
            Code.STEP_ROLE,
            f"with these steps skipped, the {group.role.value} nodes of group {group.name!r} would run no step",
            "skip fewer, or run no scripts on these nodes",
        )
        for group in groups
        if group.hook is not None
        and not any(group.role in step.roles and group.hook in step.hooks for step in shipped)
        and not any(group.role in step.roles for step in scripts.own_steps)
    ]


def _name(step: OwnStep, names: Mapping[str, int]) -> Iterator[Problem]:
    name = step.name
    fault = (
        "llm-fleet has a step with this name"
        if name in node_steps()
        else f"{names[name]} steps have this name"
        if names[name] > 1
        else None
    )
    if fault is not None:
        yield step.wrong(
            "name",
            Code.STEP_NAME,
            f"the name of an own step must be unique, and {fault}",
            f"write e.g. `own_{name}`" if name in node_steps() else "give each step a different name",
        )


def _needs(step: OwnStep, own: Mapping[str, int]) -> Iterator[Problem]:
    known = [*node_steps(), *own]
    for index, need in enumerate(step.needs):
        if need not in known:
            yield step.wrong(
                ("needs", index),
                Code.STEP_UNKNOWN,
                f"the step {step.name!r} needs {need!r}, which does not exist",
                did_you_mean(need, known, otherwise="write one of the allowed names"),
                allowed=", ".join(known),
            )


def _circle(scripts: NodeScripts) -> Iterator[Problem]:
    """Steps of llm-fleet never need own steps, so that only own steps can form a cycle."""
    found = circle({step.name: step.needs for step in scripts.own_steps})
    if found:
        first = next(step for step in scripts.own_steps if step.name == found[0])
        yield first.wrong(
            "needs",
            Code.STEP_CIRCLE,
            f"these steps need each other in a cycle: {' -> '.join([*found, found[0]])}",
            "remove one of them from the `needs` of another",
        ).under("own", "steps", first.name)


def _script(step: OwnStep, files: Mapping[str, bytes]) -> Iterator[Problem]:
    script = step.script
    path = PurePosixPath(script)
    if path.is_absolute() or ".." in path.parts or not script:
        fault, remedy = "must be a path in the folder of own scripts", "write the path relative to that folder"
    elif script not in files:
        fault = "is not in the folder of own scripts"
        remedy = did_you_mean(script, files, otherwise="add it to the folder")
    elif b"\r\n" in files[script]:
        fault = "has Windows line endings, with which shells fail"
        remedy = f"run `sed -i 's/\\r$//' {script}`, and write `* text=auto eol=lf` to .gitattributes"
    elif not files[script].startswith(b"#!") and path.suffix not in (".sh", ".py"):
        fault, remedy = (
            "has no #! line, and its name ends neither in .sh nor in .py",
            "add a first line such as `#!/usr/bin/env bash`",
        )
    else:
        return
    yield step.wrong("script", Code.STEP_SCRIPT, f"the script {fault}", remedy)


def check_neuron_pinned(release: str, files: Sequence[dict[str, Any]] | None) -> list[Problem]:
    """Return a problem when the packages of Neuron `release` are not all among `files`, those of a valid lock file.

    `files` is `None` when nodes download nothing. The driver may be missing: images contain it. An unknown release
    passes, since another rule reports it.
    """
    if release not in neuron_releases():
        return []
    if files is None:
        return [
            Problem(
                code=Code.NEURON_NOT_PINNED,
                message="`downloads` is required to install Neuron packages on nodes",
                remedy="set `downloads` to their source, or let nodes only verify the packages in their image",
                value=release,
            )
        ]
    wanted = [package for package in host_packages(neuron_releases()[release]) if package.name != DRIVER]
    missing = [f"{package.name} {package.version}" for package in wanted if not _is_pinned(package, files)]
    if not missing:
        return []
    return [
        Problem(
            code=Code.NEURON_NOT_PINNED,
            message=f"the lock file does not contain {', '.join(missing)}, which nodes must install for Neuron "
            f"{release}",
            remedy=f"create the lock file again with `llm-fleet mirror lock` for Neuron {release}",
            value=release,
        )
    ]


def _is_pinned(package: NeuronPackage, files: Sequence[dict[str, Any]]) -> bool:
    """Compare as nodes do: `2.30.51.0-6a1f2c3d4` is the catalog's `2.30.51.0`."""
    return any(
        file["name"] == package.name
        and f"{file['version']}-".startswith((f"{package.version}-", f"{package.version}_"))
        for file in files
    )
