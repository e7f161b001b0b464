"""What EC2 lets be said of a security group or a rule."""

import html
import re

import botocore.session
from botocore.model import StructureShape

from llm_fleet.network.naming import rule_description


def test_a_description_has_only_what_ec2_takes() -> None:
    model = botocore.session.get_session().get_service_model("ec2")
    shape = model.shape_for("UserIdGroupPair")
    assert isinstance(shape, StructureShape)
    member = str(shape.members["Description"].documentation)
    match = re.search(r"Allowed characters are a-z, A-Z, 0-9, spaces, and (\S+?)</p>", member)
    assert match
    marks = html.unescape(match[1])
    assert rule_description(f"aZ 09{marks}") == f"aZ 09{marks}"
    assert "Up to 255 characters" in member
    assert len(rule_description("x" * 300)) == 255
    assert rule_description("a cluster's & é") == "a cluster-s - -"
