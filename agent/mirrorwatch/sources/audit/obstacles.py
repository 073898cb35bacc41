"""What keeps the agent from starting audits, or from reading results."""

from importlib.util import find_spec

__all__ = ["why_not_read", "why_not_start"]


def why_not_start(*, has_file: bool) -> str | None:
    """Return why the agent cannot start an audit, with the remedy.

    Parameters
    ----------
    has_file
        Whether its configuration is a file.
    """
    if not has_file:
        return (
            "The agent cannot start the audit: its configuration is no file "
            "that another process could read. Start it with --config, or set "
            "audit.start to false and run the audit elsewhere"
        )
    # Asked for, not imported: that would cost the agent 100 MB.
    if find_spec("pyspark") is None:
        return (
            "The agent cannot start the audit: PySpark is not installed "
            "beside it. Do pip install 'mirrorwatch[spark]' there, or set "
            "audit.start to false and run the audit elsewhere"
        )
    return None


def why_not_read(folder: str, *, is_local: bool) -> str | None:
    """Return why the agent cannot read results, with the remedy.

    Parameters
    ----------
    folder
        Where results are left.
    is_local
        Whether that is a folder of this machine.
    """
    if is_local:
        return None
    return (
        f"The agent cannot read the results of audits in {folder}: let "
        "audit.out be a folder of its machine, such as a mounted one"
    )
