"""The address that links in alerts and notices begin with."""

import socket

import pytest

from mirrorwatch.config import Config
from mirrorwatch.exceptions import ConfigError

MINIMAL = {
    "clusters": {
        "summit": {"kafka": {"bootstrap.servers": "a:9092"}},
        "ldf": {"kafka": {"bootstrap.servers": "b:9092"}},
    },
    "flows": [{"source": "summit", "target": "ldf"}],
}


@pytest.mark.parametrize(
    ("web", "address"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"listen": "10.1.2.3:80"}, "http://10.1.2.3:80"),
        ({"listen": "[::1]:8080"}, "http://[::1]:8080"),
        ({"listen": "0.0.0.0:90"}, f"http://{socket.gethostname()}:90"),
        ({"listen": "[::]:90"}, f"http://{socket.gethostname()}:90"),
        (
            {"url": "https://status.example.org/mirror/"},
            "https://status.example.org/mirror",
        ),
    ],
)
def test_links_begin_with_where_people_reach_the_page(
    web: dict[str, str], address: str
) -> None:
    config = Config.from_mapping(MINIMAL | {"web": web})
    assert config.web.address == address


@pytest.mark.parametrize("url", ["status.example.org", "https://a:b@c/"])
def test_an_address_that_is_none_or_holds_a_secret_is_refused(
    url: str,
) -> None:
    with pytest.raises(ConfigError, match=r"web\.url"):
        Config.from_mapping(MINIMAL | {"web": {"url": url}})
