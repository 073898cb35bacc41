"""What receivers are sent."""

import json

from mirrorwatch.domain.notices.model import Line, NoticeMessage
from mirrorwatch.sinks.notify import to_slack, to_webhook
from tests.support.builders import NOON

PAGE = "https://watch.example"
MESSAGE = NoticeMessage(
    id="summit->ldf@12:00",
    at=NOON,
    title="summit->ldf is critical",
    lines=(
        Line(text="critical: lag: 3 < 5 & more", link=f"{PAGE}/runbook#lag"),
        Line(text=f"12:00 UTC, {PAGE}", link=PAGE),
    ),
    document={"kind": "worse", "flow": "summit->ldf"},
)


def test_slack_gets_text_with_its_own_marks_escaped() -> None:
    title = "*summit-&gt;ldf is critical*"
    rest = (
        "critical: lag: 3 &lt; 5 &amp; more "
        f"(<{PAGE}/runbook#lag|what to do>)\n12:00 UTC, {PAGE}"
    )
    assert to_slack(MESSAGE) == {
        "text": f"{title}\n{rest}",
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": title}},
            {"type": "section", "text": {"type": "mrkdwn", "text": rest}},
        ],
    }


def test_no_block_is_longer_than_slack_takes() -> None:
    lines = tuple(Line(text="x" * 400) for _ in range(12))
    blocks = to_slack(
        NoticeMessage(id="1", at=NOON, title="t" * 4000, lines=lines)
    )["blocks"]
    assert len(blocks) == 3
    assert all(len(block["text"]["text"]) <= 3000 for block in blocks)


def test_programs_get_the_document_and_the_text() -> None:
    document = to_webhook(MESSAGE)
    assert json.loads(json.dumps(document)) == {
        "kind": "worse",
        "flow": "summit->ldf",
        "title": "summit->ldf is critical",
        "text": MESSAGE.text,
    }
