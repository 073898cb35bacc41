"""Where the folder of the audits is."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["local_path", "to_url"]


def to_url(folder: str) -> str:
    """Return a folder as a URL; a path without a scheme is on this machine,
    whatever file system Hadoop would take it for.
    """
    if "://" in folder or folder.startswith("file:"):
        return folder.rstrip("/")
    return Path(folder).expanduser().absolute().as_uri()


def local_path(folder: str) -> Path | None:
    """Return a folder of this machine as a path; `None` if it is elsewhere."""
    url = urlsplit(to_url(folder))
    return Path(unquote(url.path)) if url.scheme == "file" else None
