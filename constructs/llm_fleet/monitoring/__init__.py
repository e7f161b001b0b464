"""How clusters are: metrics, dashboards, alarms that someone can act on, logs that are kept, and a budget."""
