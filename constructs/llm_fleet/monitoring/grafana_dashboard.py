"""Grafana's dashboard of clusters, made of the catalog's metrics.

grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model
"""

from typing import Any

from llm_fleet.catalog.monitoring import ClusterMetric, cluster_metrics

_UNITS = {"Percent": "percent", "Bytes/Second": "Bps", "Seconds": "s", "Count": "short", "None": "short"}
_ROWS = {
    "slurm": "Slurm's queue and nodes",
    "accelerator": "Accelerators",
    "node": "Nodes",
    "efa": "EFA",
    "lustre": "Lustre",
}
_ADDED_UP = ("nodes_reporting", "accelerators", "accelerators_idle", "accelerator_errors")
"""Values of which only the sum over the nodes says something, beside rates and counts of EFA."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24


def grafana_dashboard() -> dict[str, Any]:
    """Return the dashboard as JSON has it, to be imported: it asks for its data source, and offers every cluster."""
    return {
        "uid": "llm-fleet-cluster",
        "title": "llm-fleet: a cluster",
        "tags": ["llm-fleet"],
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_choice_of_source(), _choice_of_cluster(), _choice_of_group()]},
        "panels": _panels(),
    }


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    y = 0
    for source, title in _ROWS.items():
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": _place(0, y, _COLUMNS, 1)})
        y += 1
        metrics = [metric for metric in cluster_metrics().values() if metric.source == source]
        for index, metric in enumerate(metrics):
            column, row = index * _WIDTH % _COLUMNS, index * _WIDTH // _COLUMNS
            place = _place(column, y + row * _HEIGHT, _WIDTH, _HEIGHT)
            panels.append(_panel(len(panels) + 1, metric, place))
        y += -(-len(metrics) * _WIDTH // _COLUMNS) * _HEIGHT
    return panels


def _panel(id: int, metric: ClusterMetric, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": id,
        "type": "timeseries",
        "title": metric.name,
        "description": metric.meaning,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": _UNITS[metric.unit], "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + n), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for n, (expression, legend) in enumerate(_queries(metric))
        ],
    }


def _queries(metric: ClusterMetric) -> list[tuple[str, str]]:
    """Return what is asked, and how the lines are called: of the queue one line, of nodes groups and extremes.

    Not a line a node: a cluster of 2,000 would be a wall of lines. The worst one is drawn with its name.
    """
    if metric.source == "slurm":
        return [(f'{metric.prometheus_name}{{cluster="$cluster"}}', metric.name)]
    series = f'{metric.prometheus_name}{{cluster="$cluster",group=~"$group"}}'
    if metric.key in _ADDED_UP or metric.source == "efa" or metric.key in ("lustre_read", "lustre_written"):
        return [(f"sum by (group) ({series})", "{{group}}")]
    worst = "bottomk" if metric.key in ("lustre_answering", "uptime") else "topk"
    return [(f"avg by (group) ({series})", "{{group}}, mean"), (f"{worst}(1, {series})", "{{instance}}")]


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _choice_of_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _choice_of_cluster() -> dict[str, Any]:
    query = "label_values(llm_fleet_nodes_reporting, cluster)"
    return {"name": "cluster", "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2}


def _choice_of_group() -> dict[str, Any]:
    query = 'label_values(llm_fleet_nodes_reporting{cluster="$cluster"}, group)'
    return {
        **{"name": "group", "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2},
        **{"includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}},
    }
