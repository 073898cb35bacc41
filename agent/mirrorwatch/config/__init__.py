"""The configuration: one YAML file, frozen models, loaded once."""

from .audit import AuditConfig
from .canary import CanaryConfig, SizedConfig
from .kafka import ClusterConfig, KafkaProperties, SchemaRegistryConfig
from .mirror import (
    ConnectConfig,
    JmxConfig,
    MirrorConfig,
    MirrorTopicsConfig,
    NamingConfig,
    TopicsConfig,
)
from .root import Config, FlowConfig
from .sinks import (
    InfluxDBConfig,
    NotifyConfig,
    ReceiverConfig,
    SinksConfig,
    StateConfig,
    WebConfig,
)
from .types import HttpServer

__all__ = [
    "AuditConfig",
    "CanaryConfig",
    "ClusterConfig",
    "Config",
    "ConnectConfig",
    "FlowConfig",
    "HttpServer",
    "InfluxDBConfig",
    "JmxConfig",
    "KafkaProperties",
    "MirrorConfig",
    "MirrorTopicsConfig",
    "NamingConfig",
    "NotifyConfig",
    "ReceiverConfig",
    "SchemaRegistryConfig",
    "SinksConfig",
    "SizedConfig",
    "StateConfig",
    "TopicsConfig",
    "WebConfig",
]
