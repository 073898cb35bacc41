"""The `naming` block of a flow."""

from typing import Literal, Self

from pydantic import Field, model_validator

from ..domain.naming import (
    TOPIC_PLACEHOLDER,
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
)
from .base import Model
from .problems import Problem, ProblemsError

__all__ = ["NamingConfig"]


class NamingConfig(Model):
    """How a source topic is called on the target."""

    policy: Literal["identity", "default", "format"] = Field(title="Policy")
    """`identity` keeps names, `default` prefixes the source's alias."""

    separator: str = Field(".", title="Separator")
    """Between alias and topic; the mirror's `separator` if not given."""

    format: str | None = Field(None, title="Format")
    """Target name, with `${topic}` in the place of the source topic."""

    @model_validator(mode="after")
    def _check_format(self) -> Self:
        if (self.policy == "format") != (self.format is not None):
            raise ProblemsError(
                [Problem(("format",), "goes with the policy `format` only")]
            )
        if self.format and self.format.count(TOPIC_PLACEHOLDER) != 1:
            raise ProblemsError(
                [
                    Problem(
                        ("format",),
                        f"must hold {TOPIC_PLACEHOLDER} exactly once",
                    )
                ]
            )
        return self

    def to_naming(self, alias: str) -> Naming:
        """Return the policy for a mirror's alias of the source."""
        match self.policy:
            case "identity":
                return IdentityNaming(alias=alias, separator=self.separator)
            case "default":
                return DefaultNaming(alias=alias, separator=self.separator)
            case "format":
                return FormatNaming(format=self.format or TOPIC_PLACEHOLDER)
