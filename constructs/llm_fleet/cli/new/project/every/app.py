"""The app that `cdk` runs: the stacks of fleet.yaml, or of the file that `--context fleet=FILE` names."""

from llm_fleet_stacks.synth import fleet_app

app = fleet_app()
# Add your own stacks here, e.g. `Dashboards(app, "dashboards")`.
app.synth()
