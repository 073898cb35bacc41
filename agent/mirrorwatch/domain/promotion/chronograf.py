"""Rewrites dashboards of Chronograf.

What is rewritten is the part of the server's answer that was given to it:
see `mirrorwatch.promotion.chronograf`.
"""

import re
from collections.abc import Mapping
from typing import Any

from .flux import rewrite_flux
from .influxql import rewrite_influxql
from .rewriter import Rewriter
from .slots import fill, slots_of
from .values import Kind

__all__ = ["rewrite_chronograf"]

Json = Mapping[str, Any]

SOURCE = re.compile(r"(?P<path>/chronograf/v1/sources/)(?P<id>[^/]*)")
"""How a query names its source, unless it takes whichever is chosen."""


def rewrite_chronograf(dashboard: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a dashboard as the other site needs it.

    Parameters
    ----------
    dashboard
        ``cells`` and ``templates``; the rest is left as it is.
    rewriter
        Knows the values, and collects what it does not know.
    """
    rewriter.learn(lambda ahead: _rewrite(dashboard, ahead))
    return _rewrite(dashboard, rewriter)


def _rewrite(dashboard: Json, rewriter: Rewriter) -> dict[str, Any]:
    result = dict(dashboard)
    result["cells"] = [
        _rewrite_cell(cell, rewriter) for cell in dashboard["cells"]
    ]
    result["templates"] = [
        _rewrite_template(template, rewriter)
        for template in dashboard["templates"]
    ]
    return result


def _rewrite_cell(cell: Json, rewriter: Rewriter) -> dict[str, Any]:
    result = dict(cell)
    with rewriter.at(f"cell {cell.get('name', '')!r}"):
        if cell.get("note"):
            with rewriter.at("note"):
                result["note"] = rewriter.prose(cell["note"])
        result["queries"] = [
            _rewrite_query(query, rewriter) for query in cell["queries"]
        ]
    return result


def _rewrite_query(query: Json, rewriter: Rewriter) -> dict[str, Any]:
    rewrite = rewrite_flux if query["type"] == "flux" else rewrite_influxql
    with rewriter.at("query"):
        text = rewrite(query["query"], rewriter)
    with rewriter.at("source"):
        match = SOURCE.fullmatch(query["source"])
        if match:
            found = rewriter.exact(Kind.SOURCE, match["id"])
            source = match["path"] + found
        else:
            source = rewriter.exact(Kind.SOURCE, query["source"])
    return {**query, "query": text, "source": source}


def _rewrite_template(template: Json, rewriter: Rewriter) -> dict[str, Any]:
    result = dict(template)
    with rewriter.at(f"variable {template['tempVar']}"):
        result["sourceID"] = rewriter.exact(Kind.SOURCE, template["sourceID"])
        name = template["tempVar"].strip(":")
        result["values"] = [
            {**v, "value": _rewrite_value(v, name, rewriter)}
            for v in template["values"]
        ]
        if template.get("query"):
            result["query"] = _rewrite_choices(template["query"], rewriter)
    return result


def _rewrite_value(value: Json, variable: str, rewriter: Rewriter) -> str:
    text: str = value["value"]
    match value["type"]:
        case "database":
            return rewriter.exact(Kind.DATABASE, text)
        case "measurement":
            return rewriter.prefixed(text)
        case "fieldKey" | "tagKey":
            return text
        case _:
            return fill(slots_of(variable, rewriter), text, rewriter)


def _rewrite_choices(query: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Rewrite the query that finds what a variable may be."""
    result = dict(query)
    for key, kind in (
        ("db", Kind.DATABASE),
        ("rp", Kind.RETENTION_POLICY),
    ):
        if query.get(key):
            result[key] = rewriter.exact(kind, query[key])
    if query.get("measurement"):
        result["measurement"] = rewriter.prefixed(query["measurement"])
    with rewriter.at("query"):
        if query.get("influxql"):
            result["influxql"] = rewrite_influxql(query["influxql"], rewriter)
        if query.get("flux"):
            result["flux"] = rewrite_flux(query["flux"], rewriter)
    return result
