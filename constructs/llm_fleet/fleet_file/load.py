"""Reads a fleet file."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from llm_fleet.catalog.ec2_instances import use_instance_types
from llm_fleet.fleet_file.check_fleet import check_fleet
from llm_fleet.fleet_file.check_nodes import check_script_files
from llm_fleet.fleet_file.clusters import LOCAL_ACCOUNTING, is_parallelcluster, no_fleet_file
from llm_fleet.fleet_file.document import Document, LocatedProblem, YamlPath, parse, read_text
from llm_fleet.fleet_file.explain import explain, in_units, likely_kind
from llm_fleet.fleet_file.fleet import NO_NETWORK, Fleet
from llm_fleet.fleet_file.keys import in_keys
from llm_fleet.named_files.named_file import ACCOUNT_FILE
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import AnyCode, FleetError, PathPart, Problem, is_unresolved
from llm_fleet.spec import spec
from llm_fleet.spec.model import KIND, OWN_KEY, FleetModel, as_written, field_at, kinds_at, without_kinds
from llm_fleet.spec.unknown import TOKEN, UNKNOWN, Incomplete

_Change = Callable[[Any], Any]


def in_long_form(data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` with each shorthand expanded; values of another type are unchanged."""
    read = {**data, "network": None} if data.get("network") == NO_NETWORK else data
    read = _under(read, "clusters", _each(_cluster))
    return cast("dict[str, Any]", spec.in_long_form(Fleet, read))


def _cluster(cluster: Any) -> Any:
    if _is_parallelcluster(cluster):
        return cluster  # Its head node has no database of its own.
    return _under(cluster, "accounting", lambda written: None if written == LOCAL_ACCOUNTING else written)


def _is_parallelcluster(cluster: Any) -> bool:
    return isinstance(cluster, dict) and cast("dict[str, Any]", cluster).get("kind") == "parallelcluster"


def _under(holder: Any, key: str, change: _Change) -> Any:
    """Return `holder` with `change` applied to the value under `key`; unchanged without such a value."""
    if not isinstance(holder, dict) or key not in holder:
        return holder  # pyright: ignore[reportUnknownVariableType]
    given = cast("dict[str, Any]", holder)
    return {**given, key: change(given[key])}


def _each(change: _Change) -> _Change:
    """Return the change that applies `change` to each entry of a mapping."""

    def of_entries(entries: Any) -> Any:
        if not isinstance(entries, dict):
            return entries
        return {name: change(entry) for name, entry in cast("dict[str, Any]", entries).items()}

    return of_entries


_ROUNDS = 3
"""Without an invalid value one more error near it can appear; no case has needed a third round."""
_OFFERED = re.compile(r"write [`'](\w+)[`']")
_MEANT = {
    "accounting": ("endpoint", "secret"),
    "network": ("az",),
    "front": ("certificate", "allowed_from"),
    "server": ("runtime",),
}
"""By mapping: the keys that an unknown key in it may have been meant for."""
_ZONES = frozenset({"az", "azs", "vpc"})
_GROUND = ("clusters", "storage", "services")
"""Parts that a job depends on: if one is invalid, the job cannot be checked."""


