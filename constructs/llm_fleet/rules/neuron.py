"""Which Neuron release goes with which instances."""

from collections.abc import Collection

from llm_fleet.catalog.neuron import NeuronRelease, neuron_releases, parts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_neuron_release(name: str, families: Collection[str]) -> list[Problem]:
    """Check that the release `name` exists and is made for the instance `families` of the cluster's groups.

    `families` holds those with Neuron devices, e.g. `trn1`; empty when the cluster has none.
    """
    problems = check_neuron_name(name)
    if problems or is_unresolved(name):
        return problems
    if not families:
        return [
            Problem(
                code=Code.NEURON_WITHOUT_DEVICES,
                message="no group of this cluster has instances with Neuron devices",
                remedy="leave the Neuron release out, or use instances such as ml.trn1.32xlarge",
                path=("release",),
                value=name,
            )
        ]
    release = neuron_releases()[name]
    return [_misfit(release, family) for family in sorted(set(families)) if family not in release.families]


def check_neuron_name(name: str) -> list[Problem]:
    """Check that there is a release called `name`."""
    return [] if is_unresolved(name) or name in neuron_releases() else [_unknown(name)]


def _unknown(name: str) -> Problem:
    return Problem(
        code=Code.NEURON_RELEASE_UNKNOWN,
        message="there is no such Neuron release in the catalog",
        remedy=_offer(name),
        path=("release",),
        value=name,
        allowed=", ".join(neuron_releases()),
    )


def _offer(name: str) -> str:
    """Offer the last repair of the minor release named, e.g. 2.28.1 for 2.28, else what is spelt most alike."""
    try:
        minor = parts(name.strip().removeprefix("v"))[:2]
    except ValueError:
        minor = ()
    same = [each.name for each in neuron_releases().values() if parts(each.name)[:2] == minor]
    if same:
        return f"write {same[0]!r}"
    return did_you_mean(name, neuron_releases(), otherwise="write one of the allowed")


def _misfit(release: NeuronRelease, family: str) -> Problem:
    fitting = [each.name for each in neuron_releases().values() if family in each.families]
    return Problem(
        code=Code.NEURON_RELEASE_FAMILY,
        message=f"Neuron {release.name} is not made for {family}",
        remedy=f"take {_nearest_release(release.name, fitting)!r}" if fitting else f"leave {family} out",
        path=("release",),
        value=release.name,
        allowed=", ".join(fitting),
    )


def _nearest_release(name: str, fitting: list[str]) -> str:
    """Return the oldest of `fitting` that is newer than `name`, else the newest: forward is safer than back."""
    newer = [each for each in fitting if parts(each) > parts(name)]
    return min(newer, key=parts) if newer else max(fitting, key=parts)
