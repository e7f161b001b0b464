"""The edge between the Neuron driver of the host and the Neuron runtime in the image, and versions of both as text."""

import re

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import DRIVER, RUNTIME, NeuronEdge, compatibility, neuron_releases, parts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.model_server import ModelServer

_NAMES = {DRIVER: "driver", RUNTIME: "runtime"}


def runtime_of(server: ModelServer) -> str:
    """Return the version of `aws-neuronx-runtime-lib` in the server's image: as told, else the catalog's."""
    return server.runtime_version or model_servers()[server.kind].runtime


def driver_for(server: ModelServer) -> str:
    """Return the newest driver that goes with the server's image: what its hosts are pinned to.

    With a runtime that is a token, or no version, it is the driver for the catalog's image: the rules tell the rest.
    """
    runtime = runtime_of(server)
    if is_unresolved(runtime) or check_version(runtime):
        runtime = model_servers()[server.kind].runtime
    return max(_fitting(runtime), key=parts)


def check_driver(server: ModelServer, driver_version: str | None) -> list[Problem]:
    """Return why the host's driver `driver_version` and the server's image refuse each other."""
    if driver_version is None or is_unresolved(driver_version):
        return []
    problems = check_version(driver_version, "driver_version")
    runtime = runtime_of(server)
    if problems or is_unresolved(runtime) or check_version(runtime):
        return problems
    edge = _broken(driver=driver_version, runtime=runtime)
    if edge is None:
        return []
    fitting = _fitting(runtime)
    return [
        Problem(
            code=Code.DRIVER_EDGE,
            message=f"the host's Neuron driver {driver_version} and the runtime {runtime} of "
            f"{_image(server)} refuse each other: from {edge.from_version} on, a {_NAMES[edge.package]} needs "
            f"a {_NAMES[edge.other]} of {edge.at_least} or newer",
            remedy=f"write {max(fitting, key=parts)!r}, which is what it is when left out"
            + _other_servers(driver_version),
            path=("driver_version",),
            value=driver_version,
            allowed=", ".join(fitting),
        )
    ]


def _image(server: ModelServer) -> str:
    return server.image if server.image is not None else f"the image of {server.kind}"


def _other_servers(driver: str) -> str:
    """Name the servers that go with `driver`, and where they run: it need not be on the instance in question."""
    going = [
        f"{each.name!r} on {', '.join(each.families)}"
        for each in model_servers().values()
        if _broken(driver=driver, runtime=each.runtime) is None
    ]
    return f"; with this driver goes the server {' or '.join(going)}" if going else ""


def _fitting(runtime: str) -> list[str]:
    """Return the catalog's drivers that go with `runtime`, the newest first.

    None that is older than the driver released with it: nothing says that these refuse each other, and nobody tries.
    """
    releases = [each.host for each in neuron_releases().values()]
    with_it = [host[DRIVER] for host in releases if parts(host[RUNTIME]) <= parts(runtime)]
    oldest = max(with_it, key=parts, default="0")
    known = dict.fromkeys(host[DRIVER] for host in releases if parts(host[DRIVER]) >= parts(oldest))
    return [driver for driver in known if _broken(driver=driver, runtime=runtime) is None]


def _broken(*, driver: str, runtime: str) -> NeuronEdge | None:
    """Return what the two ask of each other and do not get; `None` when they go together."""
    have = {DRIVER: parts(driver), RUNTIME: parts(runtime)}
    for edge in compatibility():
        if have[edge.package] >= parts(edge.from_version) and have[edge.other] < parts(edge.at_least):
            return edge
    return None


_FORM = re.compile(r"\d+(\.\d+){3}")


def check_version(version: str, *path: str) -> list[Problem]:
    """Check that `version` is a full version of a Neuron package, e.g. `2.28.0.0`."""
    if _FORM.fullmatch(version):
        return []
    return [
        Problem(
            code=Code.VERSION_FORM,
            message="this is no version of a Neuron package",
            remedy="write all four numbers, e.g. '2.28.0.0'",
            path=path,
            value=version,
        )
    ]
