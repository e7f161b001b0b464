"""Checks of the real service before a creation or change, which moto lacks; type tables list them."""

from llm_fleet_local.aws.execution_roles import without_role
from llm_fleet_local.aws.resource_provider import NothingChanged, ResourceFailed
from llm_fleet_local.aws.resources.caller import make_call
from llm_fleet_local.aws.resources.expressions import fill_text, search
from llm_fleet_local.aws.resources.situation import Situation, Stage
from llm_fleet_local.aws.resources.spec import Need


def reject_unmet(at: Situation, changed: frozenset[str]) -> None:
    """Raise `NothingChanged` for the first unmet need; an update checks only needs that read `changed` properties."""
    for need in at.spec.needs:
        if _requested(need, at, changed):
            _reject_unmet(need, at)


def reject_existing(at: Situation, found: object) -> None:
    """Raise `ResourceFailed` if the resource already exists: many emulated operations would overwrite it.

    Source: document
    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html:
    AlreadyExists, "the specified resource already existed before the execution of this handler"
    """
    if found is not None:
        raise ResourceFailed(f"{at.spec.type}: {at.ref} already exists")


def _requested(need: Need, at: Situation, changed: frozenset[str]) -> bool:
    if at.stage is Stage.UPDATE and not need.reads & changed:
        return False
    takes = need.call.takes if need.call else frozenset[str]()
    if takes and not takes & set(at.props):
        return False  # nothing to query
    return not need.when or bool(search(need.when, at.words()))


def _reject_unmet(need: Need, at: Situation) -> None:
    """Reject with the table's message (the table names the rule's source), or with the called service's.

    Source: assumption service-error-texts
    """
    try:
        with without_role():
            response = make_call(need.call, at) if need.call else {}
    except ResourceFailed as error:
        raise NothingChanged(f"{at.spec.type}: {error}") from error
    if need.called:
        at.extra[need.called] = response
    words = at.words(response=response)
    if need.that and not search(need.that, words):
        raise NothingChanged(f"{at.spec.type}: {fill_text(need.otherwise, words)}")
