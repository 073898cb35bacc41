"""The secured variant of the lab: TLS, SCRAM and an authorizer."""

import secrets
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from mirrorwatch.domain.acls import Right

from .exceptions import LabError
from .link import LOOPBACK
from .process import write_private

__all__ = ["AGENT_USER", "Grants", "SiteSecurity", "secure"]


_REMEDY = (
    "The secured lab makes its own certificates: install the extra 'lab' "
    "(mirrorwatch[lab])"
)


class Authority:
    """A certificate authority that lives as long as the lab.

    Parameters
    ----------
    folder
        Folder for the certificates; an existing one.

    Raises
    ------
    LabError
        Raised with the remedy if the libraries are not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            # Only the secured lab needs it, so the agent's image has none.
            import trustme  # noqa: PLC0415
        except ModuleNotFoundError as e:
            raise LabError(_REMEDY) from e
        self._folder = folder
        self._authority = trustme.CA()
        self.path = folder / "ca.pem"
        write_private(self.path, self._authority.cert_pem.bytes().decode())

    def issue(self, name: str) -> Path:
        """Issue a certificate for loopback that says who its owner is.

        Parameters
        ----------
        name
            Common name; Kafka's principal is made of it.

        Returns
        -------
        Path
            File with the private key, then the chain.

        Notes
        -----
        Kafka reads a key in PKCS 8 only, trustme writes the older form.
        """
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            Encoding,
            NoEncryption,
            PrivateFormat,
            load_pem_private_key,
        )

        leaf = self._authority.issue_cert(LOOPBACK, common_name=name)
        key = load_pem_private_key(
            leaf.private_key_pem.bytes(), password=None
        ).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain = [blob.bytes() for blob in leaf.cert_chain_pems]
        path = self._folder / f"{name}.pem"
        write_private(path, b"".join([key, *chain]).decode())
        return path


AGENT_USER = "mirrorwatch"
"""The agent, which may do only what it was granted."""

MIRROR_USER = "mirror"
"""MirrorMaker 2, which may do everything: it is not what is tested."""

_LAB_USER = "lab"

_BROKER_USER = "broker"
"""The broker towards its own controller, by certificate."""

_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"

_PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"

_ITERATIONS = 4096
"""Fewest that Kafka accepts: the lab's passwords are random already."""

_TIMEOUT_SECONDS = 90
"""Longest wait for an answer of a broker on this machine, which may do other
things."""


