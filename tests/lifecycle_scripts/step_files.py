"""Step files for a throwaway node: like real ones, but with other actions."""

import textwrap

APPLY = "node.host.write(f'/made/{name}', 'as it should be')"
VERIFY = "check(node)"


def step(
    name: str,
    *,
    apply: str = APPLY,
    verify: str = VERIFY,
    needs: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
    more: str = "",
) -> str:
    """The text of a step's file.

    `apply` and `verify` are Python, with `node` and `name` at hand; by default the one makes the file `/made/<name>`
    and the other looks whether it is right. `more` are more arguments of `Step`.
    """
    return f"""\
import os, subprocess, time
from pathlib import Path
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.step import COMPUTE, CONTROLLER, EVERY_ROLE, LOGIN, Step
from llm_fleet_node.waiting import wait_for

name = {name!r}

def check(node):
    if node.host.read(f"/made/{{name}}") != "as it should be":
        fail(Code.COMMAND, f"/made/{{name}} is not as it should be")

def count(node, what):
    with open(node.host.path(f"/{{what}}.{{name}}"), "a") as file:
        file.write("x")
    return len(node.host.read(f"/{{what}}.{{name}}"))

def meet(node, others):
    # Only steps that run side by side ever meet.
    node.host.write(f"/here/{{name}}", "")
    wait_for("others", lambda: all(node.host.path(f"/here/{{one}}").exists() for one in others), seconds=10,
             code=Code.COMMAND)

def apply(node):
{textwrap.indent(apply, "    ")}

def verify(node):
{textwrap.indent(verify, "    ")}

STEP = Step(name=name, summary=f"{{name}} is made", apply=apply, verify=verify, needs={needs!r}, after={after!r},
            **{{"roles": EVERY_ROLE, {more}}})
"""
