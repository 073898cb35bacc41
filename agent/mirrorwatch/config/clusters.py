"""The `clusters` block: where the sites are."""

from pydantic import Field

from .addresses import HttpUrl
from .base import Model
from .http_server import HttpServer
from .kafka import KafkaProperties

__all__ = ["ClusterConfig", "SchemaRegistryConfig"]


class SchemaRegistryConfig(HttpServer):
    """A schema registry with Confluent's API."""

    url: HttpUrl = Field(title="Address")
    """Address of the registry, with its path if it has one
    (`/apis/ccompat/v7` for Apicurio)."""


class ClusterConfig(Model):
    """One Kafka cluster."""

    kafka: KafkaProperties = Field(title="Kafka properties")
    """Properties of every client, by librdkafka's own names;
    `bootstrap.servers` is needed. What the agent must own (such as
    `group.id`) is refused."""

    cluster_id: str | None = Field(None, title="Cluster id", min_length=1)
    """Id that the cluster must have. Without it the first one that is seen
    counts, from then on. Give the new one where a cluster was replaced on
    purpose: what was known of the old one's topics is then forgotten."""

    schema_registry: SchemaRegistryConfig | None = Field(
        None, title="Schema registry"
    )
    """Registry of this site. `canary.format: avro` needs that of the source,
    and looks into that of the target."""
