"""Notebook instances."""
