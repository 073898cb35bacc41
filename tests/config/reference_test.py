from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from mirrorwatch.config import Config
from mirrorwatch.config.base import Model
from mirrorwatch.config.reference import render_reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def models(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models(field.annotation)
    for argument in get_args(annotation):
        yield from models(argument)


MODELS = list(dict.fromkeys(models(Config)))


def test_the_page_is_what_the_models_say() -> None:
    assert PAGE.read_text() == render_reference(), (
        "run: python -m mirrorwatch.config.reference > docs/configuration.md"
    )


@pytest.mark.parametrize("model", MODELS)
def test_every_key_has_a_title_and_a_description(model: type[Model]) -> None:
    for name, field in model.model_fields.items():
        assert field.title, name
        assert field.description, name


def test_every_key_is_on_the_page() -> None:
    assert len(MODELS) > 15
    page = render_reference()
    for model in MODELS:
        for name in model.model_fields:
            assert f"| `{name}` |" in page
