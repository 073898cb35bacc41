"""Results posted to the agent, which then needs no folder in common."""

from threading import Event

import httpx

from mirrorwatch.config.audit import AuditPost
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError
from mirrorwatch.http import bounded_client, describe_failure, trust
from mirrorwatch.state.audits import to_versioned

__all__ = ["post_result"]


TIMEOUT_SECONDS = 30.0

PAUSES = (0.0, 5.0, 15.0, 60.0)
"""Seconds before each attempt: an agent may be restarting."""


def post_result(audit: FinishedAudit, post: AuditPost) -> None:
    """Post a result to the agent.

    Raises
    ------
    AuditError
        Raised if the agent does not take it.
    """
    said = ""
    address = f"{post.url.rstrip('/')}/api/audit/results"
    token = post.token.get_secret_value()
    try:
        verify = trust(post.ca)
    except OSError as e:
        raise AuditError(f"audit.post.ca {post.ca}: {e}") from e
    with bounded_client(
        timeout_seconds=TIMEOUT_SECONDS,
        verify=verify,
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        for pause in PAUSES:
            Event().wait(pause)
            try:
                answer = client.post(address, content=to_versioned(audit))
            except httpx.TransportError as e:
                said = describe_failure(e, TIMEOUT_SECONDS)
                continue
            if answer.is_success:
                return
            said = f"HTTP {answer.status_code}"
            if answer.is_client_error:
                break
    raise AuditError(
        f"The agent at {post.url} did not take {audit.result.id}: {said}"
    )
