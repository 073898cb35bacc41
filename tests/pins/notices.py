"""What receivers are sent while a flow fails, recovers and is worked on."""

from typing import Any

from tests.support.webhook import serve_webhook

from .seam import NoticesScene

__all__ = ["notices"]


def notices() -> dict[str, list[dict[str, Any]]]:
    """Return all bodies, by the kind of receiver."""
    with serve_webhook() as plain, serve_webhook() as slack:
        with NoticesScene(plain=plain.url, slack=slack.url) as scene:
            scene.tick("healthy", minutes=3)
            scene.tick("broken", minutes=15)
            scene.tick("healthy", minutes=30)
            scene.announce(minutes=20, reason="MirrorMaker 3.9 to 4.3")
            scene.tick("broken", minutes=18)
            scene.tick("healthy", minutes=10)
        assert not scene.waiting
        return {"webhook": plain.bodies, "slack": slack.bodies}