class Draft:
    """A fleet file that may have errors: `UNKNOWN` replaces each invalid value, so that the rules can check the
    rest."""

    def __init__(self, document: Document) -> None:
        """Read `document` once."""
        self.problems = list(document.problems)
        """Errors in its structure."""
        self.fleet: Fleet | None = None
        """The fleet; `None` if even its structure is unknown."""
        self._data = document.data
        self._unknown: list[YamlPath] = [p.path for p in self.problems if p.code is not Code.DUPLICATE_KEY]
        data = document.data
        for _ in range(_ROUNDS):
            try:
                # As JSON, strict typing accepts lists for tuples and words for choices, but still no "4" for 4.
                data = in_long_form(data)
                self.fleet = Fleet.model_validate_json(json.dumps(data))
                break
            except ValidationError as error:
                refused = error.errors(include_url=False)
                self._report(refused)
                data = _fixed(data, refused)
        if self.fleet is not None:
            for path in sorted(self._unknown, key=_order):  # Items of a list in order.
                _forget(self.fleet, path)
            # Other keys of a rollout depend on its kind.
            self._unknown += [path[:-1] for path in self._unknown if path[-2:] == ("rollout", KIND)]
            if any(path[:1] == (key,) for path in self._unknown for key in _GROUND):
                _set(self.fleet, "jobs", {})

    def is_known(self, finding: Problem) -> bool:
        """Return whether `finding` is about values of the user, and not about unknown ones."""
        path = finding.path
        if is_unresolved(finding.value) or TOKEN in finding.message:
            return False
        return not any(path[: len(other)] == other or other[: len(path)] == path for other in self._unknown)

    def _report(self, refused: list[ErrorDetails]) -> None:
        reported = {problem.path for problem in self.problems}
        for error in refused:
            problem = explain(error)
            if problem.path not in reported:
                self.problems.append(problem)
                self._unknown.append(problem.path)
            elif problem.code is Code.MISSING_KEY:
                self._require(problem)
            if problem.code is Code.UNKNOWN_KEY:
                self._mean(problem)

    def _require(self, missing: Problem) -> None:
        """Give the required key that is written without a value the example of `missing`."""
        remedy = missing.remedy.replace("add it", "write a value", 1)
        self.problems = [
            replace(each, remedy=remedy) if each.path == missing.path and each.code is Code.EMPTY_VALUE else each
            for each in self.problems
        ]

    def _mean(self, unknown_key: Problem) -> None:
        """Replace the keys that `unknown_key` may have been meant for by `UNKNOWN`, unless they are set, too."""
        holder, offered = unknown_key.path[:-1], _OFFERED.search(unknown_key.remedy)
        written: Any = self._data
        for part in holder:
            written = written[part] if isinstance(part, int) or part in written else {}
        meant = [offered[1]] if offered else []
        if holder != ("network",) or _ZONES.isdisjoint(written):
            meant += _MEANT.get(str(holder[-1]), ()) if holder else ()
        self._unknown += [(*holder, key) for key in meant if key not in written]


def _fixed(data: dict[str, Any], errors: Iterable[ErrorDetails]) -> dict[str, Any]:
    """Return `data` with each invalid value removed or, if the key is required, replaced by an example.

    The result is never deployed: the caller also raises an error.
    """
    repaired = deepcopy(data)
    # Deepest and last first, so that removing a list item does not move items that still must be removed.
    for path in sorted({_path(error) for error in errors}, key=_depth_first, reverse=True):
        _fix(repaired, path)
    return repaired


def _path(error: ErrorDetails) -> tuple[PathPart, ...]:
    of_kind = error["type"].startswith("union_tag")
    return (*error["loc"], KIND) if of_kind else tuple(error["loc"])


def _depth_first(path: tuple[PathPart, ...]) -> tuple[int, tuple[tuple[bool, Any], ...]]:
    return len(path), _order(path)


def _fix(data: Any, path: tuple[PathPart, ...]) -> None:
    if not path:
        return
    holder = data
    for part in without_kinds(Fleet, path[:-1]):
        holder = holder[part]
    field = field_at(Fleet, path)
    kinds = kinds_at(Fleet, path[:-1])
    if field is None and kinds and path[-1] == KIND:
        holder[KIND] = likely_kind(holder, kinds)
    elif field is not None and field.is_required() and field.examples:
        holder[path[-1]] = deepcopy(field.examples[0])
    elif isinstance(holder, dict):
        holder.pop(path[-1], None)  # pyright: ignore[reportUnknownMemberType]
    else:
        del holder[path[-1]]


