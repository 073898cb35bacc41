"""Configuration -> agent: the only module that knows every class."""

from functools import partial
from urllib.parse import urlsplit

from structlog.typing import FilteringBoundLogger

from .clock import Clock
from .config import Config
from .config.notes import check_clients
from .config.sinks import WebConfig
from .daemon import Agent
from .domain.notices.text import Links
from .domain.samples import bounded, samples
from .isolation import Isolation
from .kafka.admin import Cluster
from .pipeline import Pipeline
from .sinks.prometheus import OLD_AFTER, PrometheusSink
from .sources.audit.worker import AuditWorker
from .sources.canary.settings import Headers, no_headers
from .state import Database
from .state.documents import VerdictStore
from .state.history import History
from .state.maintenance import MaintenanceStore
from .web.app import LatestReport, create_app
from .web.audits import AuditInbox
from .web.headers import protected
from .web.login import Credentials
from .web.server import Server
from .web.status import TICKS
from .web.tls import ServerTLS
from .wiring import (
    LONGEST_LOOK,
    WiredParts,
    WiringContext,
    to_results,
    wire_audit,
    wire_flows,
    wire_sinks,
)

__all__ = ["build_agent", "check_agent", "to_tls"]


def build_agent(
    config: Config,
    *,
    database: Database,
    clock: Clock,
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
        Gives the time. It carries on that of the state file.
    logger
        Logger of everything.
    serve
        Serve the page.
    audits
        Start the nightly audit; its results are read anyway.
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
    verdicts = VerdictStore(database)
    verdicts.resume(clock)
    history = History(database, config.interval)
    isolation = Isolation(logger)
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
        interval=min(config.interval, LONGEST_LOOK),
        clock=clock,
        logger=logger,
        headers=headers,
        sampler=partial(
            samples, collect=isolation.collect, page=config.web.address
        ),
        guard=isolation.run,
    )
    wired = WiredParts.of(
        [
            wire_flows(config.flows, around),
            wire_audit(config, around, starts=audits),
        ]
    )
    latest = LatestReport()
    prometheus = PrometheusSink(
        bounded(around.sampler, config.web.topics_in_metrics),
        old_after=max(OLD_AFTER, TICKS * config.interval),
    )
    maintenance = MaintenanceStore(database)
    reports = wire_sinks(
        config,
        around,
        web=[prometheus, latest],
        links=Links(config.web.address),
    )
    pipeline = Pipeline(
        flows=[flow.flow for flow in config.flows],
        limits={flow.name: config.to_limits(flow) for flow in config.flows},
        sources=wired.sources,
        sinks=reports.sinks,
        verdicts=verdicts,
        windows=maintenance.in_force,
        move_windows=maintenance.move,
        clock=clock,
        interval=config.interval,
        isolation=isolation,
        logger=logger,
    )
    app = create_app(
        latest,
        history,
        pipeline.events,
        prometheus.exposition,
        interval=config.interval,
        clock=clock,
        audits=to_results(config),
        inbox=_to_inbox(config),
    )
    return Agent(
        pipeline=pipeline,
        workers=wired.workers,
        senders=reports.workers,
        latest=latest,
        database=database,
        server=Server(
            protected(
                app,
                config.web.allowed_hosts,
                _to_credentials(config.web),
                urlsplit(config.web.url or "").path,
            ),
            config.web.host,
            config.web.port,
            to_tls(config.web),
        )
        if serve
        else None,
        interval=config.interval,
        is_busy=lambda: any(
            worker.is_running
            for worker in wired.workers
            if isinstance(worker, AuditWorker)
        ),
    )


def check_agent(config: Config, logger: FilteringBoundLogger) -> None:
    """Make an agent of a configuration, and let it go.

    What names a file or an address that cannot be used is found only so.

    Raises
    ------
    ConfigError
        Raised if none can be made.
    WebError
        Raised if its page cannot be served with its certificate.
    """
    check_clients(config)
    # With a problem, notifications are wired though it is in memory.
    database = Database(None, problem="it is a trial")
    try:
        build_agent(config, database=database, clock=Clock(), logger=logger)
        tls = to_tls(config.web)
        if tls is not None:
            tls.load()
    finally:
        database.close()


def to_tls(web: WebConfig) -> ServerTLS | None:
    """Return the page's side of TLS; `None` if it is served by HTTP."""
    tls = web.tls_server_config
    if tls is None:
        return None
    return ServerTLS(
        tls.cert_file,
        tls.key_file,
        client_ca=tls.client_ca_file,
    )


def _to_inbox(config: Config) -> AuditInbox | None:
    """Return the address that takes results of audits, if it takes any."""
    audit = config.audit
    if audit is None or audit.post is None:
        return None
    token = audit.post.token.get_secret_value()
    return AuditInbox(to_results(config), token, audit.keep)


def _to_credentials(web: WebConfig) -> Credentials | None:
    """Return who may read the page; `None` if everybody may."""
    users, tokens = web.basic_auth_users or {}, web.bearer_tokens or {}
    if not users and not tokens:
        return None
    return Credentials(
        {user: each.get_secret_value() for user, each in users.items()},
        {name: each.get_secret_value() for name, each in tokens.items()},
    )
