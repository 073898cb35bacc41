"""The login of Amazon MSK by IAM, which librdkafka does not know.

It is a token for OAUTHBEARER, made by AWS's own signer (extra ``msk-iam``) of
the credentials that boto3 finds: a role of the pod or machine, or variables.
"""

import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from .exceptions import ConfigError

__all__ = [
    "MECHANISM",
    "find_msk_fault",
    "is_msk_iam",
    "names_region",
    "with_login",
]

MECHANISM = "AWS_MSK_IAM"
"""The mechanism's name in AWS's library for Java."""

NAMES = ("sasl.mechanism", "sasl.mechanisms")

BROKER = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com")

REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
"""Variables that hold it where brokers have names of the site's own."""


def is_msk_iam(properties: Mapping[str, str]) -> bool:
    """Return whether a client logs in so."""
    return any(properties.get(name, "").upper() == MECHANISM for name in NAMES)


def names_region(servers: str) -> bool:
    """Return whether the names of brokers hold the region."""
    return BROKER.search(servers) is not None


def find_msk_fault(properties: Mapping[str, str]) -> str | None:
    """Return why a client cannot log in so, if it cannot."""
    if properties.get("security.protocol", "").upper() != "SASL_SSL":
        return f"{MECHANISM} needs security.protocol SASL_SSL"
    if not _region(properties):
        return (
            "the region is in no name of bootstrap.servers; set the "
            "environment variable AWS_REGION"
        )
    try:
        _generator()
    except ConfigError as e:
        return str(e)
    return None


def with_login(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return properties as a client takes them, with what makes tokens where
    one is needed.

    Raises
    ------
    ConfigError
        Raised if AWS's signer is not installed.
    """
    if not is_msk_iam(properties):
        return dict(properties)
    rest = {k: v for k, v in properties.items() if k not in NAMES}
    return rest | {
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": partial(_make_token, _generator(), _region(properties)),
    }


def _make_token(
    generate: Any, region: str, _: str | None
) -> tuple[str, float]:
    """Return a token, and until when it is valid, in seconds since 1970."""
    token, expiry_milliseconds = generate(region)
    return token, expiry_milliseconds / 1000


def _region(properties: Mapping[str, str]) -> str:
    found = BROKER.search(properties.get("bootstrap.servers", ""))
    if found:
        return found[1]
    return next((os.environ[n] for n in REGIONS if os.environ.get(n)), "")


def _generator() -> Any:
    try:
        from aws_msk_iam_sasl_signer import (  # noqa: PLC0415 - an extra
            MSKAuthTokenProvider,
        )
    except ImportError as e:
        raise ConfigError(
            f"sasl.mechanism {MECHANISM} needs the extra msk-iam: pip install "
            "'.[msk-iam]' in a checkout"
        ) from e
    return MSKAuthTokenProvider.generate_auth_token
