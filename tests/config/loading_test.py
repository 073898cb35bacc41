import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from mirrorwatch.config import Config
from mirrorwatch.config.display import to_display
from mirrorwatch.domain.lag.retention import RetentionLimits
from mirrorwatch.domain.topics import FilteredRule, FilteredTopics
from mirrorwatch.exceptions import ConfigError

EXAMPLE = Path(__file__).parents[2] / "agent" / "config.example.yaml"


def minimal(**flow: Any) -> dict[str, Any]:
    return {
        "clusters": {
            alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}}
            for alias in ("summit", "ldf", "base")
        },
        "flows": [{"source": "summit", "target": "ldf", **flow}],
    }


def test_the_example_loads() -> None:
    config = Config.from_file(EXAMPLE)
    assert config.file == EXAMPLE
    (flow,) = config.flows
    assert flow.selection.matches(flow.canary.topic)


def test_the_example_loads_with_every_comment_taken_as_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "summit"
    secret.write_text("hunter2\n")
    commented = r"(?m)^( *)# (?=\s*(?:- \{)?[\w.]+:)"
    text = re.sub(commented, r"\1", EXAMPLE.read_text())
    text = re.sub(r"(?m)^(What|Every|value).*$", "", text)
    text = text.replace("/run/secrets/summit", str(secret))
    monkeypatch.setenv("INFLUX_TOKEN", "hunter2")
    monkeypatch.setenv("SLACK_URL", "https://hooks.example/hunter2")
    path = tmp_path / "config.yaml"
    path.write_text(text)
    config = Config.from_file(path)
    assert config.clusters["summit"].kafka["sasl.password"] == "hunter2"
    assert config.sinks.influxdb is not None
    assert config.sinks.notify is not None
    assert config.sinks.notify.receivers[0].kind == "slack"
    assert config.flows[0].mirror.jmx is not None
    assert config.flows[0].canary.format == "avro"
    assert config.flows[0].limits.latency.warning == timedelta(seconds=2)


def test_only_clusters_and_flows_are_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    config = Config.from_mapping(minimal())
    (flow,) = config.flows
    assert flow.name == "summit->ldf"
    assert flow.topic_naming.remote("orders") == "summit.orders"
    assert flow.mirror.source_alias == "summit"
    assert flow.mirror.target_alias == "ldf"
    assert flow.canary.warmup == timedelta(minutes=10, seconds=30)
    assert config.interval == timedelta(seconds=5)
    assert config.web.listen == "127.0.0.1:8080"
    assert (config.web.host, config.web.port) == ("127.0.0.1", 8080)
    assert config.sinks.influxdb is None
    assert config.audit is None
    assert config.state.path == Path("/somewhere/mirrorwatch/state.db")


