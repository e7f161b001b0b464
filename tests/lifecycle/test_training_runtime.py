"""The training part of `fleet.json`: environments, and names that change with the content."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from llm_fleet import (
    CompileCache,
    CondaEnvironment,
    ContainerEnvironment,
    Downloads,
    EnvironmentUse,
    FleetError,
    NeuronEnvironment,
    NeuronHost,
    ServerEnvironment,
    ServerKind,
    SmpEnvironment,
    TrainingRuntime,
    WheelsEnvironment,
)
from llm_fleet.catalog.model_server import model_servers
from llm_fleet.lifecycle.node_manifest import NodeManifest, render
from llm_fleet.lifecycle.training_runtime import image_repositories, render_training
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.cluster import ClusterSpec, NodeGroup, NodeMount
from llm_fleet.spec.training_runtime import AnyEnvironment
from tests.rules.training.runtimes import GPU, NXD, TRN1, group, place, wheel

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "lifecycle_scripts/fleet.schema.json").read_text())
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:v1"


def rendered(*environments: AnyEnvironment, **options: Any) -> dict[str, Any]:
    where = options.pop("where", place(files=NXD))
    made = render_training(TrainingRuntime(environments=environments, **options), where)
    assert made is not None
    return made


def name(environment: AnyEnvironment, **options: Any) -> str:
    (made,) = rendered(environment, **options)["environments"]
    return made["name"]


def test_a_neuron_environment_has_its_packages_in_the_versions_of_the_lock_file() -> None:
    (made,) = rendered(NeuronEnvironment())["environments"]
    assert (made["kind"], made["program"], made["groups"], made["image"]) == ("venv", "python3.10", ["workers"], None)
    assert {"name": "tokenizers", "version": "0.21.0"} in made["packages"]
    assert {"name": "torch-neuronx", "version": "2.8.0.2.12.22436+6ff5d9a4"} in made["packages"]
    assert len(made["packages"]) == len(NXD)
    assert made["name"].startswith("nxd-2.28.1-")


def test_the_image_of_a_container_has_the_form_that_enroot_imports() -> None:
    (made,) = rendered(ContainerEnvironment(image=IMAGE))["environments"]
    assert made["image"] == "docker://111122223333.dkr.ecr.us-west-2.amazonaws.com#training:v1"
    assert (made["kind"], made["program"], made["packages"]) == ("container", None, [])
    assert made["name"].startswith("training-v1-")
    (plain,) = rendered(ContainerEnvironment(image="pytorch/pytorch:2.5.1"))["environments"]
    assert plain["image"] == "docker://pytorch/pytorch:2.5.1"


def test_smp_is_the_image_of_the_region() -> None:
    (made,) = rendered(SmpEnvironment(release="2.4.1"), where=place(group("g", GPU)))["environments"]
    assert made["image"].startswith(
        "docker://658645717510.dkr.ecr.us-west-2.amazonaws.com#smdistributed-modelparallel:"
    )
    assert made["name"].startswith("smp-2.4.1-")


@pytest.mark.parametrize(
    ("kind", "region", "image"),
    [
        (
            ServerKind.TGI,
            "us-west-2",
            "763104351884.dkr.ecr.us-west-2.amazonaws.com#huggingface-pytorch-tgi-inference:",
        ),
        (ServerKind.TGI, "cn-north-1", "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn#huggingface-pytorch-tgi-"),
        (
            ServerKind.HUGGING_FACE_VLLM,
            "eu-west-1",
            "763104351884.dkr.ecr.eu-west-1.amazonaws.com#huggingface-vllm-inference-neuronx:",
        ),
    ],
)
def test_an_export_environment_has_the_image_of_the_server_in_the_region(
    kind: ServerKind, region: str, image: str
) -> None:
    jobs, export = rendered(
        ContainerEnvironment(image=IMAGE), ServerEnvironment(server_kind=kind), where=place(region=region)
    )["environments"]
    assert (jobs["use"], export["use"], export["kind"], export["groups"]) == (
        "jobs",
        "export",
        "container",
        ["workers"],
    )
    assert export["image"].startswith(f"docker://{image}")
    assert export["image"].endswith(model_servers()[kind].tag)
    assert export["name"].startswith(f"{kind.value}-")
    assert name(ContainerEnvironment(image=IMAGE, use=EnvironmentUse.EXPORT)) == jobs["name"], (
        "the same image, imported once"
    )


def test_nodes_can_pull_the_image_of_the_server() -> None:
    runtime = TrainingRuntime(environments=[ServerEnvironment(server_kind=ServerKind.TGI)])
    assert image_repositories(runtime, region="us-west-2", partition="aws") == (
        "arn:aws:ecr:us-west-2:763104351884:repository/huggingface-pytorch-tgi-inference",
    )


def test_a_conda_environment_is_created_from_archives() -> None:
    archive = {**wheel("python", "3.11.9"), "kind": "archive", "url": "https://conda.example/python-3.11.9-0.conda"}
    where = place(files=[archive])
    (made,) = rendered(CondaEnvironment(name="c", packages=["python"], program="/opt/conda/bin/conda"), where=where)[
        "environments"
    ]
    assert (made["kind"], made["program"]) == ("conda", "/opt/conda/bin/conda")
    assert made["packages"] == [{"name": "python", "version": "3.11.9"}]


def test_a_name_is_the_same_at_every_synth_and_on_every_group() -> None:
    assert name(NeuronEnvironment()) == name(NeuronEnvironment(groups=["workers"]))
    assert name(NeuronEnvironment()) == name(NeuronEnvironment(), where=place(files=list(reversed(NXD))))
    assert name(ContainerEnvironment(image=IMAGE)) == name(
        ContainerEnvironment(image=f"docker://{IMAGE.replace('/', '#', 1)}")
    )
    token = "${{Token[TOKEN.{}]}}.dkr.ecr.us-west-2.amazonaws.com/training:{}"
    assert name(ContainerEnvironment(image=token.format(1, "a"))) == name(
        ContainerEnvironment(image=token.format(2, "a"))
    )
    assert name(ContainerEnvironment(image=token.format(1, "a"))) != name(
        ContainerEnvironment(image=token.format(1, "b"))
    )


def changed(**change: Any) -> list[Any]:
    first, *rest = NXD
    return [{**first, **change}, *rest]


@pytest.mark.parametrize(
    "files",
    [changed(sha256="b" * 64), changed(version="2.23.6484.0+other"), [*NXD, wheel("more", "1")]],
    ids=["checksum", "build", "an unused wheel"],
)
def test_a_name_changes_with_all_that_determines_its_content(files: list[Any]) -> None:
    same = len(files) > len(NXD)
    assert (name(NeuronEnvironment(), where=place(files=files)) == name(NeuronEnvironment())) is same


def test_another_python_or_label_is_another_name() -> None:
    one = wheel("a", "1")
    where = place(files=[one])
    names = {
        name(WheelsEnvironment(name=label, packages=["a"], python=python), where=where)
        for label in ("x", "y")
        for python in ("3.11", "3.12")
    }
    assert len(names) == 4


def test_clusters_with_neuron_devices_have_a_compile_cache() -> None:
    assert rendered()["compile_cache"] == {
        "folder": "/fsx/llm-fleet/compile-cache",
        "max_age_days": 30,
        "max_gib": None,
    }
    cache = rendered(compile_cache=CompileCache(max_age_days=7, max_gib=100), folder="/fsx/t")["compile_cache"]
    assert cache == {"folder": "/fsx/t/compile-cache", "max_age_days": 7, "max_gib": 100}
    assert rendered(where=place(group("g", GPU)))["compile_cache"] is None


def manifest(tmp_path: Path, runtime: TrainingRuntime | None, **options: Any) -> NodeManifest:
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"schema_version": 1, "files": list(NXD)}))
    given: dict[str, Any] = {
        "groups": [
            NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"]),
            NodeGroup(name="workers", role=NodeType.COMPUTE, instance_types=[TRN1], partition="trn1"),
        ],
        "mounts": [NodeMount(kind="lustre", dns_name="fs-1.fsx", mount_path="/fsx", mount_name="abc", groups=None)],
    }
    spec = ClusterSpec(training=runtime, downloads=Downloads(lock=lock), neuron=NeuronHost(release="2.28.1"))
    return NodeManifest(fleet_name="f", region="us-west-2", spec=spec, **{**given, **options})


def test_nodes_accept_a_manifest_with_training(tmp_path: Path) -> None:
    runtime = TrainingRuntime(environments=[NeuronEnvironment()], variables={"NCCL_DEBUG": "INFO"})
    document = render(manifest(tmp_path, runtime), content_hash="a" * 64, scripts_sha256="b" * 64)
    jsonschema.validate(document, SCHEMA)  # pyright: ignore[reportUnknownMemberType]
    assert document["training"]["fabrics"][0]["processes"] == 32
    assert document["training"]["environments"][0]["groups"] == ["workers"]


def test_without_training_the_section_is_empty(tmp_path: Path) -> None:
    document = render(manifest(tmp_path, None), content_hash="a" * 64, scripts_sha256="b" * 64)
    assert document["training"] is None


def test_a_manifest_is_checked_when_it_is_created(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as caught:
        manifest(tmp_path, TrainingRuntime(), mounts=[])
    assert [(each.code.value, each.where) for each in caught.value.problems] == [("LF800", "training.folder")]
