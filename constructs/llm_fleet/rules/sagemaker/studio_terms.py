"""The closed vocabularies of Studio, spelt as SageMaker's API spells them. Compared with botocore by a test."""

from enum import StrEnum


class StudioSignIn(StrEnum):
    """Who tells Studio who somebody is (`AuthMode`)."""

    IAM = "IAM"
    """Identities of IAM, which may open certain user profiles."""
    SSO = "SSO"
    """IAM Identity Center, in the same account and region; each user profile is one of its users."""


class StudioInternet(StrEnum):
    """Which way applications take to the internet (`AppNetworkAccessType`)."""

    VPC_ONLY = "VpcOnly"
    """That of the VPC, if it has one."""
    SAGEMAKER = "PublicInternetOnly"
    """One of SageMaker's own, past the VPC: what stands in the VPC cannot be reached."""
