"""The configuration: one YAML file, frozen models, loaded once."""

from .audit import AuditConfig
from .canary import CanaryConfig, SizedConfig
from .flows import (
    ClusterConfig,
    ConnectConfig,
    FlowConfig,
    JmxConfig,
    MirrorConfig,
    MirrorTopicsConfig,
    NamingConfig,
    SchemaRegistryConfig,
    TopicsConfig,
)
from .kafka import KafkaProperties
from .limits import CanaryLimits, LatencyLimits, LimitsConfig
from .root import Config
from .sinks import (
    DownsamplingConfig,
    InfluxDBConfig,
    NotifyConfig,
    ReceiverConfig,
    SinksConfig,
    SpoolConfig,
    StateConfig,
    WebConfig,
)
from .types import HttpServer

__all__ = [
    "AuditConfig",
    "CanaryConfig",
    "CanaryLimits",
    "ClusterConfig",
    "Config",
    "ConnectConfig",
    "DownsamplingConfig",
    "FlowConfig",
    "HttpServer",
    "InfluxDBConfig",
    "JmxConfig",
    "KafkaProperties",
    "LatencyLimits",
    "LimitsConfig",
    "MirrorConfig",
    "MirrorTopicsConfig",
    "NamingConfig",
    "NotifyConfig",
    "ReceiverConfig",
    "SchemaRegistryConfig",
    "SinksConfig",
    "SizedConfig",
    "SpoolConfig",
    "StateConfig",
    "TopicsConfig",
    "WebConfig",
]
