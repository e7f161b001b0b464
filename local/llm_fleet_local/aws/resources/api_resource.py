"""Creates, reads, updates and deletes resources of the types in the tables.

Source: emulation, properties that tables and moto do not support are rejected by name
"""

import secrets
from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.resource_provider import Created, NothingChanged, ReplacementNeeded, Request, ResourceFailed
from llm_fleet_local.aws.resources.caller import Path, make_call
from llm_fleet_local.aws.resources.coercion import typed
from llm_fleet_local.aws.resources.expressions import fill_text, search
from llm_fleet_local.aws.resources.hooks import hook_for
from llm_fleet_local.aws.resources.kept import forgotten
from llm_fleet_local.aws.resources.needs import reject_existing, reject_unmet
from llm_fleet_local.aws.resources.schemas import value_problems, values_at
from llm_fleet_local.aws.resources.services import Gone, Services
from llm_fleet_local.aws.resources.settings import apply_settings, apply_tags, undo_settings
from llm_fleet_local.aws.resources.situation import Situation, Stage
from llm_fleet_local.aws.resources.spec import Read, TypeSpec

_NAME_PARTS = 3  # stack, logical id, random part: as in names of CloudFormation


class ApiResource:
    """One resource type, created through the emulated services."""

    def __init__(self, spec: TypeSpec, services: Services) -> None:
        """Manage resources of one type."""
        self._spec = spec
        self._services = services

    def create(self, request: Request) -> Created:
        """Create the resource. If that fails, delete what was created and raise `ResourceFailed`."""
        at = self._situation(request, Stage.CREATE)
        self._name(at)
        at.props = hook_for(self._spec.hook).prepare(at, at.props)
        self._reject_unserved(at, self._spec.covered)
        reject_unmet(at, frozenset(at.props))
        self._reject_existing(at)
        try:
            self._call_create(at)
            apply_settings(at, frozenset(at.props))
            apply_tags(at)
            return self._described(at)
        except Exception:
            if at.ref:
                self._undo(at)
            raise

    def update(self, request: Request) -> Created:
        """Change the resource in place. Raises `ReplacementNeeded`, before any change, if that is not possible."""
        at = self._situation(request, Stage.UPDATE)
        at.old = typed(self._spec.type, request.old_properties or {})
        self._reject_create_only(at)
        hook = hook_for(self._spec.hook)
        at.props, at.old = hook.prepare(at, at.props), hook.prepare(at, at.old)
        changed = frozenset(name for name in {*at.props, *at.old} if at.props.get(name) != at.old.get(name))
        reject_unmet(at, changed)
        at.found = self._read(at) or {}
        self._call_update(at, changed)
        apply_settings(at, changed)
        apply_tags(at)
        return self._described(at)

    def delete(self, request: Request) -> None:
        """Delete the resource; a missing one is no error."""
        at = self._situation(request, Stage.DELETE)
        at.props = hook_for(self._spec.hook).prepare(at, at.props)
        self._delete(at)

    def exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return whether the service has the resource."""
        empty = Request(
            resource_type=self._spec.type, logical_id="", properties={}, stack_name="", stack_id="", region=region,
            account=account, physical_id=physical_id,
        )  # fmt: skip
        return self._spec.read is None or self._read(self._situation(empty, Stage.DELETE)) is not None

    def _situation(self, request: Request, stage: Stage) -> Situation:
        properties = typed(self._spec.type, request.properties)
        if stage is not Stage.DELETE and (problems := value_problems(self._spec.type, properties)):
            # Source: model cfn-lint schemas/providers
            # Source: recorded localstack/localstack test_template_engine test_invalid_stack_deploy (2023-06-12)
            raise NothingChanged(f"{self._spec.type}: {'; '.join(problems)}")
        return Situation(
            spec=self._spec,
            services=self._services,
            request=request,
            stage=stage,
            props=properties,
            ref=request.physical_id,
            notes=[
                *([self._spec.note] if self._spec.note else []),
                *(f"{name}: {why}" for name, why in self._spec.recorded.items() if name in properties),
            ],
        )

    def _name(self, at: Situation) -> None:
        naming = self._spec.name
        if naming is None or naming.property in at.props:
            return
        tail = secrets.token_hex(6) if naming.lower else secrets.token_hex(6).upper()
        room = naming.longest - len(tail) - _NAME_PARTS + 1
        logical = at.request.logical_id[: room // 2]
        name = f"{at.request.stack_name[: room - len(logical)]}-{logical}-{tail}"
        at.props[naming.property] = name.lower() if naming.lower else name

    def _reject_unserved(self, at: Situation, covered: frozenset[str]) -> None:
        if any(call.by_name for call in self._spec.create):
            return  # creation by name rejects unsupported properties itself
        unserved = sorted(set(at.props) - covered - self._spec.for_deletion)
        if unserved:
            # Source: emulation, neither moto nor the tables support the property
            raise ResourceFailed(f"{self._spec.type}: the AWS emulator does not support {', '.join(unserved)}")

    def _reject_existing(self, at: Situation) -> None:
        """Reject an existing resource, if the type's id is in its properties; other ids are the service's."""
        if self._spec.read is None or "created" in self._spec.ref:
            return
        at.ref = search(self._spec.ref, at.words())
        reject_existing(at, self._read(at))
        at.ref = None

    def _call_create(self, at: Situation) -> None:
        by_name = {name: value for name, value in at.props.items() if name not in self._spec.covered}
        later = self._spec.for_deletion | self._spec.update_only
        for call in self._spec.create:
            given = by_name if call.by_name else None
            at.created |= make_call(call, at, by_name=given, may_drop=lambda path: path[0] in later) or {}
            # Read immediately, so that a later failure can delete the resource.
            at.ref = search(self._spec.ref, at.words())
        at.ref = search(self._spec.ref, at.words())
        if not isinstance(at.ref, str):
            response = {key: value for key, value in at.created.items() if key != "ResponseMetadata"}
            # Source: emulation, an error in a table or in moto
            raise ResourceFailed(f"{self._spec.type}: creation returned no id; response of the service: {response}")

    def _call_update(self, at: Situation, changed: frozenset[str]) -> None:
        elsewhere = frozenset[str]().union(*(one.triggers for one in self._spec.settings)) | set(self._spec.recorded)
        elsewhere |= {self._spec.tags.property} if self._spec.tags else frozenset()
        update = self._spec.update
        if not changed - elsewhere:
            return
        direct = update.reads if update else frozenset[str]()
        by_name = {name: value for name, value in at.props.items() if name not in elsewhere | direct}
        stuck = sorted(changed - elsewhere - direct - set(by_name))
        if update is None or stuck:
            self._cannot_update(stuck or sorted(changed - elsewhere))
        else:
            make_call(update, at, by_name=by_name, may_drop=lambda path: _same(at, path))

    def fixed(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Path]:
        """Return the paths of properties that differ and can be set only at creation."""
        old, new = typed(self._spec.type, before), typed(self._spec.type, after)
        return [path for path in self._spec.fixed_paths if values_at(new, path) != values_at(old, path)]

    def _reject_create_only(self, at: Situation) -> None:
        fixed = [".".join(path) for path in self.fixed(at.old, at.props)]
        if fixed:
            raise ReplacementNeeded(f"{self._spec.type}: {', '.join(fixed)} cannot be changed in place")

    def _cannot_update(self, names: list[str]) -> None:
        # Source: emulation, moto has no operation that changes the property
        raise NothingChanged(f"{self._spec.type}: the AWS emulator cannot change {', '.join(names)} in place")

    def _read(self, at: Situation) -> dict[str, Any] | None:
        if self._spec.read is None:
            return {}
        found = _read(self._spec.read, at)
        response = at.response
        if found is None:
            return None
        members: dict[str, Any] = {**found} if isinstance(found, dict) else {"value": found}
        members |= {name: _read(one, at) for name, one in self._spec.read.also}
        at.response = response  # the notes are derived from the resource's own response
        return members

    def _described(self, at: Situation) -> Created:
        found = self._read(at)
        if found is None:
            # Source: emulation, an error in a table or in moto
            raise ResourceFailed(f"{self._spec.type}: {at.ref} cannot be read back")
        at.found = found
        steady = self._spec.steady
        # Source: emulation, the table that has the text names the source of its rule
        if steady and not search(steady.that, at.words()):
            raise ResourceFailed(f"{self._spec.type}: {fill_text(steady.otherwise, at.words())}")
        at.notes += self._forgotten(at)
        words = at.words()
        values = {name: search(where, words) for name, where in self._spec.attributes.items()}
        return Created(
            physical_id=at.ref or "",
            attributes={name: value for name, value in values.items() if value is not None},
            level=self._spec.level,
            notes=tuple(at.notes),
        )

    def _forgotten(self, at: Situation) -> list[str]:
        read = self._spec.read
        if read is None:
            return []
        shape = self._services.output_shape(read.call.service or self._spec.service, read.call.call)
        names = forgotten(shape, at.props, at.response)
        return [f"{name}: accepted, but the emulated service does not return the given value" for name in names]

    def _delete(self, at: Situation) -> None:
        at.found = self._read(at) or {}
        if not at.found and self._spec.read is not None:
            return
        undo_settings(at)
        for call in self._spec.delete:
            try:
                response = make_call(call, at) or {}
            except Gone:
                return
            if reason := search("*.updateStatusReason | [0]", response):
                # Source: assumption ecs-refuses-what-is-in-use
                raise ResourceFailed(f"{self._spec.type}: {reason}")

    def _undo(self, at: Situation) -> None:
        try:
            self._delete(at)
        except ResourceFailed as error:
            at.notes.append(f"not deleted: {error}")


def _read(read: Read, at: Situation) -> Any:
    try:
        at.response = make_call(read.call, at) or {}
    except Gone:
        return None
    return search(fill_text(read.at, at.words()), at.response)


def _same(at: Situation, path: Path) -> bool:
    """Return whether a property, nested or not, is unchanged; the update need not support unchanged ones."""
    return _at(at.props, path) == _at(at.old, path)


def _at(value: Any, path: Path) -> Any:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):  # pyright: ignore[reportUnknownArgumentType]
            value = value[int(part)]  # pyright: ignore[reportUnknownVariableType]
        else:
            return None
    return value  # pyright: ignore[reportUnknownVariableType]
