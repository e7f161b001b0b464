"""Training runtimes of a fleet file: short forms, values, and errors at their keys."""

import shutil
from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.training.packages import plan
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.training_runtime import EnvironmentKind, NeuronEnvironment, ServerEnvironment
from tests.fleet_file.good_fleet import edited
from tests.fleet_file.good_parallelcluster import edited as parallelcluster
from tests.rules.training.runtimes import place

GOOD = Path(__file__).parents[1] / "data/good"


def with_training(training: str, *edits: str, downloads: str = "") -> str:
    return edited("kind: hyperpod\n", f"kind: hyperpod\n    training: {training}\n{downloads}", *edits)


def problems(text: str, directory: Path | None = None) -> list[tuple[str, str]]:
    with pytest.raises(FleetError) as caught:
        parse_fleet(text, directory=directory)
    return [(problem.code.value, problem.where) for problem in caught.value.problems]


def test_all_settings_are_read(tmp_path: Path) -> None:
    training = load_fleet(GOOD / "training.yaml").clusters["train"].training
    assert training is not None
    environments = {each.name: each for each in training.environments}
    nxd = environments["nxd"]
    assert isinstance(nxd, NeuronEnvironment)
    assert (nxd.stack, nxd.release, nxd.python, nxd.packages) == ("nxd", "2.28.1", "3.10", ("datasets",))
    assert environments["conda"].model_dump(include={"program"}) == {"program": "/opt/conda/bin/conda"}
    assert environments["cpu"].model_dump(include={"packages"}) == {"packages": ("transformers",)}


@pytest.mark.parametrize("written", ["smp", "{environments: {smp: smp}}", "{environments: {smp: {kind: smp}}}"])
def test_a_short_form_is_one_environment(written: str) -> None:
    training = parse_fleet(with_training(written, "ml.trn1.32xlarge", "ml.p5.48xlarge")).clusters["ml"].training
    assert training is not None
    assert [(each.name, each.kind) for each in training.environments] == [("smp", EnvironmentKind.SMP)]


def test_an_environment_with_a_server_image_is_for_exports() -> None:
    written = "{environments: {any: {kind: container, image: 'x/y:1'}, out: {kind: server, server: tgi}}}"
    training = parse_fleet(with_training(written)).clusters["ml"].training
    assert training is not None
    views = [plan(each, place()) for each in training.environments]
    assert [each.use for each in views] == ["jobs", "export"]
    assert training.environments[1] == ServerEnvironment(name="out", server_kind=ServerKind.TGI)


def test_environments_are_optional() -> None:
    training = parse_fleet(with_training("{}")).clusters["ml"].training
    assert training is not None
    assert not training.environments


@pytest.mark.parametrize(
    ("written", "code", "where"),
    [
        ("gpu", "LF113", ""),
        ("{environments: {a: {kind: nxd, release: 2.28}}}", "LF114", ".environments.a.kind"),
        ("{environments: {a: {kind: wheels, packages: [x], python: 3.11}}}", "LF113", ".environments.a.python"),
        ("{environments: {a: {kind: container, uri: x}}}", "LF110", ".environments.a.uri"),
        ("{environments: {a: {kind: smp, version: '2.5'}}}", "LF840", ".environments.a.version"),
        ("{environments: {A: {kind: container, image: 'x/y:1'}}}", "LF805", ".environments.A"),
        ("{environments: {a: {kind: server, server: vllm}}}", "LF114", ".environments.a.server"),
        ("{environments: {a: {kind: server, server: aws-vllm}}}", "LF823", ".environments.a.server"),
        ("{environments: {a: {kind: container, image: 'x/y:1', use: exports}}}", "LF114", ".environments.a.use"),
        ("{variables: {A: 1}}", "LF113", ".variables.A"),
        ("{compile_cache: {max_age: 30}}", "LF115", ".compile_cache.max_age"),
        ("{compile_cache: {max_age: 0 days}}", "LF820", ".compile_cache.max_age"),
        ("{hub_token_secret: hf_x}", "LF116", ".hub_token_secret"),
        ("{hf_token: hf_x}", "LF110", ".hf_token"),
        ("{folder: /home/x}", "LF801", ".folder"),
    ],
)
def test_errors_are_reported_at_their_keys(written: str, code: str, where: str) -> None:
    found = problems(
        with_training(written, "ml.trn1.32xlarge", "ml.p5.48xlarge") if "smp" in written else with_training(written)
    )
    assert (code, f"clusters.ml.training{where}") in found


def test_errors_in_the_lock_file_are_reported_once(tmp_path: Path) -> None:
    shutil.copy(GOOD / "training.lock.json", tmp_path / "lock.json")
    downloads = "    downloads: {lock: lock.json}\n"
    assert parse_fleet(with_training("neuron", downloads=downloads), directory=tmp_path)
    newer = "{environments: {a: {kind: neuron, release: '2.29.1'}}, folder: /x/y}"
    assert problems(with_training(newer, downloads=downloads), tmp_path) == [
        ("LF812", "clusters.ml.training.environments.a"),
        ("LF801", "clusters.ml.training.folder"),
    ]


def test_environments_with_packages_require_downloads() -> None:
    assert problems(with_training("neuron")) == [("LF813", "clusters.ml.training.environments.neuron")]


def test_a_training_runtime_requires_lifecycle_scripts() -> None:
    assert problems(with_training("{}\n    lifecycle: none")) == [("LF429", "clusters.ml.training")]


def test_queues_and_operating_system_of_a_parallelcluster_are_checked() -> None:
    storage = "    storage: {data: {type: FsxLustre, mount: /data, id: fs-0123456789abcdef0}}\n"
    own = "    training: {environments: {a: {kind: neuron, release: '2.29.1', groups: [trn1, head]}}}\n"
    text = parallelcluster("kind: parallelcluster\n", f"kind: parallelcluster\n{storage}{own}")
    found = problems(text)
    assert ("LF802", "clusters.pc.training.environments.a.groups[1]") in found
    assert ("LF810", "clusters.pc.training.environments.a.release") in found
    assert parse_fleet(text.replace(own, "    training: {}\n")).clusters["pc"].training is not None
