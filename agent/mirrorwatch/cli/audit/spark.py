"""The way to the Spark job, which is only there with the extra `spark`."""

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ...domain.audit import AuditResult, FinishedAudit, Hours
from ...exceptions import AuditError

__all__ = ["report_page", "require", "spark_job"]


def spark_job() -> Any:
    """Return the module that runs audits.

    Raises
    ------
    AuditError
        Raised with the remedy if it cannot be loaded.
    """
    require("pyspark", "jinja2")
    return importlib.import_module("mirrorwatch_audit.entry")


def report_page(
    result: AuditResult, finished: Sequence[FinishedAudit], hours: Hours
) -> str:
    """Return the report of runs as HTML.

    Raises
    ------
    AuditError
        Raised with the remedy if the template library is missing.
    """
    require("jinja2")
    module = importlib.import_module("mirrorwatch_audit.report")
    page: str = module.report_page(result, finished, hours)
    return page


def require(*needed: str) -> None:
    """Refuse to go on without packages of the extra `spark`.

    Raises
    ------
    AuditError
        Raised with the remedy.
    """
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise AuditError(
            f"The audit needs {' and '.join(missing)}: "
            "pip install 'mirrorwatch[spark]'"
        )
