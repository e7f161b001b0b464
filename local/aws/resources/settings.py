"""Settings: the calls that follow creation for some properties, and that are made again when those change."""

import contextlib
from collections.abc import Mapping
from typing import Any

from local.aws.resource_provider import ResourceFailed
from local.aws.resources.caller import make_call, make_calls
from local.aws.resources.services import AlreadyThere, Gone
from local.aws.resources.situation import Situation, Stage
from local.aws.resources.spec import Setting


def apply_settings(at: Situation, changed: frozenset[str]) -> None:
    """Make every setting's calls that the given (or changed) properties require."""
    for setting in at.spec.settings:
        if not setting.triggers & changed or (setting.after_update and at.stage is Stage.CREATE):
            continue
        if setting.each:
            _apply_each(setting, at, changed)
            continue
        with _as_it_was(at):
            if setting.triggers & set(at.props):
                make_calls(setting.calls, at)
            else:
                _reset(setting, at)


def _as_it_was(at: Situation) -> contextlib.suppress:
    """Rolling back half an update, a deletion can miss and a creation can collide: both are correct."""
    return contextlib.suppress(*((AlreadyThere, Gone) if at.request.restoring else ()))


def undo_settings(at: Situation) -> None:
    """Take away what settings added item by item, as deletion needs it (e.g. a role's policies)."""
    for setting in at.spec.settings:
        if setting.each and setting.undo and not setting.after_update:
            for item in at.props.get(setting.each, ()):
                _undo(setting, at, item)


def _apply_each(setting: Setting, at: Situation, changed: frozenset[str]) -> None:
    wanted: list[Any] = at.props.get(setting.each, [])
    had: list[Any] = at.old.get(setting.each, []) if at.stage is Stage.UPDATE else []
    again = bool((setting.triggers - {setting.each}) & changed) and at.stage is Stage.UPDATE
    gone = [item for item in had if item not in wanted]
    if gone and setting.undo is None:
        # Source: emulation, moto has no operation that takes a member away
        raise ResourceFailed(f"{at.spec.type}: {setting.each} cannot lose members in place")
    for item in gone:
        _undo(setting, at, item)
    for item in wanted:
        if again or item not in had:
            with _as_it_was(at):
                make_calls(setting.calls, at, item=item)


def _undo(setting: Setting, at: Situation, item: Any) -> None:
    assert setting.undo
    with contextlib.suppress(Gone):  # what was to be taken away is not there
        make_call(setting.undo, at, item=item)


def _reset(setting: Setting, at: Situation) -> None:
    if setting.reset is None:
        names = ", ".join(sorted(setting.triggers))
        # Source: emulation, moto has no operation that takes the property away
        raise ResourceFailed(f"{at.spec.type}: {names} cannot be taken away in place here; give a value")
    make_call(setting.reset, at)


def tag_map(given: Any) -> dict[str, str]:
    """Return tags as a mapping, whichever way a template writes them."""
    if isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return {str(tag["Key"]): str(tag.get("Value", "")) for tag in given or ()}


def apply_tags(at: Situation) -> None:
    """Set the resource's own tags over the stack's, and remove those that are no longer given.

    The `aws:` ones are left out: only AWS itself may set them, and the emulated services reject some.
    """
    calls = at.spec.tags
    if calls is None:
        return
    wanted = own_tags(at.request.tags) | tag_map(at.props.get(calls.property))
    had = own_tags(at.request.old_tags or {}) | tag_map(at.old.get(calls.property)) if at.stage is Stage.UPDATE else {}
    gone = sorted(set(had) - set(wanted))
    if gone:
        make_call(calls.remove, at, tag_keys=gone)
    if wanted and wanted != had:
        make_call(calls.put, at, tag_map=wanted, tags=[{"Key": key, "Value": value} for key, value in wanted.items()])


def own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags without those that only AWS itself may set."""
    return {key: value for key, value in tags.items() if not key.startswith("aws:")}
