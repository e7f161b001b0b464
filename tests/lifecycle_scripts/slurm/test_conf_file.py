"""slurm.conf as Slurm reads it."""

from pathlib import Path

from llm_fleet_node.host import Host
from llm_fleet_node.slurm import conf_file
from tests.lifecycle_scripts.step_node import file


def test_keys_know_no_case_and_the_last_counts(tmp_path: Path) -> None:
    file(
        tmp_path,
        "/etc/slurm/slurm.conf",
        'clustername=a # of old\n#ClusterName=c\nClusterName = b\nX="with blanks" Y=2\n',
    )
    conf = conf_file.read(Host(tmp_path), "/etc/slurm")
    assert conf is not None
    assert conf.value("CLUSTERNAME") == "b"
    assert (conf.value("x"), conf.value("y"), conf.value("z")) == ("with blanks", "2", None)


def test_includes_are_read_where_they_stand(tmp_path: Path) -> None:
    file(tmp_path, "/etc/slurm/slurm.conf", "A=1\ninclude more.conf\nINCLUDE /abs.conf\nInclude gone.conf\nB=1\n")
    file(tmp_path, "/etc/slurm/more.conf", "A=2\nB=2\nInclude more.conf\n")
    file(tmp_path, "/abs.conf", "C=3\n")
    conf = conf_file.read(Host(tmp_path), "/etc/slurm")
    assert conf is not None
    assert (conf.value("A"), conf.value("B"), conf.value("C")) == ("2", "1", "3")
    assert set(conf.includes) == {"/etc/slurm/more.conf", "/abs.conf", "/etc/slurm/gone.conf"}
    assert [conf.does_include(name) for name in ("more.conf", "abs.conf")] == [True, False]


def test_lines_that_go_on_are_one(tmp_path: Path) -> None:
    file(tmp_path, "/etc/slurm/slurm.conf", "NodeName=a \\\n  CPUs=4\nNodeName=b CPUs=2\n")
    conf = conf_file.read(Host(tmp_path), "/etc/slurm")
    assert conf is not None
    assert conf.every("nodename") == [{"nodename": "a", "cpus": "4"}, {"nodename": "b", "cpus": "2"}]


def test_without_ours(tmp_path: Path) -> None:
    text = "A=1\n# llm-fleet: begin slurm\nInclude llm-fleet.conf\n# llm-fleet: end slurm\n"
    file(tmp_path, "/etc/slurm/slurm.conf", text)
    file(tmp_path, "/etc/slurm/llm-fleet.conf", "A=2\n")
    whole, theirs = (conf_file.read(Host(tmp_path), "/etc/slurm", ours=ours) for ours in (True, False))
    assert whole is not None
    assert theirs is not None
    assert (whole.value("A"), theirs.value("A"), theirs.includes) == ("2", "1", ())


def test_no_file(tmp_path: Path) -> None:
    assert conf_file.read(Host(tmp_path), "/etc/slurm") is None
