"""What nodes do of their own when they start, and where the scripts for it lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_s3 as s3

from llm_fleet.lifecycle.node_setup import OwnStep
from llm_fleet.rules.terms import NodeReports


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScripts:
    """The scripts that nodes run once ParallelCluster has configured them (`OnNodeConfigured`).

    `NodeScripts()` is the default of a cluster: the scripts that this library ships, uploaded with their manifest into
    a bucket made for it.
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
    """Where the scripts are uploaded. Default: a bucket is made, and retained with its old bundles."""
    scripts: Path | None = None
    """A folder to upload in place of the shipped one, with the same entry point. Default: the shipped scripts."""
