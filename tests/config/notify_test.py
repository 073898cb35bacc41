"""The block `sinks.notify`."""

from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.config import Config, NotifyConfig
from mirrorwatch.config.display import to_display
from mirrorwatch.exceptions import ConfigError

URL = "https://hooks.example.org/services/s3cret"


def read(notify: dict[str, Any]) -> NotifyConfig:
    config = Config.from_mapping(
        {
            "clusters": {
                name: {"kafka": {"bootstrap.servers": f"{name}:1"}}
                for name in "ab"
            },
            "flows": [
                {
                    "source": "a",
                    "target": "b",
                    "topics": {"include": ["t", "mirrorwatch[.]canary"]},
                    "mirror": {"kind": "mirrormaker2"},
                }
            ],
            "sinks": {"notify": notify},
        }
    )
    assert config.sinks.notify is not None
    return config.sinks.notify


def receiver(**keys: str) -> dict[str, str]:
    return {"name": "on-call", "kind": "slack", "url": URL} | keys


def test_a_receiver_is_all_that_is_needed() -> None:
    notify = read({"receivers": [receiver()]})
    assert notify.minimum == "warning"
    assert notify.hold == timedelta(seconds=30)
    assert notify.receivers[0].url.get_secret_value() == URL


def test_no_address_is_ever_shown() -> None:
    notify = read({"receivers": [receiver(authorization="Bearer t0ken")]})
    for shown in (repr(notify), str(notify), str(to_display(notify))):
        assert "s3cret" not in shown
        assert "t0ken" not in shown
        assert "on-call" in shown


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"receivers": []}, "must not be empty"),
        ({"receivers": [receiver(kind="pager")]}, "slack"),
        ({"receivers": [receiver(), receiver()]}, "names must differ"),
        (
            {"receivers": [receiver(url="hooks.example.org/s3cret")]},
            "must be an address",
        ),
        ({"receivers": [receiver(url=f"{URL}\ns3cret")]}, "must be an"),
        ({"receivers": [receiver(url="https://x:s3cret/")]}, "must be an"),
        (
            {"receivers": [receiver(authorization="Bearer s3cret\n")]},
            "no header can carry",
        ),
        ({"receivers": [receiver()], "minimum": "ok"}, "minimum"),
        ({"receivers": [receiver()], "hold": 30}, "needs a unit"),
    ],
)
def test_what_is_wrong_is_said_without_what_is_secret(
    wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read(wrong)
    assert said in str(refused.value)
    assert "sinks.notify" in str(refused.value)
    assert "s3cret" not in str(refused.value)
