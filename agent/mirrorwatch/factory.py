"""Configuration -> agent: the only place that knows every class."""

from collections.abc import Callable
from datetime import datetime

from structlog.typing import FilteringBoundLogger

from .config import Config
from .daemon import Agent
from .domain.notices.text import Links
from .kafka.admin import Cluster
from .pipeline import Pipeline
from .ports import Sink, Worker
from .sinks.history import HistorySink
from .sinks.log import LogSink
from .sinks.maintenance import MaintenanceSink
from .sinks.prometheus import PrometheusSink
from .sources.canary.source import Headers, no_headers
from .state import Database
from .state.audits import local_path
from .state.documents import VerdictStore
from .state.history import History
from .state.maintenance import MaintenanceStore
from .state.queue import Outbox
from .web.app import create_app
from .web.board import LatestReport
from .web.runbook import Runbook
from .web.server import Server
from .wiring import (
    WiredParts,
    WiringContext,
    wire_audit,
    wire_flows,
    wire_notify,
)

__all__ = ["build_agent"]


def build_agent(
    config: Config,
    *,
    database: Database,
    clock: Callable[[], datetime],
    logger: FilteringBoundLogger,
    serve: bool = True,
    audits: bool = True,
    headers: Headers = no_headers,
) -> Agent:
    """Wire an agent together. Nothing is started yet.

    Parameters
    ----------
    config
        Configuration.
    database
        The state file.
    clock
        Gives the time.
    logger
        Where everything is told.
    serve
        Whether to serve the page.
    audits
        Whether to start the nightly audit; its results are read anyway.
    headers
        Headers of each probe: how a test marks those it wants dropped.

    Raises
    ------
    ConfigError
        Raised if a client cannot be made of the configuration.
    StateError
        Raised if the state file cannot be used.
    """
    properties = {a: dict(c.kafka) for a, c in config.clusters.items()}
    history = History(database, config.interval)
    around = WiringContext(
        clusters={a: Cluster(a, p) for a, p in properties.items()},
        properties=properties,
        registries={
            alias: cluster.schema_registry
            for alias, cluster in config.clusters.items()
            if cluster.schema_registry is not None
        },
        cluster_ids={
            alias: cluster.cluster_id
            for alias, cluster in config.clusters.items()
            if cluster.cluster_id is not None
        },
        database=database,
        history=history,
        interval=config.interval,
        clock=clock,
        logger=logger,
        headers=headers,
    )
    wired = WiredParts.of(
        [
            wire_flows(config.flows, around),
            wire_audit(config, around, starts=audits),
        ]
    )
    board, prometheus = LatestReport(), PrometheusSink()
    sinks: list[Sink] = [
        prometheus,
        board,
        HistorySink(history),
        LogSink(logger=logger),
    ]
    senders: list[Worker] = []
    if config.sinks.influxdb is not None:
        # It costs 20 MB of memory, so only who wants it pays.
        from .wiring.sinks import make_influxdb_sink  # noqa: PLC0415

        influxdb = make_influxdb_sink(config.sinks.influxdb, database, logger)
        sinks.append(influxdb)
        senders.append(influxdb)
    outbox: Outbox | None = None
    # Books in memory do not know what people were told: `once` tells nobody.
    if config.sinks.notify is not None and database.lasts:
        links = Links(config.web.address, Runbook.load().link)
        notify = wire_notify(config.sinks.notify, database, links, logger)
        outbox = notify.outbox
        sinks.append(notify)
        senders += notify.deliveries
    maintenance = MaintenanceStore(database)
    sinks.append(
        MaintenanceSink(
            maintenance,
            history,
            outbox=outbox,
            page=config.web.address,
            logger=logger,
        )
    )
    app = create_app(
        board,
        history,
        prometheus.exposition,
        interval=config.interval,
        clock=clock,
        audits=local_path(config.audit_out) if config.audit else None,
    )
    return Agent(
        pipeline=Pipeline(
            flows=[flow.flow for flow in config.flows],
            limits={
                flow.name: config.to_limits(flow) for flow in config.flows
            },
            sources=wired.sources,
            sinks=sinks,
            verdicts=VerdictStore(database),
            windows=maintenance.in_force,
            clock=clock,
            logger=logger,
        ),
        workers=wired.workers,
        senders=tuple(senders),
        board=board,
        database=database,
        server=Server(app, config.web.host, config.web.port)
        if serve
        else None,
        interval=config.interval,
    )
