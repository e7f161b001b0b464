"""Every validator of the package has a defect, or a reason why not."""

from tests.agreement.parallelcluster import defects, defects_of_accounting
from tests.agreement.parallelcluster.not_ours import NOT_OURS
from tests.agreement.parallelcluster.package import validators

OURS = {defect.validator for defect in (*defects.DEFECTS, *defects_of_accounting.DEFECTS)}


def test_every_validator_is_ours_or_told_why_not():
    neither = {name: module for name, module in validators().items() if name not in OURS and name not in NOT_OURS}
    assert neither == {}


def test_no_validator_is_both():
    assert sorted(OURS & set(NOT_OURS)) == []


def test_nothing_is_told_of_validators_that_are_not_there():
    assert sorted(set(NOT_OURS) - set(validators())) == []


def test_the_package_has_as_many_validators_as_were_looked_through():
    assert len(validators()) > 100
