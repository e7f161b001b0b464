"""Steps of nodes: those to skip, those of the user's own, and the packages that they may install."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.neuron import DRIVER, NeuronPackage, host_packages, neuron_releases
from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_users import OwnStepLike, check_not_bare
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.values import check_number, did_you_mean


def circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return names each of which needs the next, and the last the first; empty when there are none.

    Names that are no keys need nothing. Of several circles the first in the order of the keys is returned.
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


_NAME = re.compile(r"[a-z][a-z0-9_]*")


def check_step_form(step: OwnStepLike) -> Iterator[Problem]:
    """Return what is wrong with `step` whatever else there is."""
    if not _NAME.fullmatch(step.name):
        mended = re.sub(r"[^a-z0-9]+", "_", step.name.lower()).strip("_").lstrip("0123456789_")
        yield Problem(
            code=Code.STEP_NAME,
            message="this is no name of a step",
            remedy=f"write {mended!r}" if mended else "write a word of lower-case letters",
            path=("name",),
            value=step.name,
            allowed="lower-case letters, digits and underscores; a letter first",
        )
    if not step.roles:
        yield Problem(
            code=Code.STEP_ROLE,
            message=f"no node takes the step {step.name!r}, since it names no role",
            remedy="name one role or more",
            path=("roles",),
            value=[],
            allowed=", ".join(NodeType),
        )
    facts = load("lifecycle")
    yield from check_number(
        step.timeout_seconds,
        Limit(minimum=1, maximum=facts["own_step_max_seconds"]),
        Code.STEP_LIMIT,
        "timeout_seconds",
        what="the seconds that an attempt may take",
    )
    yield from check_number(
        step.retries,
        Limit(minimum=0, maximum=facts["own_step_max_retries"]),
        Code.STEP_LIMIT,
        "retries",
        what="the number of times that it is attempted anew",
    )


def check_skipped_steps(skip: Sequence[str]) -> list[Problem]:
    """Return which names of `skip` are no steps that llm-fleet ships, each under its index."""
    known = node_steps()
    return check_not_bare(skip, Code.STEP_UNKNOWN) or [
        Problem(
            code=Code.STEP_UNKNOWN,
            message=f"llm-fleet ships no step {name!r}",
            remedy=did_you_mean(name, known, otherwise="take a name from those allowed"),
            path=(index,),
            value=name,
            allowed=", ".join(known),
        )
        for index, name in enumerate(skip)
        if name not in known
    ]


def check_own_steps(steps: Sequence[OwnStepLike]) -> list[Problem]:
    """Return what is wrong with a user's own `steps`, each under its index, whatever is in their scripts."""
    names = Counter(step.name for step in steps)
    problems: list[Problem] = []
    for index, step in enumerate(steps):
        found = [*check_step_form(step), *_name(step.name, names), *_needs(step, names)]
        problems += [problem.under(index) for problem in found]
    return [*problems, *_circle(steps)]


def check_own_scripts(steps: Sequence[OwnStepLike], scripts: Mapping[str, bytes] | None) -> list[Problem]:
    """Return which scripts of `steps` a node could not run, each step under its index.

    `scripts`: the files of the folder of own scripts, by their paths below it; `None` when no folder is given.
    """
    return [problem.under(index) for index, step in enumerate(steps) for problem in _script(step.script, scripts)]


def check_roles_have_steps(
    skip: Sequence[str], own: Sequence[OwnStepLike], *, nodes: Sequence[tuple[str, NodeType, str]]
) -> list[Problem]:
    """Return which groups are left without any step; `nodes` has name, role and hook of each group that runs scripts.

    A node that takes no step refuses to start, since it could not say what it has verified.
    """
    if not skip:
        return []
    shipped = [step for name, step in node_steps().items() if name not in skip]
    return [
        Problem(
            code=Code.STEP_ROLE,
            message=f"with these skipped, the {role.value} nodes of group {group!r} take no step at all",
            remedy="skip fewer, or run no scripts on these nodes",
            value=list(skip),
        )
        for group, role, hook in nodes
        if not any(role in step.roles and hook in step.hooks for step in shipped)
        and not any(role in step.roles for step in own)
    ]


