"""Reads a mirror's connectors from the REST API of Kafka Connect."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..domain.mirror_records import TARGET_ALIAS
from ..exceptions import ConfigError, SourceError
from ..http import HttpAddress
from ..mirrors.mirrormaker2 import accompanies, copies_records
from ..sources.connect import ConnectApi, to_kafka_version
from .model import FoundMirror, Place, Setting, SourceFilter

__all__ = ["find_connector_mirrors"]


def find_connector_mirrors(
    address: HttpAddress, ca: str | None = None
) -> Sequence[FoundMirror]:
    """Return the flows of the mirrors on a Connect cluster.

    Parameters
    ----------
    address
        Address of any of its workers.
    ca
        File with the CA, as it shall stand in the configuration.

    Raises
    ------
    ConfigError
        Raised if no connector there copies records for MirrorMaker 2.
    SourceError
        Raised if the REST API does not answer as it should.

    Notes
    -----
    Other connectors' settings are not looked at, and no value is quoted: they
    hold passwords.
    """
    api = ConnectApi(
        address.url,
        "Connect",
        address,
        given_by="--from-connect",
        login_by="--username and CONNECT_PASSWORD",
    )
    try:
        connectors = api.connectors()
        version = api.version()
    finally:
        api.close()
    settings = {
        name: _read_settings(each, name, address.url)
        for name, each in sorted(connectors.items())
    }
    values = {
        name: {key: setting.value for key, setting in own.items()}
        for name, own in settings.items()
    }
    found = [
        replace(
            _to_mirror(name, own, address, ca, to_kafka_version(version)),
            companions=tuple(
                other
                for other in values
                if accompanies(values[other])
                and _ends(values[other]) == _ends(values[name])
            ),
        )
        for name, own in settings.items()
        if copies_records(values[name])
    ]
    if not found:
        raise ConfigError(
            f"{address.url}: none of its {len(connectors)} connectors is a "
            "MirrorSourceConnector; give the address of the Connect cluster "
            "that runs MirrorMaker 2"
        )
    return found


def _ends(values: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(
        values.get(f"{side}.cluster.alias") for side in ("source", "target")
    )


def _read_settings(each: Any, name: str, url: str) -> dict[str, Setting]:
    try:
        config: Mapping[str, Any] = each["info"]["config"]
        return {
            # The REST API returns what was given, without defaults.
            "target.cluster.alias": Setting(TARGET_ALIAS, Place(url, 0, name))
        } | {
            str(key): Setting(str(value), Place(url, 0, f"{name}: {key}"))
            for key, value in config.items()
            if value is not None
        }
    except (KeyError, TypeError, AttributeError) as e:
        raise SourceError(
            f"{url}: an answer that is none of Connect's REST API; check the "
            "address",
            source="connect",
            cluster="Connect",
        ) from e


def _to_mirror(
    name: str,
    settings: dict[str, Setting],
    address: HttpAddress,
    ca: str | None,
    version: tuple[int, ...] | None,
) -> FoundMirror:
    place = Place(address.url, 0, name)
    return FoundMirror(
        place=place,
        settings=settings,
        dedicated=False,
        filter=SourceFilter(
            place=place, kind="connector", key="topics", resource=name
        ),
        name=name,
        version=version,
        connect=address.url,
        login=address.username,
        ca=ca,
    )
