"""A message in the form that each kind of receiver takes. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from ...domain.notices import Line, Message

__all__ = ["FORMS", "Form", "to_slack", "to_webhook"]

LONGEST_BLOCK = 2900
"""Characters of a block: Slack refuses a message with one above 3000."""

Form = Callable[[Message], Mapping[str, Any]]


def to_slack(message: Message) -> dict[str, Any]:
    """Return a message as Slack's incoming webhooks take it.

    Notes
    -----
    Mattermost and Rocket.Chat read ``text``, and so does Slack for what a
    phone shows of it; ``blocks`` is what Slack shows.
    """
    title = f"*{_escape(message.title)}*"
    shown = [title, *(_linked(line) for line in message.lines)]
    return {
        "text": "\n".join(shown)[: 10 * LONGEST_BLOCK],
        "blocks": [
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": text[:LONGEST_BLOCK]},
            }
            for text in (title, *_grouped(shown[1:]))
        ],
    }


def to_webhook(message: Message) -> dict[str, Any]:
    """Return a message as JSON for programs, as in docs/notifications.md."""
    return {
        **message.document,
        "title": message.title,
        "text": message.text,
    }


FORMS: Mapping[str, Form] = {"slack": to_slack, "webhook": to_webhook}
"""By the name that the configuration gives it."""


def _linked(line: Line) -> str:
    text = _escape(line.text)
    if line.link is None or line.link in line.text:
        return text
    return f"{text} (<{_escape(line.link)}|what to do>)"


def _grouped(lines: list[str]) -> list[str]:
    """Return lines in as few blocks as hold them."""
    groups: list[str] = []
    for line in lines:
        joined = f"{groups[-1]}\n{line}" if groups else line
        if groups and len(joined) <= LONGEST_BLOCK:
            groups[-1] = joined
        else:
            groups.append(line)
    return groups


def _escape(text: str) -> str:
    """Keep names such as ``a->b`` from being read as Slack's own marks."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
