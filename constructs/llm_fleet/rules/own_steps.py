"""What a user changes in the steps of nodes: steps to skip, and steps of their own."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from llm_fleet.catalog.nodes import node_steps
from llm_fleet.rules.bare_text import check_not_bare
from llm_fleet.rules.circles import circle
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.node_protocols import OwnStepLike
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.step_form import check_step_form
from llm_fleet.rules.terms import NodeType


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
