"""Entry point of ``python -m mirrorwatch``."""

from .cli import main

main()
