"""Configuration -> who is told of changes."""

from structlog.typing import FilteringBoundLogger

from ..config import NotifyConfig
from ..domain.notices import Links, Notifier, Policy
from ..sinks.notify import FORMS, Delivery, NotifySink, Receiver
from ..state import Database
from ..state.notices import NoticeStore
from ..state.outbox import Outbox

__all__ = ["to_receivers", "wire_notify"]


def wire_notify(
    config: NotifyConfig,
    database: Database,
    links: Links,
    logger: FilteringBoundLogger,
) -> NotifySink:
    """Return the sink that tells people, with its deliveries.

    Raises
    ------
    ConfigError
        Raised if a receiver cannot be used as it is configured.
    StateError
        Raised if the state file cannot be used.
    """
    receivers = to_receivers(config)
    outbox = Outbox(database, [receiver.name for receiver in receivers])
    return NotifySink(
        Notifier(
            Policy(
                minimum=config.minimum,
                hold=config.hold,
                recovery=config.recovery,
                remind=config.remind,
                most_per_hour=config.most_per_hour,
            )
        ),
        store=NoticeStore(database, outbox),
        outbox=outbox,
        deliveries=[
            Delivery(receiver, outbox, logger=logger) for receiver in receivers
        ],
        links=links,
        logger=logger,
    )


def to_receivers(config: NotifyConfig) -> list[Receiver]:
    """Return everybody who is told.

    Raises
    ------
    ConfigError
        Raised if a receiver cannot be used as it is configured.
    """
    return [
        Receiver(
            receiver.name,
            url=receiver.url.get_secret_value(),
            form=FORMS[receiver.kind],
            authorization=receiver.authorization.get_secret_value()
            if receiver.authorization
            else None,
            ca=receiver.ca,
        )
        for receiver in config.receivers
    ]
