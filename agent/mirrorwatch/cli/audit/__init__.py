"""`mirrorwatch audit`: proves what was dropped, doubled or altered."""

import click

from .looking import history, report
from .run import run
from .split import compare, digest

__all__ = ["command"]


@click.group(
    "audit",
    epilog="Examples: mirrorwatch audit run --config config.yaml; "
    "mirrorwatch audit report --config config.yaml",
)
def command() -> None:
    """Compare both sides record by record, on Spark.

    Needs the extra `spark` (pip install 'mirrorwatch[spark]') and Java 17 or
    newer. Exit status 0 if everything was verified and nothing is wrong, 3 if
    not, 1 if it failed, which says nothing of the records.
    """


for _command in (run, digest, compare, report, history):
    command.add_command(_command)
