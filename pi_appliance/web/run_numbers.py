"""The numbers of runs in addresses. A number that no history can hold is an address that leads nowhere."""

from starlette.convertors import Convertor, register_url_convertor


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
