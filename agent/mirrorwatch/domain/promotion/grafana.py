"""Rewrites dashboards of Grafana.

What is rewritten is the part of the server's answer that was given to it:
see `mirrorwatch.promotion.grafana`.
"""

from collections.abc import Mapping
from typing import Any

from .flux import rewrite_flux
from .grafana_variables import is_variable, rewrite_variable
from .influxql import rewrite_influxql
from .promql import rewrite_promql
from .rewriter import Rewriter
from .values import Kind

__all__ = ["rewrite_grafana"]

Json = Mapping[str, Any]

PROSE = {"content", "description", "title", "url", "tooltip"}
"""Texts for people, and links."""

NAMES = {
    "bucket": Kind.DATABASE,
    "measurement": Kind.TOPIC_PREFIX,
    "policy": Kind.RETENTION_POLICY,
}
"""What a query that was made with the mouse names."""

QUERIES = {"query", "expr", "definition"}


def rewrite_grafana(dashboard: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a dashboard as the other site needs it.

    Parameters
    ----------
    dashboard
        The dashboard's model; its data sources are named by uid.
    rewriter
        Knows the values, and collects what it does not know.
    """
    rewriter.learn(lambda ahead: _rewrite(dict(dashboard), "", ahead))
    found: dict[str, Any] = _rewrite(dict(dashboard), "", rewriter)
    return found


def _rewrite(node: Any, language: str, rewriter: Rewriter) -> Any:
    """Rewrite a node of the model.

    Parameters
    ----------
    node
        The node.
    language
        Type of the data source that its queries are for.
    rewriter
        As above.
    """
    if isinstance(node, list):
        return [_rewrite(item, language, rewriter) for item in node]
    if not isinstance(node, dict):
        return node
    source = node.get("datasource")
    if isinstance(source, dict):
        language = source.get("type") or language
    if "libraryPanel" in node:
        why = "is a library panel, which is not copied: unlink it"
        rewriter.stop(Kind.DATASOURCE, str(node.get("title", "")), why)
    title = node.get("title") or node.get("name")
    place = [repr(title)] if isinstance(title, str) and title else []
    with rewriter.at(*place):
        result = {}
        if is_variable(node):
            result = rewrite_variable(node, rewriter)
        for key, value in node.items():
            if key not in result:
                with rewriter.at(key):
                    result[key] = _rewrite_key(
                        key, value, node, language, rewriter
                    )
    # In the order that it had, so that nothing but values differs.
    return {key: result[key] for key in node}


def _rewrite_key(
    key: str, value: Any, node: Json, language: str, rewriter: Rewriter
) -> Any:
    if key == "datasource":
        return _rewrite_source(value, rewriter)
    if not isinstance(value, str):
        return _rewrite(value, language, rewriter)
    if key in QUERIES:
        return _rewrite_query(value, language, rewriter)
    return _rewrite_text(key, value, node, rewriter)


def _rewrite_text(key: str, value: str, node: Json, rewriter: Rewriter) -> str:
    regex = value.startswith("/")
    if key in PROSE:
        return rewriter.prose(value)
    if key == "measurement" and regex:
        return rewriter.regex(value)
    if key in NAMES:
        return rewriter.value(NAMES[key], value)
    if key == "value" and "operator" in node:
        # A tag's value in a query; regexes stand between strokes.
        return rewriter.regex(value) if regex else rewriter.text(value)
    if key == "options" and node.get("id") in {"byName", "byRegexp"}:
        # The field that an override is for: often a measurement's name.
        return rewriter.regex(value) if regex else rewriter.text(value)
    return value


def _rewrite_source(source: Any, rewriter: Rewriter) -> Any:
    if isinstance(source, str):
        return rewriter.exact(Kind.DATASOURCE, source)
    if isinstance(source, dict) and isinstance(source.get("uid"), str):
        return {
            **source,
            "uid": rewriter.exact(Kind.DATASOURCE, source["uid"]),
        }
    return source


def _rewrite_query(query: str, language: str, rewriter: Rewriter) -> str:
    if language == "influxdb":
        if "|>" in query or "from(bucket" in query:
            return rewrite_flux(query, rewriter)
        return rewrite_influxql(query, rewriter)
    return rewrite_promql(query, rewriter)
