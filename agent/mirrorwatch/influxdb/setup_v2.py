"""What is missing in InfluxDB 2.x: buckets and a task."""

from datetime import timedelta

from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.domain.bucket import Bucket
from influxdb_client.domain.bucket_retention_rules import BucketRetentionRules
from influxdb_client.domain.organization import Organization
from influxdb_client.domain.task_create_request import TaskCreateRequest
from influxdb_client.domain.task_update_request import TaskUpdateRequest

from ..config import InfluxDBConfig
from ..exceptions import SinkError
from .downsampling import coarse_name, flux_task
from .step import NEW_RETENTION, Step, change_retention, tell_retention

__all__ = ["find_steps_v2"]


def find_steps_v2(
    config: InfluxDBConfig, client: InfluxDBClient
) -> list[Step]:
    """Return what has to be done, in order.

    Raises
    ------
    SinkError
        Raised if there is no such organization: who owns the data is not
        for this command to decide.
    """
    org = _organization(config, client)
    bucket = config.bucket or ""
    steps = _keep(client, org, bucket, config.retention)
    if config.downsampling.enabled:
        coarse = coarse_name(config)
        steps += _keep(client, org, coarse, config.downsampling.retention)
        steps += _sum_up(config, client, org)
    return steps


def _organization(
    config: InfluxDBConfig, client: InfluxDBClient
) -> Organization:
    known: list[Organization]
    known = client.organizations_api().find_organizations()
    for org in known:
        if config.org in {org.name, org.id}:
            return org
    raise SinkError(
        f"InfluxDB at {config.url} shows this token no organization "
        f"{config.org!r}: make it, or mend org or token of sinks.influxdb",
        sink="influxdb",
    )


def _keep(
    client: InfluxDBClient,
    org: Organization,
    name: str,
    wants: timedelta | None,
) -> list[Step]:
    """Make a bucket, or change how long it keeps points."""
    api = client.buckets_api()
    found = [b for b in api.find_buckets_iter(org_id=org.id) if b.name == name]
    if not found:
        kept = wants or NEW_RETENTION
        return [
            Step(
                f"make bucket {name!r}, kept {tell_retention(kept)}",
                lambda: api.create_bucket(
                    bucket_name=name, org=org, retention_rules=_rules(kept)
                ),
            )
        ]
    (bucket,) = found
    seconds = sum(rule.every_seconds for rule in bucket.retention_rules)

    def change() -> Bucket:
        bucket.retention_rules = _rules(wants or timedelta())
        return api.update_bucket(bucket)

    what = f"bucket {name!r}"
    return change_retention(what, timedelta(seconds=seconds), wants, change)


def _rules(kept: timedelta) -> list[BucketRetentionRules]:
    seconds = int(kept.total_seconds())
    return [BucketRetentionRules(type="expire", every_seconds=seconds)]


def _sum_up(
    config: InfluxDBConfig, client: InfluxDBClient, org: Organization
) -> list[Step]:
    """Make the task, or put it right."""
    api, name, flux = (
        client.tasks_api(),
        coarse_name(config),
        flux_task(config),
    )
    found = api.find_tasks(name=name, org_id=org.id)
    if not found:
        request = TaskCreateRequest(org_id=org.id, flux=flux, status="active")
        return [
            Step(
                f"make task {name!r}",
                lambda: api.create_task(task_create_request=request),
            )
        ]
    task = found[0]
    if task.flux.strip() == flux.strip() and task.status == "active":
        return []
    update = TaskUpdateRequest(flux=flux, status="active")
    return [
        Step(
            f"change task {name!r}",
            lambda: api.update_task_request(task.id, update),
        )
    ]
