"""`mirrorwatch dashboards` and `mirrorwatch alerts`, which are alike."""

import click

from .diff import make_diff
from .listing import make_list
from .pull import make_pull
from .push import make_push

__all__ = ["make_group"]


def make_group(group: str, what: str, short: str) -> click.Group:
    """Return the command of ``dashboards`` or ``alerts``.

    Parameters
    ----------
    group
        Which of them.
    what
        What it is about, for its help.
    short
        The same in a word or two, for the list of all commands.
    """
    makers = (make_list, make_diff, make_push, make_pull)
    return click.Group(
        group,
        commands=[make(group) for make in makers],
        help=f"Copy {what} from site to site.\n\n"
        "The users' own as well as those that come with mirrorwatch (the "
        "site `ours`). A map in the sites file says what each site calls "
        "its databases, sources, prefixes, handlers and endpoints.",
        short_help=f"Copy {short} from site to site.",
        epilog=f"Example: mirrorwatch {group} push --sites sites.yaml "
        "--from teststand --to summit --only 'Dome*'",
    )