def _name(name: str, names: Mapping[str, int]) -> Iterator[Problem]:
    fault = (
        "llm-fleet ships a step of this name"
        if name in node_steps()
        else f"{names[name]} steps are called so"
        if names[name] > 1
        else None
    )
    if fault is not None:
        yield Problem(
            code=Code.STEP_NAME,
            message=f"a step of one's own needs a name of its own, and {fault}",
            remedy=f"write e.g. 'own_{name}'" if name in node_steps() else "give each a name of its own",
            path=("name",),
            value=name,
        )


def _needs(step: OwnStepLike, own: Mapping[str, int]) -> Iterator[Problem]:
    bare = check_not_bare(step.needs, Code.STEP_UNKNOWN, "needs")
    yield from bare
    if bare:
        return
    known = [*node_steps(), *own]
    for index, need in enumerate(step.needs):
        if need not in known:
            yield Problem(
                code=Code.STEP_UNKNOWN,
                message=f"the step {step.name!r} needs {need!r}, and there is no such step",
                remedy=did_you_mean(need, known, otherwise="take a name from those allowed"),
                path=("needs", index),
                value=need,
                allowed=", ".join(known),
            )


def _circle(steps: Sequence[OwnStepLike]) -> Iterator[Problem]:
    """No shipped step needs one of the user's own, so only these can make a circle."""
    found = circle({step.name: step.needs for step in steps})
    if found:
        index = next(index for index, step in enumerate(steps) if step.name == found[0])
        yield Problem(
            code=Code.STEP_CIRCLE,
            message=f"each of these waits for the next: {' -> '.join([*found, found[0]])}",
            remedy="take one of them out of the `needs` of another",
            path=(index, "needs"),
            value=list(steps[index].needs),
        )


def _script(script: str, scripts: Mapping[str, bytes] | None) -> Iterator[Problem]:
    path = PurePosixPath(script)
    if path.is_absolute() or ".." in path.parts or not script:
        fault, remedy = "is no path below the folder of own scripts", "write the file's name in that folder"
    elif scripts is None:
        fault, remedy = "has no folder to lie in", "give the folder that holds the scripts of your own steps"
    elif script not in scripts:
        fault = "is not in the folder of own scripts"
        remedy = did_you_mean(script, scripts, otherwise="put it there")
    elif b"\r\n" in scripts[script]:
        fault = "has Windows line ends, on which shells fail"
        remedy = f"sed -i 's/\\r$//' {script}, and `* text=auto eol=lf` in .gitattributes"
    elif not scripts[script].startswith(b"#!") and path.suffix not in (".sh", ".py"):
        fault, remedy = "has no #! line and ends neither in .sh nor in .py", "begin it with e.g. `#!/usr/bin/env bash`"
    else:
        return
    yield Problem(code=Code.STEP_SCRIPT, message=f"the script {fault}", remedy=remedy, path=("script",), value=script)


def check_neuron_pinned(release: str, files: Sequence[dict[str, Any]] | None) -> list[Problem]:
    """Return a problem when the packages of Neuron `release` are not all among `files`, those of a right lock file.

    `files` is `None` when nodes fetch nothing. The driver may be missing: images bring it. An unknown release passes,
    since that is told elsewhere.
    """
    if release not in neuron_releases():
        return []
    if files is None:
        return [
            Problem(
                code=Code.NEURON_NOT_PINNED,
                message="nodes are to install Neuron's packages, and fetch nothing",
                remedy="say with `downloads` where they come from, or have nodes only verify what their image carries",
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
            message=f"nodes are to install Neuron {release}, and the lock file has no {', '.join(missing)}",
            remedy=f"make it anew with `llm-fleet mirror lock` for Neuron {release}",
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