def _forget(fleet: Fleet, path: YamlPath) -> None:
    """Replace the value at `path`, in keys, and items of its list, by `UNKNOWN`."""
    holder: Any = fleet
    above: Any = None
    for part in path[:-1]:
        holder, above = _part(holder, part), (holder, part)
    if isinstance(holder, FleetModel):
        attribute = _attribute(holder, path[-1])
        if attribute is not None and attribute != KIND:
            repaired = getattr(holder, attribute)
            if not isinstance(repaired, FleetModel):
                _set(holder, attribute, UNKNOWN)
            elif holder is fleet or type(holder).model_fields[attribute].is_required():
                _set(holder, attribute, _all_unknown(repaired))
    elif isinstance(holder, tuple) and isinstance(above[0], FleetModel):
        items: list[Any] = [*cast("tuple[Any, ...]", holder)]
        if isinstance(path[-1], int):
            items.insert(path[-1], UNKNOWN)
        _set(above[0], _attribute(*above), tuple(items))
    elif isinstance(holder, dict) and isinstance(above[0], FleetModel):
        _set(above[0], _attribute(*above), Incomplete(cast("dict[str, Any]", holder)))


def _order(path: YamlPath) -> tuple[tuple[bool, Any], ...]:
    return tuple((isinstance(part, str), part) for part in path)


def _all_unknown(model: FleetModel) -> FleetModel:
    return model.model_copy(update={name: UNKNOWN for name in type(model).model_fields if name != KIND})


def _attribute(model: FleetModel, key: Any) -> str | None:
    return next((name for name, field in type(model).model_fields.items() if (field.alias or name) == key), None)


def _set(model: FleetModel, attribute: str | None, value: Any) -> None:
    if attribute is not None:
        object.__setattr__(model, attribute, value)


def _part(holder: Any, part: PathPart) -> Any:
    if isinstance(holder, FleetModel):
        attribute = _attribute(holder, part)
        return None if attribute is None else getattr(holder, attribute)
    if isinstance(holder, Mapping):
        return cast("Mapping[PathPart, Any]", holder).get(part)
    if not isinstance(holder, tuple):
        return None
    items = cast("tuple[Any, ...]", holder)
    if isinstance(part, int):
        return items[part] if part < len(items) else None
    return next((each for each in items if getattr(each, "name", None) == part), None)


def load_fleet(path: Path | str) -> Fleet:
    """Return the fleet; properties of EC2 instance types that an account reported are used before those of the catalog.

    Raises `FleetError` with all errors in it, each a `LocatedProblem` with path, value, line and remedy.
    """
    text = read_text(Path(path))
    account_file = Path(path).parent / ACCOUNT_FILE
    if account_file.is_file():
        from llm_fleet.named_files.account_file import read_account_file  # Most fleets have none.

        use_instance_types(read_account_file(account_file).instance_types)
    return parse_fleet(text, subject=str(path), directory=Path(path).parent)


def parse_fleet(text: str, *, subject: str = "fleet.yaml", directory: Path | None = None) -> Fleet:
    """Return the fleet in `text`; `subject` names it in errors. Raises `FleetError` as `load_fleet` does.

    `directory` is the base directory of relative paths. Default: the working directory, and no files are checked.
    """
    document = parse(text, subject=subject)
    if is_parallelcluster(document.data):
        problems = no_fleet_file(document.data, subject)
        raise FleetError([document.locate(problem) for problem in problems], subject=subject)
    draft = Draft(document)
    problems, fleet = list(draft.problems), draft.fleet
    if fleet is not None:
        fleet.set_directory(directory)
        checked = [*check_fleet(fleet), *_check_files(fleet, directory)]
        found = [_in_file(problem, fleet, document) for problem in checked if not is_unresolved(problem)]
        found = [_without_own_key(problem) for problem in found if draft.is_known(problem)]
        causes = [*problems, *found]
        problems += [each for each in found if not any(each is not cause and _follows(each, cause) for cause in causes)]
    located = [document.locate(problem) for problem in problems]
    if fleet is None or located:
        raise FleetError(sorted(located, key=_place), subject=subject)
    return fleet


