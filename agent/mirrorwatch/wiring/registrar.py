"""What gives Avro probes their schema.

Imported by who wants Avro only: its libraries cost 9 MB of memory.
"""

from dataclasses import replace

from ..config import FlowConfig
from ..sources.canary.avro import Avro, Registrar
from ..sources.canary.source import CanarySettings, CanaryState
from ..sources.registry import Registry
from .context import WiringContext, to_address

__all__ = ["wire_registrar"]


def wire_registrar(
    flow: FlowConfig,
    around: WiringContext,
    settings: CanarySettings,
    board: CanaryState,
) -> tuple[CanarySettings, Registrar]:
    """Return settings that write Avro, and what registers its schema.

    Raises
    ------
    ConfigError
        Raised if a certificate authority cannot be read.
    """
    encoding = Avro()
    has_target = flow.target in around.registries
    return replace(settings, encoding=encoding), Registrar(
        settings=settings,
        encoding=encoding,
        source=_to_registry(flow.source, around),
        target=_to_registry(flow.target, around) if has_target else None,
        board=board,
    )


def _to_registry(alias: str, around: WiringContext) -> Registry:
    return Registry(alias, to_address(around.registries[alias]))
