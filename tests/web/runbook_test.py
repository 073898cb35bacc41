"""The runbook that the agent serves, and where its links lead."""

import re
from pathlib import Path

import httpx
import pytest

from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.web.runbook import Phrase, Runbook

TEXT = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text("utf-8")

BOOK = """# Book

See [`lag`](#lag) and [security](security.md#rights).

## `lag`

### Nothing is copied

`Nothing of … is copied: … wait` — **critical**. Restart <b>it</b>.

- `… falls behind for …, and longer from minute to minute`: add tasks

### Unknown

| reason | what to do |
| --- | --- |
| `… falls behind for …` | look |
| `No topic was seen yet` | wait |

## `skips`

`Nothing of … is copied: … wait`, again.
"""


@pytest.fixture(scope="module")
def book() -> Runbook:
    return Runbook(BOOK)


def anchors(page: str) -> list[str]:
    return re.findall(r' id="([^"]+)"', page)


@pytest.mark.parametrize(
    ("check", "reason", "anchor"),
    [
        (
            "lag",
            "Nothing of a->b is copied: 5 records wait, for long",
            "#lag-nothing-of-is-copied-wait",
        ),
        (
            "skips",
            "Nothing of a->b is copied: 5 records wait, for long",
            "#skips-nothing-of-is-copied-wait",
        ),
        # Of one record, too.
        (
            "lag",
            "Nothing of a->b is copied: 1 record of 1 topic waits, for long",
            "#lag-nothing-of-is-copied-wait",
        ),
        # Both fit; the one that says more is meant.
        (
            "lag",
            "orders falls behind for 3 min, and longer from minute to minute",
            "#lag-falls-behind-for-and-longer-from-minute-to",
        ),
        ("lag", "orders falls behind for 3 min.", "#lag-falls-behind-for"),
        ("lag", "no topic was seen yet", "#lag-no-topic-was-seen-yet"),
        ("lag", "Something that nobody wrote about", "#lag"),
        ("lag", "", "#lag"),
        ("tasks", "Nothing of a->b is copied: 5 wait", ""),
    ],
)
def test_a_verdict_leads_to_what_is_said_about_just_its_reason(
    book: Runbook, check: str, reason: str, anchor: str
) -> None:
    assert book.link(check, reason) == f"/runbook{anchor}"
    if anchor:
        assert anchor.removeprefix("#") in anchors(book.page)


def test_a_mirror_of_another_name_leads_to_the_same() -> None:
    book = Runbook.load()
    said = (
        "{} was rewound and copies 5 records again: a[0] offsets [1, 6). "
        "Rewinding skips no record; b may hold duplicates"
    )
    mine, other = (
        book.link("position", said.format(name))
        for name in ("MirrorMaker", "Mirus")
    )
    assert mine == other
    assert not mine.endswith("#position")


def test_nothing_in_the_text_becomes_markup_or_leads_out_of_the_agent(
    book: Runbook,
) -> None:
    assert "&lt;b&gt;it" in book.page
    assert 'href="#lag"' in book.page
    assert "security.md" not in book.page


@pytest.mark.parametrize("text", ["lag", "limits.lag", "…: …", "a b c"])
def test_names_and_gaps_alone_are_no_reasons(text: str) -> None:
    assert Phrase.of(text) is None


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_a_section_to_link_to(check: str) -> None:
    real = Runbook.load()
    assert real.link(check) == f"/runbook#{check}"
    assert check in anchors(real.page)


@pytest.mark.parametrize("check", CHECKS)
def test_every_section_says_how_sure_the_check_is_and_what_to_do(
    check: str,
) -> None:
    _, _, rest = TEXT.partition(f"\n## `{check}`\n")
    section, _, _ = rest.partition("\n## ")
    assert "How sure: " in section
    told = ("What to do", "what to do", "Raise ", "Set ", "restart")
    assert any(words in section for words in told)


def test_anchors_are_unique_and_links_within_lead_to_one() -> None:
    page = Runbook.load().page
    found = anchors(page)
    assert len(found) == len(set(found))
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= set(found)


def test_every_reason_that_the_runbook_has_is_found_again() -> None:
    real = Runbook.load()
    sections = re.split(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    reasons = 0
    for title, section in zip(sections[1::2], sections[2::2], strict=True):
        check = title.strip("`")
        for span in re.findall(r"`([^`]+)`", section):
            text = " ".join(span.split())
            if check in CHECKS and Phrase.of(text) is not None:
                link = real.link(check, text.replace("…", "17"))
                assert link.startswith(f"/runbook#{check}-"), text
                reasons += 1
    assert reasons > 200


def test_it_is_served_in_the_looks_of_the_page(client: httpx.Client) -> None:
    answer = client.get("/runbook")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "<h2" in answer.text
    assert " style=" not in answer.text
    for address in re.findall(r'(?:src|href)="(static/[^"]+)"', answer.text):
        assert client.get(f"/{address}").status_code == 200
