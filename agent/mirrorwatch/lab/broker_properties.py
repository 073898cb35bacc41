"""What the lab tells a broker."""

from collections.abc import Mapping
from pathlib import Path

from .addresses import LOOPBACK
from .security import SiteSecurity

__all__ = ["broker_properties"]

_SMALL = {
    # A cluster of one: everything exists once, and is served at once.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.network.threads": "2",
    "num.io.threads": "4",
    # A killed broker comes back only when its own controller has given up
    # on its former self. Nine seconds (the default) are longer than a
    # Connect worker keeps faith: one crash would be two faults.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # Retention is looked at every second, so that a test can overrun it;
    # what is retained for how long stays Kafka's default.
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
}


def broker_properties(
    *,
    listeners: Mapping[str, tuple[int, int]],
    controller_port: int,
    data: Path,
    security: SiteSecurity | None,
    more: Mapping[str, str],
) -> dict[str, str]:
    """Return the properties of a broker that is its own controller.

    Parameters
    ----------
    listeners
        Port and advertised port of each listener.
    controller_port
        Port of the controller's listener.
    data
        Folder for its data.
    security
        Certificates and users; `None` if everybody may do everything.
    more
        Properties that go over all others.
    """
    ports = {name: port for name, (port, _) in listeners.items()}
    everywhere = {**ports, "CONTROLLER": controller_port}
    return {
        **_SMALL,
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": next(iter(ports)),
        "listeners": ",".join(
            f"{name}://{LOOPBACK}:{port}" for name, port in everywhere.items()
        ),
        "advertised.listeners": ",".join(
            f"{name}://{LOOPBACK}:{port}"
            for name, (_, port) in listeners.items()
        ),
        "listener.security.protocol.map": ",".join(
            f"{name}:PLAINTEXT" for name in everywhere
        ),
        "log.dirs": str(data),
        **(security.broker(ports) if security else {}),
        **more,
    }
