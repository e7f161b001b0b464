"""What SSSD is told of a directory beside its address and its password (sssd.conf(5), sssd-ldap(5))."""

from llm_fleet.lifecycle.directory.directory import Directory

_SCHEMAS = {"ldap": "rfc2307", "active_directory": "AD"}


def sssd_options(directory: Directory) -> dict[str, str]:
    """Return the options of SSSD's domain that ParallelCluster has no key for; nodes of HyperPod write the same."""
    options = {
        "ldap_search_base": directory.base_dn,
        "ldap_schema": _SCHEMAS[directory.kind],
        "ldap_id_mapping": str(directory.maps_ids),
        "min_id": str(directory.first_id),
        "max_id": str(directory.last_id),
        "ldap_id_use_start_tls": str(directory.start_tls),
    }
    if directory.maps_ids:
        # Only then: the range is cut into slices, and every node must cut it alike.
        options |= {
            "ldap_idmap_range_min": str(directory.first_id),
            "ldap_idmap_range_max": str(directory.last_id),
        }
    if directory.group_filter is not None:
        options["ldap_group_search_base"] = f"{directory.base_dn}??{directory.group_filter}"
    if directory.ssh_public_key_attribute is not None:
        options["ldap_user_ssh_public_key"] = directory.ssh_public_key_attribute
    if directory.home is not None:
        options["override_homedir"] = directory.home
    return options
