"""What is watched, and who is told: metrics, alarms, dashboards, and topics that services of AWS may write to."""
