"""What the commands of the audit print."""

from io import StringIO

from rich.console import Console

from mirrorwatch.cli.audit_page import print_crossing
from mirrorwatch.domain.audit.result import Crossing


def test_a_sentence_is_one_line_for_the_program_that_reads_it() -> None:
    narrow = Console(file=StringIO(), width=40)
    crossing = Crossing(
        side="source",
        records=1_000_000,
        read_bytes=250_000_000,
        digest_bytes=12_345,
    )

    print_crossing(crossing, narrow)

    assert isinstance(narrow.file, StringIO)
    assert narrow.file.getvalue() == (
        "Digest of the source: 12.3 kB for 1,000,000 records of 250 MB, "
        "0.00494 % of what was read\n"
    )
