"""Roles, built from the features that are switched on."""
