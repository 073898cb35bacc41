"""What every server that is asked over HTTP has."""

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, model_validator

from .addresses import HttpUrl
from .base import Model
from .problems import Problem, ProblemsError

__all__ = ["HttpServer"]


class HttpServer(Model):
    """Where a server is, and how to log in."""

    url: HttpUrl = Field(title="Address")
    """Its address."""

    username: str | None = Field(None, title="User name")
    """User of basic authentication."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the server's certificate, if no public authority
    does."""

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password is None):
            missing = "password" if self.password is None else "username"
            raise ProblemsError(
                [
                    Problem(
                        (missing,),
                        "is missing; username and password go together",
                    )
                ]
            )
        return self
