"""Certificates of a secured lab, as PEM files that Kafka can read."""

from pathlib import Path

from ..exceptions import LabError
from .addresses import LOOPBACK
from .runtime import write_private

__all__ = ["Authority"]

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
        """Certificate of the authority, which all clients trust."""
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
