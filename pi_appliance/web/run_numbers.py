"""Numbers in addresses: of runs, posts, outputs. One that no history can hold is an address that leads nowhere."""

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request


class _RunNumber(Convertor[int]):
    regex = "[0-9]{1,18}"  # below what a column of the history holds

    def convert(self, value: str) -> int:
        """Return the number in an address."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return VALUE as it stands in an address."""
        return str(value)


register_url_convertor("run", _RunNumber())
NUMBER = "{number:run}"
"""What stands for it in a route."""
ID = "{id:run}"
"""The same, for what others have numbered."""


def asked(request: Request, key: str) -> int | None:
    """Return the number that the query has at KEY; None where it has none."""
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
