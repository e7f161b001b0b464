"""The launch post's cluster: the AMI configures Slurm, and the scripts verify it and add what is missing."""

from pathlib import Path

from llm_fleet_local.drill.scenarios.conftest import Deploy

_LAUNCH_POST = Path(__file__).parents[4] / "examples" / "hyperpod-trn1.yaml"


def test_what_the_ami_has_configured_is_verified_and_left(deploy: Deploy):
    with deploy(2, fleet=_LAUNCH_POST, name="ml-cluster") as cluster:
        cluster.boot()
        conf = cluster.controller.read("/opt/slurm/etc/slurm.conf")
        dbd = cluster.controller.read("/opt/slurm/etc/slurmdbd.conf")
        cluster.bring_up()
        kept = cluster.controller.read("/opt/slurm/etc/slurm.conf")
        assert kept == conf, "what the agent wrote was changed"
        assert cluster.controller.read("/opt/slurm/etc/slurmdbd.conf") == dbd
        accounts = cluster.slurm.run("sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=Cluster")
        assert accounts.stdout.split() == ["ml-cluster"]
