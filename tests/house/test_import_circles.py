"""No module needs itself by way of others, not even for types alone; the layers are contracts of import-linter."""

from graphlib import TopologicalSorter

import grimp


def test_no_import_circles():
    graph = grimp.build_graph("llm_fleet", "llm_fleet_stacks", "local", exclude_type_checking_imports=False)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()
