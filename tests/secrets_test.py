"""Names of secrets: one list for logs, configuration and promotion."""

import pytest

from mirrorwatch.secrets import HIDDEN, hide_secrets, looks_secret, never_show

LOGS = (
    *("password", "passwd", "sasl.password", "client_secret", "TOKEN"),
    *("credentials", "Authorization", "authorisation", "api_key", "api.key"),
    *("apikey", "api-key", "private", "sasl.jaas.config", "ssl.key.pem"),
    *("key_pem", "key.pem", "Set-Cookie"),
)

CONFIGURATION = (
    *("sasl.pasword", "sasl.password", "PASSWD", "token", "sasl.jaas.config"),
    *("ssl.key.location", "ssl.keystore.location", "sasl.kerberos.keytab"),
    *("ssl.certificate.pem", "ssl_ca_pem", "sasl.oauthbearer.client.secret"),
    *("credential", "keyfile", "monkey"),
)
"""Words that hide the value of a setting."""

PROMOTION = (
    *("pasword", "passwort", "secrets", "tokens", "X-Auth-Token"),
    *("credentials", "authorization", "apikey", "api-key", "X-Api-Key"),
    *("app_key", "integrationKey", "integration-key", "routing_key"),
    *("serviceKey", "service_key", "userKey", "private-key", "access_key"),
)
"""Words that hide parts of dashboards and rules."""


@pytest.mark.parametrize("name", sorted({*LOGS, *CONFIGURATION, *PROMOTION}))
def test_what_one_part_hides_every_part_hides(name: str) -> None:
    for each in (name, name.upper(), f"old.{name}", f"{name}_2"):
        assert looks_secret(each)
        assert looks_secret(each, in_data=True)


@pytest.mark.parametrize("name", ["key", "keys", "tagKey", "field_keys"])
def test_the_key_of_data_is_no_secret_but_that_of_a_setting_may_be(
    name: str,
) -> None:
    assert looks_secret(name)
    assert not looks_secret(name, in_data=True)


@pytest.mark.parametrize(
    "name",
    [
        *("bootstrap.servers", "sasl.username", "topic", "listen", "error"),
        *("partition", "Content-Type", "temperature", "url", "compass"),
    ],
)
def test_other_names_are_shown(name: str) -> None:
    assert not looks_secret(name)
    assert not looks_secret(name, in_data=True)


def test_a_host_is_hidden_unless_it_is_shown_elsewhere() -> None:
    hook, local = "http://hooks.site/x", "http://127.0.0.1:1/x"
    never_show([hook, local, "a.site:1,b.site"], ["http://hooks.site"])
    assert hide_secrets(f"at {hook}, {local}") == f"at {HIDDEN}, {HIDDEN}"
    assert hide_secrets("hooks.site 127.0.0.1") == "hooks.site 127.0.0.1"
    assert hide_secrets("A.site, b.site") == f"{HIDDEN}, {HIDDEN}"
    never_show([])
    assert hide_secrets("a.site") == "a.site"


def test_numbers_and_short_values_hide_nothing() -> None:
    never_show(["5s", "100", "true", "efd", "mirrorwatch"])
    text = "mirrorwatch waits 5s of 100 for efd: true"
    assert hide_secrets(text) == text


def test_a_single_word_is_hidden_only_where_it_stands_alone() -> None:
    never_show(["kafka:9092", "kafka"])
    text = "Kafka 4.3: kafka:9092/1: refused; see kafkas"
    hidden = f"Kafka 4.3: {HIDDEN}/1: refused; see kafkas"
    assert hide_secrets(text) == hidden
    never_show([])
    assert hide_secrets(text) == text
