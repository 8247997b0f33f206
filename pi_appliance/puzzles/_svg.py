"""What all pictures of puzzles share: one self-contained SVG that fits a phone, by day and by night."""

from collections.abc import Iterable
from xml.sax.saxutils import escape


def picture(width: float, height: float, title: str, style: str, parts: Iterable[str]) -> str:
    """Return a picture of PARTS, WIDTH by HEIGHT of their own units. TITLE is what is read out instead of it.

    A page may hold many pictures, so STYLE uses class names that begin with those of its puzzle; colours for the night
    stand in `@media (prefers-color-scheme:dark)`.
    """
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
            f' height="{height:g}" role="img" style="max-width:100%;height:auto">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            *parts,
            "</svg>\n",
        )
    )
