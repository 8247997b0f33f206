"""Results of the operations on the configuration file as text."""

from typing import Any

from pi_appliance.operations import Values


def change(result: Any, values: Values) -> str:
    """Return the lines that changed."""
    if not result["diff"]:
        return "nothing changed"
    return f"{result['diff']}\nnothing was written" if values["only_check"] else str(result["diff"])


def history(result: Any, _: Values) -> str:
    """Return one earlier text a line."""
    lines = [f"{each['name']}  {each['size']} bytes, in use until {each['replaced_at']}" for each in result]
    return "\n".join(lines) or "the file was not changed from the page or the command line yet"
