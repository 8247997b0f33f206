"""The tables of the documentation that the program makes: `python -m tests.doc_tables` writes them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pi_appliance.config import schema
from pi_appliance.web import openapi
from tests.installation import ROOT

_END = "<!-- end -->"


@dataclass(frozen=True)
class DocTable:
    """A part of `page`, from the comment `marker` to the next `<!-- end -->`, and the function that makes it."""

    page: Path
    marker: str
    make: Callable[[], str]

    def shown(self) -> str:
        """Return the table in the page."""
        return self._parts()[1]

    def write(self) -> bool:
        """Write the table into the page. Return whether it has changed."""
        before, shown, after = self._parts()
        content = self.make().strip()
        self.page.write_text(f"{before}\n\n{content}\n\n{after}", "utf-8")
        return content != shown

    def _parts(self) -> tuple[str, str, str]:
        """Return the text up to the marker, the table, and the text from the end on."""
        head, marker, rest = self.page.read_text("utf-8").partition(f"<!-- {self.marker} -->")
        table, end, tail = rest.partition(_END)
        if not end:
            raise LookupError(f"{self.page} has no comment <!-- {self.marker} --> with {_END} after it")
        return head + marker, table.strip(), end + tail


def _endpoint_table() -> str:
    from tests.web.test_openapi import document  # noqa: PLC0415 - it has the tools of a test

    with TemporaryDirectory() as folder:
        return openapi.table(document(Path(folder))[1])


TABLES = (
    DocTable(ROOT / "docs" / "configuration.md", "pi-appliance config keys", schema.markdown_tables),
    DocTable(ROOT / "docs" / "web.md", "endpoints", _endpoint_table),
)


if __name__ == "__main__":
    for each in TABLES:
        sys.stdout.write(f"{each.page.relative_to(ROOT)}: {'written' if each.write() else 'nothing to change'}\n")
