"""An FSx for Lustre file system that exists already."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import SecurityGroupId


class ExistingFsxConfig(FleetModel):
    """An FSx for Lustre file system that exists already."""

    file_system_id: str = Field(alias="id", examples=["fs-0123456789abcdef0"])
    """Its id."""
    dns_name: str | None = None
    """The name that nodes mount. Default: `<id>.fsx.<region>.amazonaws.com`, FSx's own."""
    mount_name: str = Field(examples=["abcd1234"])
    """Its mount name, which FSx has generated."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id where it stands. Default: not known, and not checked."""
    efa_enabled: bool = Field(default=False, alias="efa")
    """Whether it was made with EFA. Default: no."""
    security_group_id: SecurityGroupId | None = Field(default=None, alias="security_group")
    """Its security group, into which the deployment lets the nodes. Leave it out where the rules exist, because EC2
    refuses a rule twice. Default: you have let them in yourself."""
