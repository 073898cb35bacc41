from datetime import timedelta

from mirrorwatch.config import CanaryConfig
from mirrorwatch.config.canary import estimate_cost


def test_the_cost_is_told_per_partition_while_their_number_is_unknown() -> (
    None
):
    cost = estimate_cost(CanaryConfig())
    assert cost.partition_bytes_per_day == 86_400 * 356
    assert cost.bytes_per_day is None
    assert cost.created_bytes_per_day == 6 * 86_400 * 356


def test_partitions_interval_and_sized_probes_add_up() -> None:
    canary = CanaryConfig.model_validate(
        {
            "partitions": 3,
            "interval": timedelta(seconds=10),
            "sized": {"bytes": "100KiB", "interval": "2h"},
        }
    )
    cost = estimate_cost(canary)
    assert cost.sized_bytes_per_day == 12 * (102_400 + 100)
    assert cost.bytes_per_day == 3 * 8_640 * 356 + 12 * 102_500
    assert cost.created_bytes_per_day == cost.bytes_per_day