# Values with errors of a rule, by path, and the other values that cannot be checked then.
_OF_REGION: frozenset[AnyCode] = frozenset(
    {
        Code.TRAINING_PLAN_ELSEWHERE,
        Code.ZONE_REGION,
        Code.PC_REGION,
        Code.FRONT_CERTIFICATE_REGION,
        SageMakerCode.TRAINING_IMAGE,
        SageMakerCode.ENDPOINT_IMAGE_REGION,
    }
)
_OF_PLACE: frozenset[AnyCode] = frozenset({Code.SUBNET_TOO_SMALL, Code.INTERFACE_QUOTA})
_OF_ZONES: frozenset[AnyCode] = _OF_PLACE | {
    Code.ZONE_WITHOUT_SUBNET,
    Code.MOUNT_ZONE,
    Code.TRAINING_PLAN_ZONE,
    Code.FRONT_ZONES,
}
_OF_HUB: frozenset[AnyCode] = frozenset(
    {SageMakerCode.ENDPOINT_ISOLATED, SageMakerCode.ENDPOINT_NUMBER, SageMakerCode.ENDPOINT_FIT, Code.CONTRADICTION}
)
_WRONG_ZONE = frozenset({Code.ZONE_ID, Code.ZONE_REGION, Code.ZONE_WITHOUT_SUBNET})


def _follows(finding: Problem, cause: Problem) -> bool:
    """Return whether `finding` only results from `cause`, so that one mistake is reported once; paths are in keys."""
    path, where = cause.path, finding.path
    if where[:1] == ("jobs",) and path[:1] == ("clusters",) and path[-1] in ("type", "types"):
        return finding.code in (Code.JOB_PARTITION, Code.JOB_BACKEND)  # Its cluster cannot have such instances.
    if cause.code is SageMakerCode.ENDPOINT_MODEL and where[:2] == path[:2] and finding.code in _OF_HUB:
        keys: dict[AnyCode, tuple[str, ...]] = {
            SageMakerCode.ENDPOINT_NUMBER: ("download_time",),
            Code.CONTRADICTION: ("model", "image", "rollout"),
        }
        return where[2] in keys.get(finding.code, where)
    if path == ("region",):
        return finding.code in _OF_REGION
    if path[:1] == ("network",) and (len(path) == 1 or path[1] in _ZONES) and cause.code not in _OF_PLACE:
        return finding.code in _OF_ZONES
    if cause.code is Code.ZONE_REGION and where == path:
        return finding.code is Code.ZONE_WITHOUT_SUBNET
    if cause.code in _WRONG_ZONE and path[-1:] == ("az",) and finding.code in _OF_ZONES - {Code.ZONE_WITHOUT_SUBNET}:
        # A file system decides for all clusters, a cluster for its groups.
        return path[0] == "storage" or where[: len(path) - 1] == path[:-1] or where[:1] == ("network",)
    return path[:1] == ("storage",) and finding.code in _OF_PLACE


def _check_files(fleet: Fleet, directory: Path | None) -> list[Problem]:
    if directory is None:
        return []
    return check_script_files(fleet)


def _place(problem: LocatedProblem) -> tuple[int, int]:
    return problem.line, problem.column


def _without_own_key(problem: Problem) -> Problem:
    return replace(problem, path=problem.path[:-1]) if problem.path[-1:] == (OWN_KEY,) else problem


def _in_file(problem: Problem, fleet: Fleet, document: Document) -> Problem:
    """Return `problem`, which a rule gave in attribute names, in the keys and units of the file."""
    path = _with_kind(problem.path, fleet)
    written = as_written(Fleet, path)
    return replace(in_units(in_keys(problem, path), path, document.value_at(written)), path=written)


def _with_kind(path: tuple[PathPart, ...], fleet: Fleet) -> tuple[PathPart, ...]:
    """Return `path` with the kind of the cluster or server that it leads into, which `as_written` needs."""
    match path:
        case ("clusters", name, "training", "environments", str(environment), *rest):
            cluster = fleet.clusters[str(name)]
            assert cluster.training is not None
            kind = next(each.kind for each in cluster.training.environments if each.name == environment)
            return ("clusters", name, cluster.kind, "training", "environments", environment, kind, *rest)
        case ("clusters", name, *rest):
            return ("clusters", name, fleet.clusters[str(name)].kind, *rest)
        case ("services", name, "server", *rest):
            return ("services", name, "server", fleet.services[str(name)].server.kind, *rest)
        case _:
            return path
