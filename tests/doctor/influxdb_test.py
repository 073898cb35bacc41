"""`mirrorwatch doctor` on a real InfluxDB 2.x: its mapping for InfluxQL."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.config import InfluxDBConfig
from mirrorwatch.doctor.findings import Findings
from mirrorwatch.doctor.servers import examine_influxdb
from mirrorwatch.domain.doctor import DoctorFinding, FindingSeverity
from tests.support.http import HTTP
from tests.support.influx import TOKEN, Influx2

pytestmark = pytest.mark.influx


@pytest.fixture
def influx(tmp_path: Path) -> Iterator[Influx2]:
    server = Influx2(tmp_path)
    try:
        server.start()
        server.set_up()
        yield server
    finally:
        server.kill()


def call(server: Influx2, method: str, path: str, **request: Any) -> Any:
    response = HTTP.request(
        method,
        f"{server.url}/api/v2/{path}",
        headers={"Authorization": f"Token {TOKEN}"},
        timeout=120,
        **request,
    )
    response.raise_for_status()
    return response.json()


def examined(server: Influx2, bucket: str, token: str) -> list[DoctorFinding]:
    findings = Findings("InfluxDB")
    config = {"url": server.url, "org": "efd", "bucket": bucket}
    examine_influxdb(
        InfluxDBConfig.model_validate(config | {"token": token}), findings
    )
    return findings.all


def test_a_token_that_may_only_write_shows_a_missing_mapping(
    influx: Influx2,
) -> None:
    (org,) = call(influx, "GET", "orgs")["orgs"]
    # 2.7 maps it to the policy `raw` of `efd`, which is not the default.
    bucket = {"orgID": org["id"], "name": "efd/raw", "retentionRules": []}
    made = call(influx, "POST", "buckets", json=bucket)
    resource = {"type": "buckets", "id": made["id"], "orgID": org["id"]}
    writing = {"action": "write", "resource": resource}
    asked = {"orgID": org["id"], "permissions": [writing]}
    token = call(influx, "POST", "authorizations", json=asked)["token"]

    (found,) = examined(influx, "efd/raw", token)
    assert found.check == "mapping"
    assert found.severity is FindingSeverity.WARNING
    assert token not in str(found)

    # The command, by its options, as nobody has the `influx` command here.
    words = shlex.split(re.sub(r'"\$\(.*\)"', made["id"], found.remedy))
    options = words[words.index("create") + 1 :]
    options.remove("--default")
    named = dict(zip(options[::2], options[1::2], strict=True))
    mapping = {
        "org": named.pop("--org"),
        "database": named.pop("--db"),
        "retention_policy": named.pop("--rp"),
        "bucketID": named.pop("--bucket-id"),
        "default": True,
    }
    assert named == {}
    call(influx, "POST", "dbrps", json=mapping)
    assert examined(influx, "efd/raw", token) == []


def test_a_bucket_that_is_mapped_by_its_name_is_no_finding(
    influx: Influx2,
) -> None:
    assert examined(influx, "mirrorwatch", TOKEN) == []
