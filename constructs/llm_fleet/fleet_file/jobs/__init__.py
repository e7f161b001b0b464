"""Jobs in the fleet file: training runs, as typed models."""
