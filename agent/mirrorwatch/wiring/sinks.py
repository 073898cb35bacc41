"""Configuration -> where reports go."""

from collections.abc import Sequence
from dataclasses import dataclass

from structlog.typing import FilteringBoundLogger

from ..config import (
    Config,
    NotifyConfig,
    ReceiverConfig,
)
from ..domain.notices.model import NotificationPolicy
from ..domain.notices.notifier import Notifier
from ..domain.notices.text import Links
from ..ports import Sink, Worker
from ..sinks.apprise import AppriseReceiver
from ..sinks.history import HistorySink
from ..sinks.log import LogSink
from ..sinks.notify import FORMS, NotifySink, Receiver, WebhookReceiver
from ..state import Database
from .context import WiringContext

__all__ = [
    "WiredSinks",
    "to_receivers",
    "wire_notify",
    "wire_sinks",
]


@dataclass(frozen=True, kw_only=True)
class WiredSinks:
    """Sinks of the reports, with their workers."""

    sinks: tuple[Sink, ...]
    workers: tuple[Worker, ...]


def wire_sinks(
    config: Config,
    around: WiringContext,
    *,
    web: Sequence[Sink],
    links: Links,
) -> WiredSinks:
    """Wire all sinks. A new one is a line here.

    Parameters
    ----------
    config
        The whole configuration.
    around
        Shared parts of the agent.
    web
        Sinks that the web server serves from memory: these are first.
    links
        Links in the notifications.

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
        HistorySink(around.history),
        LogSink(logger=logger),
    ]
    workers: list[Worker] = []
    if config.sinks.influxdb is not None:
        # Its library costs 20 MB of memory.
        from .influxdb import make_influxdb_sink  # noqa: PLC0415

        influxdb = make_influxdb_sink(
            config.sinks.influxdb, database, logger, around.sampler
        )
        sinks.append(influxdb)
        workers.append(influxdb)
    # State in memory does not know who was notified: `once` notifies nobody.
    # An agent whose state file is lost notifies again rather than never.
    lasts = database.lasts or database.problems()
    if config.sinks.notify is not None and lasts:
        notify = wire_notify(config.sinks.notify, database, links, logger)
        sinks.append(notify)
        workers += notify.deliveries
    return WiredSinks(sinks=tuple(sinks), workers=tuple(workers))


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
                recovery=config.hold,
                remind=config.remind,
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
