"""pydantic's errors as the library words its own: one line, what was got, what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_SHOWN = 80  # characters of a value


@contextmanager
def one_line_errors(model: type[BaseModel]) -> Iterator[None]:
    """Raise a plain ValueError of one line where `model` finds its fields wrong."""
    try:
        yield
    except ValidationError as error:
        lines = [_line(model, details) for details in error.errors(include_url=False)]
        raise ValueError("; ".join(lines)) from error


def _line(model: type[BaseModel], details: ErrorDetails) -> str:
    name = ".".join(map(str, details["loc"]))
    value = " ".join(repr(details["input"]).split())
    got = f"got {name}={value if len(value) <= _SHOWN else value[: _SHOWN - 1] + '…'} for {model.__name__}"
    match details["type"]:
        case "extra_forbidden" | "no_such_attribute":
            return f"got unknown option {name} for {model.__name__}, expected one of {', '.join(model.model_fields)}"
        case "value_error":  # the library's own words
            return str(details["ctx"]["error"])
        case "frozen_field":
            return f"{got}, which is decided when the object is made: make another one"
        case _:
            return f"{got}: {details['msg'][:1].lower()}{details['msg'][1:]}"
