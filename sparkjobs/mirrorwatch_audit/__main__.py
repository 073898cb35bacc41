"""The audit on its own: the same as `mirrorwatch audit`."""

import sys

from mirrorwatch.cli import main as mirrorwatch

__all__ = ["main"]


def main() -> None:
    """Run `mirrorwatch audit` with the arguments of this process."""
    mirrorwatch(["audit", *sys.argv[1:]], prog_name="mirrorwatch")


if __name__ == "__main__":
    main()
