"""An HTTP server on loopback, whose requests go to one function."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["handling"]


@contextmanager
def handling(
    handle: Callable[[BaseHTTPRequestHandler], None],
) -> Iterator[str]:
    """Give every request to a function, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            handle(self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
