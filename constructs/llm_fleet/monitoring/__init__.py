"""Monitoring of clusters: metrics, dashboards, actionable alarms, log retention, and a budget."""
