"""A dashboard of Grafana: its panels, variables and links."""

from collections.abc import Iterator

from grafana_foundation_sdk.models.dashboard import (
    Dashboard,
    DashboardCursorSync,
    DashboardDashboardTemplating,
    DashboardDashboardTime,
    DashboardLink,
    DashboardLinkType,
    GridPos,
    Panel,
    VariableHide,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
    VariableType,
)

from .. import layout
from ..panels import Board
from .panels import render_panel
from .targets import Flux, InfluxQl, Prometheus, Store

__all__ = ["PAGE", "STORES", "render"]

STORES: tuple[Store, ...] = (Prometheus(), InfluxQl(), Flux())
"""Kinds of data sources that dashboards are made for."""

PAGE = "http://127.0.0.1:8080"
"""Where the agent's page is, until the reader says otherwise."""

REFRESH = "30s"
"""No sooner than there is something new for most agents."""


def render(board: Board, store: Store) -> Dashboard:
    """Return a dashboard for one kind of data source."""
    tag = store.name.removeprefix("grafana-")
    return Dashboard(
        uid=f"mirrorwatch-{board.name}-{tag}",
        title=board.title,
        description=board.description,
        tags=["mirrorwatch", f"mirrorwatch-{tag}"],
        time=DashboardDashboardTime(from_val=f"now-{board.hours}h", to="now"),
        refresh=REFRESH,
        graph_tooltip=DashboardCursorSync.CROSSHAIR,
        panels=list(_panels(board, store)),
        templating=DashboardDashboardTemplating(
            list_val=list(_variables(board, store))
        ),
        links=list(_links(f"mirrorwatch-{tag}")),
    )


def _panels(board: Board, store: Store) -> Iterator[Panel]:
    for number, (panel, at) in enumerate(layout.arrange(board.panels), 1):
        drawn = render_panel(panel, board, store)
        drawn.id_val = number
        drawn.grid_pos = GridPos(x=at.x, y=at.y, w=at.width, h=at.height)
        yield drawn


def _variables(board: Board, store: Store) -> Iterator[VariableModel]:
    yield VariableModel(
        name="datasource",
        label=f"data source ({store.language})",
        type_val=VariableType.DATASOURCE,
        query=store.plugin,
        refresh=VariableRefresh.ON_DASHBOARD_LOAD,
    )
    for n, variable in enumerate(board.variables):
        yield VariableModel(
            name=variable.label,
            label=variable.label,
            type_val=VariableType.QUERY,
            datasource=store.source,
            query=store.choices(variable, board.variables[:n]),
            multi=True,
            include_all=variable.all,
            all_value=".*" if variable.all else None,
            # What has come since is there to be chosen.
            refresh=VariableRefresh.ON_TIME_RANGE_CHANGED,
            sort=VariableSort.ALPHABETICAL_ASC,
        )
    yield VariableModel(
        name="page",
        label="agent's page",
        description="Where links to the agent's page and its runbook lead",
        type_val=VariableType.TEXTBOX,
        hide=VariableHide.DONT_HIDE,
        query=PAGE,
        current=VariableOption(selected=True, text=PAGE, value=PAGE),
    )


def _links(tag: str) -> Iterator[DashboardLink]:
    yield DashboardLink(
        title="mirrorwatch",
        type_val=DashboardLinkType.DASHBOARDS,
        tags=[tag],
        include_vars=True,
        keep_time=True,
        icon="external link",
    )
    for title, path in (("Agent's page", "/"), ("Runbook", "/runbook")):
        yield DashboardLink(
            title=title,
            type_val=DashboardLinkType.LINK,
            url=f"${{page:raw}}{path}",
            target_blank=True,
            icon="doc",
        )