class SiteSecurity:
    """Certificates, users and passwords of one site.

    Parameters
    ----------
    alias
        Alias of the site.
    authority
        Authority that issues certificates, the same for both sites.
    folder
        Folder for certificates and passwords.

    Notes
    -----
    The lab comes in by certificate on the first listener and makes the
    users from there, because Kafka's own tool for making them before the
    first start takes passwords on its command line, for all to see.
    """

    def __init__(self, alias: str, authority: Authority, folder: Path) -> None:
        self._alias = alias
        self._authority = authority
        folder.mkdir(mode=0o700)
        self._broker = authority.issue(f"{alias}-{_BROKER_USER}")
        self._lab = authority.issue(f"{alias}-{_LAB_USER}")
        self._passwords = {
            user: secrets.token_urlsafe(24)
            for user in (AGENT_USER, MIRROR_USER)
        }
        self._files = {
            user: folder / f"{user}.password" for user in self._passwords
        }
        for user, password in self._passwords.items():
            write_private(self._files[user], password)
        self._vault = folder / f"{MIRROR_USER}.properties"
        password = self._passwords[MIRROR_USER]
        write_private(self._vault, f"password={password}\n")

    @property
    def secrets(self) -> tuple[str, ...]:
        """All passwords, so that a test can look for them in any output."""
        return tuple(self._passwords.values())

    def password_file(self, user: str = AGENT_USER) -> Path:
        """Return a file that holds nothing but a user's password."""
        return self._files[user]

    def broker(self, listeners: Iterable[str]) -> dict[str, str]:
        """Return the broker's properties.

        Parameters
        ----------
        listeners
            Listeners for clients; the first one is for the lab.
        """
        direct, *others = listeners
        protocols = {direct: "SSL", "CONTROLLER": "SSL"}
        protocols |= dict.fromkeys(others, "SASL_SSL")
        insiders = (_BROKER_USER, _LAB_USER)
        supers = [*(f"{self._alias}-{who}" for who in insiders), MIRROR_USER]
        return {
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in protocols.items()
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._broker),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.path),
            # User:lab, and not the certificate's whole subject.
            "ssl.principal.mapping.rules": r"RULE:^.*CN=([^,]+).*$/$1/",
            f"listener.name.{direct.lower()}.ssl.client.auth": "required",
            "listener.name.controller.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            **{
                f"listener.name.{name.lower()}.scram-sha-512."
                "sasl.jaas.config": f"{_LOGIN};"
                for name in others
            },
            "authorizer.class.name": (
                "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            ),
            "super.users": ";".join(f"User:{name}" for name in supers),
        }

    def administrator(self) -> dict[str, str]:
        """Return the lab's own properties of librdkafka."""
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self._authority.path),
            "ssl.certificate.location": str(self._lab),
            "ssl.key.location": str(self._lab),
        }

    def client(self, user: str) -> dict[str, str]:
        """Return a user's properties of librdkafka, password and all."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self._authority.path),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": self._passwords[user],
        }

    def mirror(self) -> dict[str, str]:
        """Return the mirror's properties for this site.

        Notes
        -----
        The password is a reference. MirrorMaker 2 writes its connectors'
        configuration to a topic of the target, where a plain one could be
        read by everybody who may read positions.
        """
        password = f"${{file:{self._vault}:password}}"
        return {
            "config.providers": "file",
            "config.providers.file.class": _PROVIDER,
            **{
                f"{self._alias}.{key}": value
                for key, value in {
                    "security.protocol": "SASL_SSL",
                    "ssl.truststore.type": "PEM",
                    "ssl.truststore.location": str(self._authority.path),
                    "sasl.mechanism": "SCRAM-SHA-512",
                    "sasl.jaas.config": (
                        f'{_LOGIN} username="{MIRROR_USER}" '
                        f'password="{password}";'
                    ),
                }.items()
            },
        }

    def change_password(
        self, admin: AdminClient, user: str = AGENT_USER
    ) -> None:
        """Give a user another password, and write it to its file."""
        self._passwords[user] = secrets.token_urlsafe(24)
        self.create_users(admin)
        write_private(self._files[user], self._passwords[user])

    def create_users(self, admin: AdminClient) -> None:
        """Make the users, or give them their passwords again."""
        scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
        wanted: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(user, scram, password.encode())
            for user, password in self._passwords.items()
        ]
        answers: Mapping[str, Future[None]] = (
            admin.alter_user_scram_credentials(wanted)
        )
        for user, future in answers.items():
            try:
                future.result(_TIMEOUT_SECONDS)
            except (KafkaException, TimeoutError) as e:
                raise LabError(
                    f"Cannot make the user {user} at {self._alias}: {e}"
                ) from e


def secure(aliases: Iterable[str], folder: Path) -> dict[str, SiteSecurity]:
    """Make certificates, users and passwords for some sites."""
    folder.mkdir(mode=0o700)
    authority = Authority(folder)
    return {
        alias: SiteSecurity(alias, authority, folder / alias)
        for alias in aliases
    }


class Grants:
    """The rights of one user at one site.

    Parameters
    ----------
    admin
        Client of somebody who may change ACLs.
    user
        Whose rights they are.
    """

    def __init__(self, admin: AdminClient, user: str) -> None:
        self._admin = admin
        self._user = user

    def grant(self, rights: Iterable[Right]) -> None:
        """Allow these, beside what is allowed already."""
        wanted = [AclBinding(*self._entry(right)) for right in rights]
        for future in self._admin.create_acls(wanted).values():
            _result(future, "grant")

    def revoke(self, rights: Iterable[Right]) -> None:
        """Take these away."""
        wanted = [AclBindingFilter(*self._entry(right)) for right in rights]
        for future in self._admin.delete_acls(wanted).values():
            _result(future, "revoke")

    def _entry(self, right: Right) -> tuple[Any, ...]:
        return (
            ResourceType.TOPIC,
            right.topic,
            ResourcePatternType.LITERAL,
            f"User:{self._user}",
            "*",
            AclOperation[right.operation],
            AclPermissionType.ALLOW,
        )


def _result(future: "Future[Any]", what: str) -> None:
    try:
        future.result(_TIMEOUT_SECONDS)
    except (KafkaException, TimeoutError) as e:
        raise LabError(f"Cannot {what} rights: {e}") from e
