"""Who is told: topics that services of AWS may write to."""
