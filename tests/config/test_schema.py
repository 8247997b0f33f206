"""The tables and the JSON Schema that are generated from the data classes."""

from dataclasses import dataclass
from typing import Annotated

from pi_appliance.config import schema
from pi_appliance.config.options import Usb


@dataclass
class Example:
    """A section with every kind of default."""

    required: Annotated[str, "must be given"]
    empty: Annotated[str, "may be left out"] = ""
    nothing: Annotated[int | None, "may be left out"] = None
    number: Annotated[int, "has a default"] = 3


def test_only_a_key_without_a_default_is_shown_as_required() -> None:
    defaults = {key: default for key, default, _ in schema.option_rows(Example)}
    assert defaults == {"required": None, "empty": "-", "nothing": "-", "number": "3"}
    assert schema._table("example", Example).count("**needed**") == 1


def test_the_optional_usb_library_is_not_shown_as_required() -> None:
    assert all(default is not None for _, default, _ in schema.option_rows(Usb))
