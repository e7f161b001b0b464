"""A directory of the fleet file, as a value of the construct."""

from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.config.people.directory import DirectoryConfig
from llm_fleet.lifecycle.people import Directory


def directory_from(scope: Construct, config: DirectoryConfig | None) -> Directory | None:
    """Return the directory that `config` describes, with its secret in the stack of `scope`; `None` for none."""
    if config is None:
        return None
    return Directory(
        kind=config.kind,
        domain=config.domain,
        uris=config.uris,
        base_dn=config.base_dn,
        bind_dn=config.bind_dn,
        bind_secret=_secret(scope, config),
        certificate=config.certificate_on_nodes or config.folder / config.ca_certificate,
        start_tls=config.start_tls,
        map_ids=config.own_map_ids,
        first_id=config.first_id,
        last_id=config.last_id,
        user_filter=config.user_filter,
        group_filter=config.group_filter,
        sudo_groups=config.sudo_groups,
        ssh_public_key_attribute=config.ssh_public_key_attribute,
        home=config.home,
        test_user=config.test_user,
        sssd_on_image=config.sssd_on_image,
    )


def _secret(scope: Construct, config: DirectoryConfig) -> secretsmanager.ISecret:
    key = None
    if config.bind_secret_key is not None:
        key = kms.Key.from_key_arn(scope, "DirectorySecretKey", config.bind_secret_key)
    return secretsmanager.Secret.from_secret_attributes(
        scope, "DirectorySecret", secret_complete_arn=config.bind_secret_arn, encryption_key=key
    )
