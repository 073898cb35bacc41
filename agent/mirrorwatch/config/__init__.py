"""The configuration: one YAML file, frozen models, loaded once."""

from .audit import AuditConfig
from .canary import CanaryConfig, SizedConfig
from .clusters import ClusterConfig, SchemaRegistryConfig
from .connect import ConnectConfig
from .flows import FlowConfig
from .http_server import HttpServer
from .influxdb import DownsamplingConfig, InfluxDBConfig, SpoolConfig
from .kafka import KafkaProperties
from .limits import CanaryLimits, LatencyLimits, LimitsConfig
from .mirror import JmxConfig, MirrorConfig, MirrorTopicsConfig
from .notify import NotifyConfig, ReceiverConfig
from .outputs import SinksConfig, StateConfig, WebConfig
from .root import Config
from .topic_naming import NamingConfig
from .topics import TopicsConfig

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
