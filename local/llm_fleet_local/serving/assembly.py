"""Finds the template with a service in the output of `cdk synth`."""

from pathlib import Path

from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.read_service import read_services
from llm_fleet_local.serving.template.reader import TemplateReader

_TEMPLATES = "**/*.template.json"


def template_of(path: Path, service: str | None) -> str:
    """Return the template at `path`, a template or a cloud assembly, that has the service. Raises `NotServable`."""
    if path.is_file():
        return path.read_text(encoding="utf-8")
    if not path.is_dir():
        raise NotServable(f"{path} does not exist; `cdk synth` creates it")
    found: dict[str, str] = {}
    there: list[str] = []
    for file in sorted(path.glob(_TEMPLATES)):
        body = file.read_text(encoding="utf-8")
        for item in read_services(TemplateReader(body)):
            there.append(item.name)
            if service in (None, item.name, item.logical_id, item.path):
                found[f"{item.name} ({file.name})"] = body
    if len(found) == 1:
        return found.popitem()[1]
    if not found:
        if service is None or not there:
            raise NotServable(f"there is no service behind a load balancer in {path}")
        raise NotServable(f"there is no service {service} in {path}; choose one of: {', '.join(there)}")
    raise NotServable(f"there are several services in {path}; choose one with --service: {', '.join(found)}")
