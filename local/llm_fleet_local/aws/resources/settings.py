"""Settings: calls after creation for some properties, which are repeated when these change."""

import contextlib
from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.caller import make_call, make_calls
from llm_fleet_local.aws.resources.services import AlreadyThere, Gone
from llm_fleet_local.aws.resources.situation import Situation, Stage
from llm_fleet_local.aws.resources.spec import Setting


def apply_settings(at: Situation, changed: frozenset[str]) -> None:
    """Make the calls of every setting that the given (or changed) properties require."""
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
    """Ignore missing and existing items when a partial update is rolled back: both are correct then."""
    return contextlib.suppress(*((AlreadyThere, Gone) if at.request.restoring else ()))


def undo_settings(at: Situation) -> None:
    """Remove items that settings added and that prevent deletion (e.g. a role's policies)."""
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
        # Source: emulation, moto has no operation that removes a member
        raise ResourceFailed(f"{at.spec.type}: {setting.each} members cannot be removed in place")
    for item in gone:
        _undo(setting, at, item)
    for item in wanted:
        if again or item not in had:
            with _as_it_was(at):
                make_calls(setting.calls, at, item=item)


def _undo(setting: Setting, at: Situation, item: Any) -> None:
    assert setting.undo
    with contextlib.suppress(Gone):  # already removed
        make_call(setting.undo, at, item=item)


def _reset(setting: Setting, at: Situation) -> None:
    if setting.reset is None:
        names = ", ".join(sorted(setting.triggers))
        # Source: emulation, moto has no operation that removes the property
        raise ResourceFailed(f"{at.spec.type}: the AWS emulator cannot remove {names} in place; set a value")
    make_call(setting.reset, at)


def tag_map(given: Any) -> dict[str, str]:
    """Return tags as a mapping, from a list or a mapping."""
    if isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return {str(tag["Key"]): str(tag.get("Value", "")) for tag in given or ()}


def apply_tags(at: Situation) -> None:
    """Set the stack's tags and the resource's own, which override them, and remove tags that are no longer given.

    Tags with `aws:` are omitted: only AWS can set them, and the emulated services reject some.
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
    """Return the tags without those that only AWS can set."""
    return {key: value for key, value in tags.items() if not key.startswith("aws:")}
