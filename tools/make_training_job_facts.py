"""Writes catalog/data/training_job_limits.json: `python -m tools.make_training_job_facts` (`--check` only compares).

Every constraint that botocore's model puts on a field of CreateTrainingJob, apart from what llm-fleet does not offer,
and the instance types that it takes. A field that the service adds shows up here by itself, and a test fails until it
is either offered or put on the list.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore.session import get_session

TARGET = Path(__file__).parents[1] / "constructs/llm_fleet/catalog/data/training_job_limits.json"
WHAT = "limits of CreateTrainingJob, and its instance types"
CHECKED = "2026-11-22"
_NAMES = {"min": "minimum", "max": "maximum", "pattern": "pattern"}
"""The fields of `Limit`, by the names in botocore's models."""
NOT_OFFERED = {
    "AlgorithmSpecification.AlgorithmName": "algorithms of the Marketplace, which bring their own container",
    "AlgorithmSpecification.ContainerArguments": "an image of one's own starts by its own entry point",
    "AlgorithmSpecification.ContainerEntrypoint": "likewise",
    "AlgorithmSpecification.TrainingImageConfig": "registries outside ECR",
    "DebugHookConfig": "Debugger is closed to new customers since 2026-07-30",
    "DebugRuleConfigurations": "likewise",
    "ExperimentConfig": "Experiments of the old SDK; MLflow is its successor",
    "InputDataConfig[].DataSource.DatasetSource": "datasets of serverless customization",
    "InputDataConfig[].DataSource.S3DataSource.AttributeNames": "augmented manifests, of the built-in algorithms",
    "InputDataConfig[].DataSource.S3DataSource.HubAccessConfig": "JumpStart",
    "InputDataConfig[].DataSource.S3DataSource.InstanceGroupNames": "heterogeneous clusters",
    "InputDataConfig[].DataSource.S3DataSource.ModelAccessConfig": "JumpStart",
    "InputDataConfig[].RecordWrapperType": "RecordIO, of the built-in algorithms",
    "InputDataConfig[].ShuffleConfig": "Pipe mode, of the built-in algorithms",
    "ModelPackageConfig": "serverless customization",
    "ProfilerConfig": "Profiler ends on 2027-06-30",
    "ProfilerRuleConfigurations": "likewise",
    "ResourceConfig.InstanceGroups": "heterogeneous clusters",
    "ResourceConfig.InstancePlacementConfig": "UltraServers",
    "ResourceConfig.InstancePreferences": "a job whose instance type is chosen by the service",
    "ResourceConfig.SelectedInstanceCount": "an answer, not a request",
    "ResourceConfig.SelectedInstanceType": "likewise",
    "ServerlessJobConfig": "serverless customization",
    "SessionChainingConfig": "access control by the session's tags",
}


def constraints(shape: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path of each constrained field; `[]` is a list member, `{}` a map's value, `{key}` its key."""
    if path in NOT_OFFERED:
        return
    limits = {name: shape.metadata[key] for key, name in _NAMES.items() if key in shape.metadata}
    if path and limits:
        yield path, limits
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            yield from constraints(member, f"{path}.{name}" if path else name)
    elif shape.type_name == "list":
        yield from constraints(shape.member, f"{path}[]")
    elif shape.type_name == "map":
        yield from constraints(shape.key, f"{path}{{key}}")
        yield from constraints(shape.value, f"{path}{{}}")


def document() -> str:
    """Return the data file's text: one field a line, and one line of instance types for each family."""
    model: Any = get_session().get_service_model("sagemaker")
    request = model.operation_model("CreateTrainingJob").input_shape
    fields = ",\n".join(f"      {json.dumps(path)}: {json.dumps(limits)}" for path, limits in constraints(request))
    families: dict[str, list[str]] = {}
    for name in model.shape_for("TrainingInstanceType").enum:
        families.setdefault(name.split(".")[1], []).append(name.split(".")[2])
    types = ",\n".join(f"      {json.dumps(family)}: {json.dumps(sizes)}" for family, sizes in families.items())
    source = (
        "CreateTrainingJob and TrainingInstanceType of botocore's SageMaker model, by tools/make_training_job_facts.py"
    )
    return (
        f'{{\n  "what": {json.dumps(WHAT)},\n  "source": {json.dumps(source)},\n'
        f'  "checked": {json.dumps(CHECKED)},\n  "facts": {{\n'
        f'    "limits": {{\n{fields}\n    }},\n    "instances": {{\n{types}\n    }}\n  }}\n}}\n'
    )


def main(arguments: list[str]) -> int:
    """Write the data file, or with `--check` return 1 when it is not up to date."""
    text = document()
    if "--check" in arguments:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
