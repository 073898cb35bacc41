"""Rules of the Prometheus JMX exporter: its own names, and Strimzi's."""

__all__ = ["PLAIN", "STRIMZI"]

PLAIN = """\
lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
  - pattern: ".*"
"""
"""The exporter's own names, in small letters as nearly everyone has them."""

_CLIENT = (
    ".+-total|.+-avg|.+-bytes|.+-count|.+-ratio|.+-age|.+-flight|.+-threads"
    "|.+-connectors|.+-tasks|.+-ago"
)
_TASK = (
    ".+-total|.+-count|.+-ms|.+-ratio|.+-avg|.+-failures|.+-requests"
    "|.+-timestamp|.+-logged|.+-errors|.+-retries|.+-skipped"
)

STRIMZI = f"""\
lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.+), topic=(.+), \
partition=(.+)><>(.+-total|.+-avg|.+-replica|.+-lag|.+-lead)
    name: kafka_$2_$6
    labels: {{clientId: "$3", topic: "$4", partition: "$5"}}
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.+), topic=(.+)><>\
(.+-total|compression-rate|.+-avg)
    name: kafka_$2_$5
    labels: {{clientId: "$3", topic: "$4"}}
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.+), node-id=(.+)><>\
(.+-total|.+-avg)
    name: kafka_$2_$5
    labels: {{clientId: "$3", nodeId: "$4"}}
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.*)><>({_CLIENT})
    name: kafka_$2_$4
    labels: {{clientId: "$3"}}
  - pattern: "kafka.connect<type=connector-task-metrics, connector=(.+), \
task=(.+)><>status: ([a-z-]+)"
    name: kafka_connect_connector_status
    value: 1
    labels: {{connector: "$1", task: "$2", status: "$3"}}
  - pattern: kafka.connect<type=(.+)-metrics, connector=(.+), task=(.+)><>\
({_TASK})
    name: kafka_connect_$1_$4
    labels: {{connector: "$2", task: "$3"}}
  - pattern: kafka.connect<type=connect-worker-metrics, connector=(.+)><>\
([a-z-]+)
    name: kafka_connect_worker_$2
    labels: {{connector: "$1"}}
  - pattern: kafka.connect<type=connect-worker-metrics><>([a-z-]+)
    name: kafka_connect_worker_$1
  - pattern: kafka.connect<type=connect-worker-rebalance-metrics><>([a-z-]+)
    name: kafka_connect_worker_rebalance_$1
  - pattern: kafka.connect.mirror<type=(.+), source=(.+), target=(.+), \
group=(.+), topic=(.+), partition=([0-9]+)><>([a-z-_]+)
    name: kafka_connect_mirror_$1_$7
    labels: {{source: "$2", target: "$3", group: "$4", topic: "$5", \
partition: "$6"}}
  - pattern: kafka.connect.mirror<type=(.+), source=(.+), target=(.+), \
topic=(.+), partition=([0-9]+)><>([a-z-_]+)
    name: kafka_connect_mirror_$1_$6
    labels: {{source: "$2", target: "$3", topic: "$4", partition: "$5"}}
"""
"""What Strimzi's example for MirrorMaker 2 exports, and nothing more: no
rates and no highest values of the clients, no figures without a source."""
