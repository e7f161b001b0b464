"""Fixtures that several test files use."""

from tests.sagemaker.studios import full as full
from tests.sagemaker.studios import plain as plain
from tests.sagemaker.watches import watched as watched
