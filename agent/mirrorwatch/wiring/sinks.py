"""Configuration -> where reports go."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from structlog.typing import FilteringBoundLogger

from ..config import (
    Config,
    NotifyConfig,
    OtlpConfig,
    ReceiverConfig,
    SinksConfig,
    SpoolConfig,
)
from ..domain.notices.model import NotificationPolicy
from ..domain.notices.notifier import Notifier
from ..domain.notices.text import Links
from ..domain.samples import Sampler, samples
from ..ports import Sink, Worker
from ..sinks.apprise import AppriseReceiver
from ..sinks.history import HistorySink
from ..sinks.log import LogSink
from ..sinks.maintenance import MaintenanceSink
from ..sinks.notify import FORMS, NotifySink, Receiver, WebhookReceiver
from ..sinks.otlp import OtlpAccess, OtlpOutlet
from ..sinks.otlp import to_batch as to_otlp_batch
from ..sinks.queued import Outlet, QueuedSink
from ..state import Database
from ..state.maintenance import MaintenanceStore
from ..state.queue import Batch, DeliveryQueue, DurableQueue, Outbox
from .context import WiringContext

__all__ = [
    "WiredSinks",
    "make_metric_sinks",
    "to_otlp_access",
    "to_receivers",
    "wire_notify",
    "wire_sinks",
]


@dataclass(frozen=True, kw_only=True)
class WiredSinks:
    """Where reports go."""

    sinks: tuple[Sink, ...]
    """In the order in which they get each report."""

    workers: tuple[Worker, ...]
    """Those that send, in threads of their own. The sinks close them."""


def wire_sinks(
    config: Config,
    around: WiringContext,
    *,
    web: Sequence[Sink],
    maintenance: MaintenanceStore,
    links: Links,
) -> WiredSinks:
    """Wire all sinks. A new one is a line here.

    Parameters
    ----------
    config
        The whole configuration.
    around
        What the agent shares.
    web
        What the web server serves from memory: these are first.
    maintenance
        Keeps announced maintenance.
    links
        Where notifications lead.

    Raises
    ------
    ConfigError
        Raised if a server cannot be used as it is configured.
    StateError
        Raised if the state file cannot be used.
    """
    database, logger = around.database, around.logger
    sinks = [
        *web,
        HistorySink(around.history, around.levels),
        LogSink(logger=logger),
    ]
    workers: list[Worker] = []
    for queued in make_metric_sinks(
        config.sinks, database, logger, around.sampler
    ):
        sinks.append(queued)
        workers.append(queued)
    outbox: Outbox | None = None
    # State in memory does not know who was notified: `once` notifies nobody.
    # An agent whose state file is lost notifies again rather than never.
    lasts = database.lasts or database.problems()
    if config.sinks.notify is not None and lasts:
        notify = wire_notify(config.sinks.notify, database, links, logger)
        outbox = notify.outbox
        sinks.append(notify)
        workers += notify.deliveries
    sinks.append(
        MaintenanceSink(
            maintenance,
            around.history,
            outbox=outbox,
            page=config.web.address,
            sampler=around.sampler,
            logger=logger,
        )
    )
    return WiredSinks(sinks=tuple(sinks), workers=tuple(workers))


def make_metric_sinks(
    config: SinksConfig,
    database: Database,
    logger: FilteringBoundLogger,
    sampler: Sampler = samples,
) -> Iterator[QueuedSink]:
    """Yield the sink of each server that gets the points of every tick, with
    a spool and a thread of its own.

    Raises
    ------
    ConfigError
        Raised if an address or a secret cannot be used.
    StateError
        Raised if the state file cannot be used.
    """
    for outlet, encode, spool, in_order in _metric_servers(config):
        durable = DurableQueue(database, outlet.name, most_bytes=spool.limit)
        yield QueuedSink(
            outlet,
            encode=partial(encode, sampler=sampler),
            queue=DeliveryQueue(durable, in_order=in_order),
            logger=logger,
        )


def _metric_servers(
    config: SinksConfig,
) -> Iterator[tuple[Outlet, Callable[..., Batch], SpoolConfig, bool]]:
    """Yield servers, and whether each needs its points in order."""
    if config.influxdb is not None:
        # Its library costs 20 MB of memory.
        from ..sinks import influxdb  # noqa: PLC0415
        from .influxdb import to_access  # noqa: PLC0415

        outlet = influxdb.InfluxDbOutlet(to_access(config.influxdb))
        yield outlet, influxdb.to_batch, config.influxdb.spool, False
    if config.otlp is not None:
        access = to_otlp_access(config.otlp)
        # Prometheus takes no sample older than the newest of its series.
        yield OtlpOutlet(access), to_otlp_batch, config.otlp.spool, True


def to_otlp_access(config: OtlpConfig) -> OtlpAccess:
    """Return where the receiver is and how to be let in."""
    return OtlpAccess(
        url=config.url,
        headers={
            name: value.get_secret_value()
            for name, value in config.headers.items()
        },
        ca=config.ca,
    )


def wire_notify(
    config: NotifyConfig,
    database: Database,
    links: Links,
    logger: FilteringBoundLogger,
) -> NotifySink:
    """Return the sink that notifies people, with its deliveries.

    Raises
    ------
    ConfigError
        Raised if a receiver cannot be used as it is configured.
    StateError
        Raised if the state file cannot be used.
    """
    return NotifySink(
        Notifier(
            NotificationPolicy(
                minimum=config.minimum,
                hold=config.hold,
                recovery=config.recovery,
                remind=config.remind,
                most_per_hour=config.most_per_hour,
            )
        ),
        database=database,
        receivers=to_receivers(config),
        links=links,
        logger=logger,
    )


def to_receivers(config: NotifyConfig) -> list[Receiver]:
    """Return everybody who is notified.

    Raises
    ------
    ConfigError
        Raised if a receiver cannot be used as it is configured.
    """
    return [_to_receiver(receiver) for receiver in config.receivers]


def _to_receiver(config: ReceiverConfig) -> Receiver:
    url, login = config.url.get_secret_value(), config.authorization
    if config.kind == "apprise":
        return AppriseReceiver(config.name, url=url)
    return WebhookReceiver(
        config.name,
        url=url,
        form=FORMS[config.kind],
        authorization=login.get_secret_value() if login else None,
        ca=config.ca,
    )
