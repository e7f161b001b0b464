"""What both kinds of capacity synthesize passes cdk-nag and cfn-lint."""

from tests.clean import cfn_lint_findings, description_findings, nag_findings
from tests.inference.hosts.conftest import Both, both

_NOT_OURS = ("/OwnCluster:", "/ManagedCluster:", "/Logs:")


def test_cfn_lint_finds_nothing(capacities: Both):
    assert cfn_lint_findings(capacities.app) == []


def test_ec2_takes_every_description(capacities: Both):
    assert description_findings(capacities.app) == []


def test_cdk_nag_finds_nothing():
    findings = nag_findings(both().app)
    assert [found for found in findings if not any(other in found for other in _NOT_OURS)] == []
    assert findings, "the clusters of this test are plain, and nag tells it"
