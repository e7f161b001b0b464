"""What a session needs on this machine."""

import shutil

from llm_fleet.cli.connect.platform import Platform
from llm_fleet.rules.day_two.nodes_codes import NodesCode
from llm_fleet.rules.problem import FleetError, Problem

AWS = "aws"
PLUGIN = "session-manager-plugin"

_DEB = "https://s3.amazonaws.com/session-manager-downloads/plugin/latest/ubuntu_64bit/session-manager-plugin.deb"
_INSTALL = {
    (AWS, Platform.LINUX): "run `sudo snap install aws-cli --classic`, or see docs.aws.amazon.com/cli for a bundle",
    (AWS, Platform.MACOS): "run `brew install awscli`",
    (AWS, Platform.WINDOWS): "run `winget install Amazon.AWSCLI`, and open a new terminal",
    (
        PLUGIN,
        Platform.LINUX,
    ): f"run `curl -O {_DEB}` and `sudo dpkg -i session-manager-plugin.deb`; AWS has an RPM, too",
    (PLUGIN, Platform.MACOS): "run `brew install --cask session-manager-plugin`",
    (PLUGIN, Platform.WINDOWS): "run `winget install Amazon.SessionManagerPlugin`, and open a new terminal",
}


def check_programs(platform: Platform) -> None:
    """Raise `FleetError` (LF1106) that tells every program of AWS that is missing, and how this machine gets it."""
    missing = [name for name in (AWS, PLUGIN) if shutil.which(name) is None]
    problems = [
        Problem(
            code=NodesCode.PROGRAM_MISSING,
            message=f"this machine has no {name}",
            remedy=f"{_INSTALL[name, platform]}; --print shows the command for another machine",
        )
        for name in missing
    ]
    if problems:
        raise FleetError(problems, subject="Session Manager")
