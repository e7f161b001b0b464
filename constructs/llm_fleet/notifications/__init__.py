"""Metrics, alarms, dashboards, budgets, and topics that AWS services can publish to."""
