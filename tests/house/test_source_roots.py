"""`constructs/` and `stacks/` are source roots: an `__init__.py` there would hide the PyPI package `constructs`."""

from pathlib import Path

import constructs

from tools.synth_environment import ROOT


def test_source_roots_are_no_packages():
    assert not (ROOT / "constructs" / "__init__.py").exists()
    assert not (ROOT / "stacks" / "__init__.py").exists()


def test_constructs_is_the_package_from_pypi():
    assert constructs.__file__ is not None
    assert "site-packages" in Path(constructs.__file__).parts
