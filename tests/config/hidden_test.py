"""What is taken out of anything that other processes say."""

import pytest

from mirrorwatch.config import Config
from mirrorwatch.config.display import hidden_values


def test_every_secret_is_found_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("USER_NAME", "referenced")
    config = Config.from_mapping(
        {
            "clusters": {
                "summit": {
                    "kafka": {
                        "bootstrap.servers": "summit:9092",
                        "sasl.username": "${env:USER_NAME}",
                        "sasl.password": "kafka-secret",
                    },
                    "schema_registry": {
                        "url": "http://registry:8081",
                        "username": "reader",
                        "password": "registry-secret",
                    },
                },
                "ldf": {"kafka": {"bootstrap.servers": "ldf:9092"}},
            },
            "flows": [{"source": "summit", "target": "ldf"}],
            "sinks": {
                "influxdb": {
                    "url": "http://influx:8086",
                    "org": "efd",
                    "bucket": "b",
                    "token": "influx-secret",
                }
            },
        }
    )
    assert set(hidden_values(config)) == {
        "referenced",
        "kafka-secret",
        "registry-secret",
        "influx-secret",
    }