def test_the_state_file_has_a_place_without_xdg(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/x")
    expected = Path("/home/x/.local/state/mirrorwatch/state.db")
    assert Config.from_mapping(minimal()).state.path == expected


@pytest.mark.parametrize("enabled", [True, False])
def test_retention_is_off_where_configs_are_not_read(*, enabled: bool) -> None:
    block = {"configs": {"enabled": enabled}}
    config = Config.model_validate(minimal(limits=block))
    (flow,) = config.flows
    limits = config.to_limits(flow)["retention"]
    assert isinstance(limits, RetentionLimits)
    assert limits.enabled is enabled


def test_a_key_without_a_value_is_no_key() -> None:
    data = minimal(canary=None, topics={"include": None}, limits={})
    config = Config.from_mapping(data | {"web": None, "sinks": {}})
    assert config == Config.from_mapping(minimal())


def test_the_mirrors_own_aliases_may_be_empty() -> None:
    mirror = {"source_alias": "", "target_alias": "", "separator": ""}
    config = Config.from_mapping(minimal(mirror=mirror, naming="identity"))
    (flow,) = config.flows
    assert flow.mirror.source_alias == ""
    assert flow.naming.separator == ""
    assert flow.topic_naming.remote("heartbeats") == "heartbeats"


@pytest.mark.parametrize(
    "flow",
    [
        {"naming": {"policy": "default", "separator": "_"}},
        {"mirror": {"separator": "_"}},
        {"naming": "default", "mirror": {"separator": "_"}},
    ],
)
def test_the_separator_needs_to_be_said_once(flow: dict[str, Any]) -> None:
    (loaded,) = Config.from_mapping(minimal(**flow)).flows
    assert loaded.mirror.separator == "_"
    assert loaded.topic_naming.remote("orders") == "summit_orders"


def test_topics_may_be_given_as_the_mirror_has_them() -> None:
    topics = {"include": "a[.].*, b", "exclude": " .*x ,"}
    (flow,) = Config.from_mapping(minimal(topics=topics)).flows
    assert flow.topics.include == ("a[.].*", "b")
    assert flow.topics.exclude == (".*x",)


def test_kafka_properties_are_text_as_librdkafka_wants_them() -> None:
    data = minimal()
    data["clusters"]["ldf"]["kafka"] |= {
        "enable.ssl.certificate.verification": False,
        "socket.timeout.ms": 5000,
    }
    kafka = Config.from_mapping(data).clusters["ldf"].kafka
    assert {**kafka} == {
        "bootstrap.servers": "ldf:9092",
        "enable.ssl.certificate.verification": "false",
        "socket.timeout.ms": "5000",
    }


@pytest.mark.parametrize("written", ["0123", "12:34", "1_000", "1.10", "7"])
def test_a_password_of_digits_is_what_is_written(
    tmp_path: Path, written: str
) -> None:
    path = tmp_path / "config.yaml"
    data = minimal()
    data["clusters"]["ldf"]["kafka"] |= {"sasl.password": "PLACE"}
    path.write_text(yaml.safe_dump(data).replace("PLACE", written))
    kafka = Config.from_file(path).clusters["ldf"].kafka
    assert kafka["sasl.password"] == written


def test_flows_from_several_sites_may_merge_if_both_say_so() -> None:
    topics = {"include": ["orders", "a.*"], "merged": ["orders|a.*"]}
    data = minimal(naming="identity", topics=topics)
    other = data["flows"][0] | {"source": "base"}
    both = Config.from_mapping(data | {"flows": [*data["flows"], other]}, "x")
    assert len(both.flows) == 2
    apart = {"include": ["a.*"], "merged": ["a.*"]}
    data["flows"][0]["topics"] = {"include": ["a.*", "b"]} | {
        "merged": ["a.*"]
    }
    other = other | {"topics": apart}
    Config.from_mapping(data | {"flows": [*data["flows"], other]}, "x")


def test_filtered_topics_are_regexes_or_blocks_with_a_share() -> None:
    for given in (["x.*", "y"], "x.*, y", [{"pattern": "x.*"}, "y"]):
        data = minimal(topics={"filtered": given})
        (flow,) = Config.from_mapping(data).flows
        assert flow.filtered == FilteredTopics(
            rules=(FilteredRule(pattern="x.*"), FilteredRule(pattern="y"))
        )
    limited = [{"pattern": "x[.]a", "at_most": "12.5%"}, "x.*"]
    data = minimal(topics={"filtered": limited})
    (flow,) = Config.from_mapping(data).flows
    rules = [flow.filtered.rule(topic) for topic in ("x.a", "x.b", "y.x")]
    assert [rule and rule.at_most for rule in rules] == [0.125, None, None]
    assert rules[1] is not None
    assert rules[2] is None
    shown = to_display(flow)["topics"]["filtered"]
    assert shown[0] == {"pattern": "x[.]a", "at_most": "12.5%"}


def test_the_canary_may_match_filtered_topics_only_if_it_is_off() -> None:
    data = minimal(topics={"filtered": [".*"]})
    with pytest.raises(ConfigError, match=r"filtered\[0\]: must not match"):
        Config.from_mapping(data)
    data["flows"][0]["canary"] = {"enabled": False}
    Config.from_mapping(data)
    data = minimal(topics={"filtered": ["(?!mirrorwatch[.]canary$).*"]})
    Config.from_mapping(data)


def test_flows_that_prefix_their_names_may_go_both_ways() -> None:
    data = minimal()
    back = {"source": "ldf", "target": "summit"}
    Config.from_mapping(data | {"flows": [*data["flows"], back]})


def test_flows_from_one_source_to_two_targets_share_canary_and_topics() -> (
    None
):
    data = minimal(naming="identity")
    other = data["flows"][0] | {"target": "base"}
    Config.from_mapping(data | {"flows": [*data["flows"], other]})


def test_a_mapping_is_refused_in_the_same_words() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_mapping(minimal(canary={"interval": 1}), "demo")
    assert str(caught.value).startswith("demo: flows[0].canary.interval: a ")


def test_the_configuration_is_frozen() -> None:
    config = Config.from_mapping(minimal())
    with pytest.raises(ValidationError, match="frozen"):
        config.flows[0].name = "other"  # type: ignore[misc]


def test_merge_keys_and_anchors_of_yaml_work(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "clusters:\n"
        "  a: {kafka: &k {client.id: x, bootstrap.servers: a}}\n"
        "  b: {kafka: {<<: *k, bootstrap.servers: b}}\n"
        "flows: [{source: a, target: b}]\n"
    )
    kafka = Config.from_file(path).clusters["b"].kafka
    assert {**kafka} == {"client.id": "x", "bootstrap.servers": "b"}


DATA = Path(__file__).parents[1] / "data" / "bad_config"

FILES = sorted(path.stem for path in DATA.glob("*.yaml"))


def load(name: str) -> str:
    path = DATA / f"{name}.yaml"
    with pytest.raises(ConfigError) as caught:
        Config.from_file(path)
    return str(caught.value).replace(str(path), path.name)


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused_with_the_message_beside_it(name: str) -> None:
    assert load(name) == (DATA / f"{name}.txt").read_text().rstrip("\n")


@pytest.mark.parametrize("name", FILES)
def test_no_message_tells_a_secret(name: str) -> None:
    assert "hunter2" not in load(name)


def test_every_expected_message_has_its_file() -> None:
    assert sorted(path.stem for path in DATA.glob("*.txt")) == FILES
    assert len(FILES) > 40


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the file: No such"):
        Config.from_file(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="cannot read the file: Is a dir"):
        Config.from_file(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00clusters")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        Config.from_file(path)
    path.write_bytes(b"clusters: \x01")
    with pytest.raises(ConfigError, match="not YAML: forbidden characters"):
        Config.from_file(path)
    path.write_text("[" * 5000)
    with pytest.raises(ConfigError, match="not YAML: nested too deeply"):
        Config.from_file(path)


def test_a_block_that_contains_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.write_text("clusters: &c\n  a: {kafka: {x: y}}\n  b: *c\nflows: []\n")
    with pytest.raises(ConfigError, match=r"clusters\.b: contains itself"):
        Config.from_file(path)
