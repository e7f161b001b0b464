"""Which scripts the nodes run when they start, and where these lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_s3 as s3

from llm_fleet.catalog.data_file import load
from llm_fleet.lifecycle.node_setup import OwnStep
from llm_fleet.rules.terms import LifecycleHook, NodeReports
from llm_fleet.spec.instance_group import Lifecycle

_LEGACY_FILE = "provisioning_parameters.json"
"""Where HyperPod looks for it: beside the entry point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleScripts:
    """Which scripts the nodes run when they start, and where these lie.

    `LifecycleScripts()` is the default of a cluster: the scripts that this library ships, uploaded with their
    manifest into a bucket made for it, run by `OnInitComplete`.
    """

    hook: LifecycleHook = LifecycleHook.ON_INIT_COMPLETE
    """When they run, for groups that do not say it themselves.

    `ON_INIT_COMPLETE`: after the AMI has configured Slurm, Docker, Enroot, Pyxis and accounting from the API's values;
    no node needs the internet for it. `ON_CREATE`: in place of the AMI's configuration: the script configures and
    starts what the AMI would have.
    """
    skip_steps: Sequence[str] = ()
    """Names of shipped steps that no node takes. Default: none are skipped."""
    own_steps: Sequence[OwnStep] = ()
    """Steps of your own among the shipped ones. Default: none."""
    own_scripts: Path | None = None
    """The folder with the scripts of `own_steps`, uploaded beside the shipped ones. Default: none."""
    reports: NodeReports = NodeReports.ALL
    """What a node leaves behind of its start.

    Default: report and log in the scripts' bucket, below `reports/`; a metric and an event when it failed. In a
    network without internet an event needs the interface endpoint `events`."""
    bucket: s3.IBucket | None = None
    """A bucket whose name begins with `sagemaker-`. Default: one is made, and retained with its old bundles."""
    scripts: Path | None = None
    """A folder to upload in place of the shipped one, with the same entry points. Default: the shipped scripts."""
    prefix: str | None = None
    """Where in `bucket` your own scripts lie already; nothing is uploaded then. Default: a bundle is uploaded."""
    entry_point: str | None = None
    """File name of the script, 128 characters at most.

    Default: `on_init_complete.sh` or `on_create.sh`, by `hook`: the entry points of the shipped scripts."""

    provisioning_parameters: bool | None = None
    """Whether the scripts bring `provisioning_parameters.json`, the legacy way to tell HyperPod of Slurm's groups.

    HyperPod refuses it together with the API's values, so a cluster with it leaves them out, as well as its mounts; it
    needs `OnCreate` in every group and `node_provisioning_mode=None`. Default: whether `scripts` holds the file.
    """

    @property
    def legacy(self) -> bool:
        """Whether the legacy file configures Slurm."""
        if self.provisioning_parameters is not None:
            return self.provisioning_parameters
        return self.scripts is not None and (self.scripts / _LEGACY_FILE).is_file()

    @property
    def when(self) -> Lifecycle:
        """When nodes run them, as groups have it."""
        return Lifecycle(self.hook.value)

    def file_name(self) -> str:
        """Return the script's file name."""
        if self.entry_point is not None:
            return self.entry_point
        return str(load("lifecycle")["entry_points"][self.hook.value])
