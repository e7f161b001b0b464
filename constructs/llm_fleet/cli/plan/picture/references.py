"""What a value of a template refers to, in its own stack and in others."""

import re
from collections.abc import Iterator
from typing import Any, cast

from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.resource import Resource

_IN_SUB = re.compile(r"\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}")
_UNKNOWN = "…"


class References:
    """Finds the resources behind `Ref`, `Fn::GetAtt` and outputs of other stacks, however deep in a value."""

    def __init__(self, assembly: Assembly) -> None:
        self._stacks = {stack.name: stack for stack in assembly.stacks}
        self._exports = {
            str(output["Export"]["Name"]): (stack.name, output["Value"])
            for stack in assembly.stacks
            for output in stack.outputs.values()
            if "Export" in output
        }

    def of(self, value: Any, stack: str) -> list[Resource]:
        """Return the resources that `value` refers to, each once, in the order in which it names them."""
        return list({found.key: found for found in self._each(value, stack)}.values())

    def texts(self, value: Any) -> Iterator[str]:
        """Give every text within `value`."""
        if isinstance(value, str):
            yield value
        for part in _parts(value):
            yield from self.texts(part)

    def told(self, value: Any) -> str:
        """Return `value` as one text, with `…` for what only a deployment knows."""
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            joined = known.get("Fn::Join")
            if isinstance(joined, list):
                glue, pieces = cast("tuple[str, list[Any]]", joined)
                return glue.join(self.told(piece) for piece in pieces)
            return _UNKNOWN
        return str(value)

    def _each(self, value: Any, stack: str) -> Iterator[Resource]:
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            if len(known) == 1 and (intrinsic := next(iter(known))) in ("Ref", "Fn::GetAtt", "Fn::Sub"):
                yield from self._named(intrinsic, known[intrinsic], stack)
            elif (output := self._output(known)) is not None:
                yield from self._each(output[1], output[0])
                return
        for part in _parts(value):
            yield from self._each(part, stack)

    def _named(self, intrinsic: str, told: Any, stack: str) -> Iterator[Resource]:
        names = [told] if isinstance(told, str) else list(told)[:1]
        if intrinsic == "Fn::Sub":
            names = _IN_SUB.findall(str(names[0]))
        resources = self._stacks[stack].resources
        # CloudFormation also takes "Id.Attribute" as one text.
        yield from (resources[name] for each in names if (name := str(each).partition(".")[0]) in resources)

    def _output(self, known: dict[str, Any]) -> tuple[str, Any] | None:
        """Return stack and value of the output that `known` takes from another stack, if it takes one."""
        wanted = known.get("Fn::GetStackOutput")
        if isinstance(wanted, dict):
            told = cast("dict[str, str]", wanted)
            stack = self._stacks.get(told["StackName"])
            output = stack.outputs.get(told["OutputName"]) if stack is not None else None
            return (told["StackName"], output["Value"]) if output is not None else None
        name = known.get("Fn::ImportValue")
        return self._exports.get(name) if isinstance(name, str) else None


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []
