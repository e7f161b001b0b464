"""The checks of a host at boot, its actions, and its report."""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from inference_host import devices
from inference_host import host as host_module
from inference_host.boot import boot
from inference_host.failures import Code
from tests.lifecycle_scripts.inference_host.throwaway_host import INSTANCE, SETTINGS, ThrowawayHost

Boot = Callable[..., dict[str, Any]]


@pytest.fixture
def booted(host: ThrowawayHost, monkeypatch: pytest.MonkeyPatch) -> Boot:
    """Boot the host with these settings; return its report."""
    monkeypatch.setattr(host_module, "PAUSE", 0.0)
    monkeypatch.setattr(devices, "SECONDS", 0.1)
    for name, value in host.environment().items():
        monkeypatch.setenv(name, value)

    def run(**settings: Any) -> dict[str, Any]:
        host.has("etc/llm-fleet/settings.json", json.dumps(SETTINGS | settings))
        host.has("etc/systemd/system/llm-fleet-model.service", UNIT.read_text())
        before = signal.getsignal(signal.SIGTERM)
        try:
            code = boot()
        finally:
            signal.signal(signal.SIGTERM, before)
        report = json.loads(host.text("var/lib/llm-fleet/host-report.json"))
        assert code == (0 if report["event"] == "host-ready" else 1)
        assert host.ready is (code == 0)
        return report

    return run


UNIT = host_module.Path(host_module.__file__).parent / "systemd/llm-fleet-model.service"
AS_IT_IS = "2.28.0.0"
TOO_NEW = "2.29.0.0"


def test_a_host_with_the_pinned_driver_installs_nothing_but_mountpoint(host: ThrowawayHost, booted: Boot):
    report = booted()
    assert (report["driver"], report["driver_installed"], report["devices"]) == (AS_IT_IS, False, 1)
    assert [call for call in host.calls() if call.startswith(("dnf", "modprobe"))] == [
        "dnf --assumeyes --quiet install mount-s3"
    ]


def test_a_newer_driver_is_removed_before_the_pinned_one_is_installed(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    report = booted(mount=None)
    assert (report["driver"], report["driver_of_ami"], report["driver_installed"]) == (AS_IT_IS, TOO_NEW, True)
    lean = "dnf --assumeyes --quiet --setopt=install_weak_deps=False"
    assert [call for call in host.calls() if not call.startswith("modinfo")] == [
        "dnf versionlock delete aws-neuronx-dkms",
        "modprobe --remove neuron",
        f"{lean} install --downloadonly aws-neuronx-dkms-{AS_IT_IS}",
        "rpm --erase --nodeps aws-neuronx-dkms",
        f"{lean} install aws-neuronx-dkms-{AS_IT_IS}",
        "dnf versionlock add aws-neuronx-dkms",
        "modprobe neuron",
    ]
    assert host.text("sys/module/neuron/version").strip() == AS_IT_IS
    assert not list((host.root / "etc/yum.repos.d").iterdir()), "no later download from there"


def test_the_next_boot_installs_nothing(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    booted(mount=None)
    (host.root / "calls").unlink()
    assert booted(mount=None)["driver_installed"] is False
    assert host.calls() == ["modinfo -F version neuron"]


def test_if_installation_is_off_both_versions_and_the_remedy_are_reported(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    report = booted(install_driver=False)
    assert report["code"] == "LFN110"
    assert TOO_NEW in report["message"]
    assert AS_IT_IS in report["message"]
    assert "install_driver" in report["remedy"]
    assert host.calls() == ["modinfo -F version neuron"], "nothing is changed on a rejected host"


def test_a_driver_is_installed_on_an_ami_without_one(host: ThrowawayHost, booted: Boot):
    host.boots_with(None)
    report = booted(mount=None)
    assert (report["driver_of_ami"], report["driver_installed"]) == (None, True)
    assert not [call for call in host.calls() if call.startswith("rpm")]
    assert "modprobe --remove neuron" not in host.calls()


def test_an_unavailable_driver_version_keeps_the_old_driver(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    report = booted(driver="2.27.4.0")
    assert report["code"] == "LFN111"
    assert "Unable to find a match" in report["message"]
    assert host.text("state/packaged").strip() == TOO_NEW
    assert sum("--downloadonly" in call for call in host.calls()) == 3, "the network may be late"
    assert not list((host.root / "etc/yum.repos.d").iterdir())


def test_an_unreachable_neuron_repository_is_reported(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    host.has("state/unreachable", "")
    report = booted()
    assert report["code"] == "LFN111"
    assert "yum.repos.neuron.amazonaws.com" in report["remedy"]


def test_the_packages_download_of_pci_ids_is_skipped(host: ThrowawayHost, booted: Boot):
    """Behind an egress filter it hangs until the timeout of the driver installation."""
    host.boots_with(TOO_NEW)
    hangs = "#!/bin/sh\necho no way to pci-ids.ucw.cz >&2\nexit 1\n"
    host.has("usr/sbin/update-pciids", hangs)
    (host.root / "usr/sbin/update-pciids").chmod(0o755)
    assert booted(mount=None)["event"] == "host-ready"
    assert host.text("usr/sbin/update-pciids") == hangs, "the file exists again"
    assert [path.name for path in (host.root / "usr/sbin").iterdir()] == ["update-pciids"]


def test_another_key_of_neurons_repository_is_reported(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    host.has("state/other-key", "")
    report = booted(mount=None)
    assert report["code"] == "LFN111"
    assert "GPG check FAILED" in report["message"]
    assert "Neuron's key changed" in report["remedy"]


def test_kernel_headers_are_installed_if_the_ami_has_none(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    next((host.root / "lib/modules").glob("*/build")).rmdir()
    booted(mount=None)
    assert any("install kernel-devel-" in call for call in host.calls())


def test_a_missing_versionlock_plugin_does_not_fail_the_host(host: ThrowawayHost, booted: Boot):
    host.boots_with(TOO_NEW)
    host.has("state/no-versionlock", "")
    assert booted(mount=None)["event"] == "host-ready"


def test_the_installed_version_is_verified(host: ThrowawayHost, booted: Boot, monkeypatch: pytest.MonkeyPatch):
    host.boots_with(TOO_NEW)
    monkeypatch.setenv("RECORDER_BUILDS", "2.27.4.0")
    report = booted()
    assert report["code"] == "LFN112"
    assert "2.27.4.0" in report["message"]


def test_a_driver_that_does_not_load(host: ThrowawayHost, booted: Boot):
    (host.root / "sys/module/neuron/version").unlink()
    host.has("state/does-not-load", "")
    report = booted()
    assert report["code"] == "LFN112"
    assert "Exec format error" in report["message"]


def test_a_driver_that_was_replaced_on_disk_is_loaded_again(host: ThrowawayHost, booted: Boot):
    host.has("sys/module/neuron/version", TOO_NEW)
    booted(mount=None)
    assert host.text("sys/module/neuron/version").strip() == AS_IT_IS


def test_the_package_release_is_not_part_of_the_version(host: ThrowawayHost, booted: Boot):
    host.boots_with("2.28.0.0-dkms")
    assert booted(mount=None)["driver_installed"] is False


@pytest.mark.parametrize(
    ("wanted", "there", "code"), [(6, 5, "LFN113"), (6, 7, "LFN113"), (6, 6, None), (None, 0, "LFN113")]
)
def test_the_number_of_devices_must_match_the_type(
    host: ThrowawayHost, booted: Boot, wanted: int | None, there: int, code: str | None
):
    host.boots_with(AS_IT_IS, devices=there)
    report = booted(devices=wanted, mount=None)
    assert report.get("code") == code
    if code:
        assert f"but /dev has {there}" in report["message"]


def test_the_model_is_mounted_read_only_cached_and_read(host: ThrowawayHost, booted: Boot):
    report = booted()
    assert report["model"] == "s3://my-models/tanuki-8b"
    assert report["model_file"] == "config.json"
    assert host.calls()[-3:] == [
        "systemctl restart llm-fleet-model.service",
        "umount --lazy /var/lib/llm-fleet/model",
        "mount-s3 <--read-only> <--allow-other> <--region> <us-west-2> <--cache> </var/cache/llm-fleet/model> "
        "<--max-cache-size> <20480> <--prefix> <tanuki-8b/> <my-models> </var/lib/llm-fleet/model>",
    ]


@pytest.mark.parametrize("prefix", ["my model", "it's a model", 'a "quoted" one', "back\\slash", "漢字/v1.0"])
def test_a_prefix_is_passed_to_mountpoint_unchanged(host: ThrowawayHost, booted: Boot, prefix: str):
    host.holds(f"my-models/{prefix}/a.safetensors", "x")
    assert booted(mount=SETTINGS["mount"] | {"prefix": prefix})["model_file"] == "a.safetensors"
    assert f"<--prefix> <{prefix}/> <my-models>" in host.calls()[-1]


def test_a_whole_bucket_without_a_cache(host: ThrowawayHost, booted: Boot):
    booted(mount=SETTINGS["mount"] | {"prefix": "", "cache_gib": 0})
    assert host.calls()[-1] == (
        "mount-s3 <--read-only> <--allow-other> <--region> <us-west-2> <my-models> </var/lib/llm-fleet/model>"
    )


def test_nothing_is_mounted_without_a_model_in_s3(host: ThrowawayHost, booted: Boot):
    booted(mount=None)
    assert not [call for call in host.calls() if "mount" in call]


@pytest.mark.parametrize(
    ("mount", "spoilt", "code", "said"),
    [
        ({"prefix": "tanuki-9b"}, "", "LFN122", "s3://my-models/tanuki-9b is mounted, but it has no files"),
        ({"bucket": "his-models"}, "", "LFN121", "bucket his-models does not exist"),
        ({}, "state/mounts-nothing", "LFN121", "nothing is mounted at /var/lib/llm-fleet/model"),
        ({}, "state/unreachable", "LFN120", "Cannot download repomd.xml"),
    ],
)
def test_a_missing_model(host: ThrowawayHost, booted: Boot, mount: dict[str, Any], spoilt: str, code: str, said: str):
    if spoilt:
        host.has(spoilt, "")
    host.has("state/journal", "Error: Failed to mount: bucket his-models does not exist")
    report = booted(mount=SETTINGS["mount"] | mount)
    assert report["code"] == code
    assert said in report["message"]


def test_an_unreadable_model(host: ThrowawayHost, booted: Boot, monkeypatch: pytest.MonkeyPatch):
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("inference_host.model._any_file", denied)
    report = booted()
    assert report["code"] == "LFN123"
    assert "Permission denied" in report["message"]


def test_the_agent_gets_its_cluster_and_blocks_the_hosts_credentials_for_tasks(host: ThrowawayHost, booted: Boot):
    booted()
    reported = dict(line.split("=", 1) for line in host.text("etc/ecs/ecs.config").splitlines())
    assert reported["ECS_CLUSTER"] == "chat"
    assert reported["ECS_AWSVPC_BLOCK_IMDS"] == "true"
    assert json.loads(reported["ECS_INSTANCE_ATTRIBUTES"]) == {"llm-fleet.neuron-driver": AS_IT_IS}


def test_an_agent_configuration_that_cannot_be_written(host: ThrowawayHost, booted: Boot):
    (host.root / "etc/ecs").rmdir()
    host.has("etc/ecs", "a file in the place of the folder")
    assert booted()["code"] == "LFN124"


def test_a_healthy_host_is_logged_and_signals_success(host: ThrowawayHost, booted: Boot):
    booted()
    (line,) = host.aws.reported()
    assert (line["event"], line["instance"], line["service"]) == ("host-ready", INSTANCE, "chat")
    signal, other = host.aws.signals()
    assert other == signal | {"LogicalResourceId": "FirstHost"}
    assert signal == {
        "Action": "SignalResource",
        "Version": "2010-05-15",
        "StackName": SETTINGS["stack"],
        "LogicalResourceId": "Group",
        "UniqueId": INSTANCE,
        "Status": "SUCCESS",
    }


def test_a_rejected_host_reports_the_reason_everywhere_and_fails_the_deployment(
    host: ThrowawayHost, booted: Boot, capfd: pytest.CaptureFixture[str]
):
    host.boots_with(TOO_NEW)
    report = booted(install_driver=False)
    assert host.aws.reported() == [report]
    assert json.dumps(report) in capfd.readouterr().out
    assert [signal["Status"] for signal in host.aws.signals()] == ["FAILURE", "FAILURE"]
    streams = [
        json.loads(body) for headers, body in host.aws.requests if "CreateLogStream" in headers.get("x-amz-target", "")
    ]
    assert streams == [{"logGroupName": "/llm-fleet/chat", "logStreamName": f"host/{INSTANCE}"}]


def test_an_earlier_success_does_not_count(host: ThrowawayHost, booted: Boot):
    booted()
    assert host.ready
    host.boots_with(TOO_NEW)
    booted(install_driver=False)
    assert not host.ready


@pytest.mark.parametrize(
    "answers",
    [
        {"logs": (400, '{"__type":"ResourceAlreadyExistsException"}')},
        {"cloudformation": (400, "Stack is in CREATE_COMPLETE state and cannot be signaled")},
        {"logs": (500, "out of order"), "cloudformation": (503, "out of order")},
    ],
)
def test_rejected_reports_do_not_change_the_result(
    host: ThrowawayHost, booted: Boot, answers: dict[str, tuple[int, str]]
):
    host.aws.answers.update(answers)
    assert booted()["event"] == "host-ready"
    tries = [headers["host"].split(".")[0] for headers, _ in host.aws.requests]
    expected = 3 if any(status >= 500 for status, _ in answers.values()) else 1
    assert tries.count("cloudformation") == expected * len(SETTINGS["signal_resources"])


def test_a_host_without_metadata_is_accepted(host: ThrowawayHost, booted: Boot, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLM_FLEET_METADATA", "http://127.0.0.1:9")
    assert booted()["instance"] is None
    assert host.aws.requests == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mount": null}', '{"mount": {"place": 1}}'])
def test_settings_that_cannot_be_read(host: ThrowawayHost, booted: Boot, text: str):
    host.has("etc/llm-fleet/settings.json", text)
    assert boot() == 1
    assert json.loads(host.text("var/lib/llm-fleet/host-report.json"))["code"] == "LFN102"
    assert not host.ready


def test_an_unexpected_error_prevents_the_start_of_the_agent(
    host: ThrowawayHost, booted: Boot, monkeypatch: pytest.MonkeyPatch
):
    def breaks(*_: object) -> None:
        raise ZeroDivisionError("unexpected error")

    monkeypatch.setattr("inference_host.boot._STEPS", (breaks,))
    report = booted()
    assert report["code"] == "LFN103"
    assert "unexpected error" in report["message"]


def test_no_two_failures_have_one_code():
    codes = [code.code for code in Code]
    assert len(set(codes)) == len(codes)
    assert all("LFN101" <= code <= "LFN129" for code in codes)


def test_a_timeout_is_reported_before_the_process_is_killed(
    host: ThrowawayHost, booted: Boot, monkeypatch: pytest.MonkeyPatch
):
    def hangs(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr("inference_host.boot._STEPS", (hangs,))
    report = booted()
    assert report["code"] == "LFN104"
    assert host.aws.signals()[0]["Status"] == "FAILURE"
