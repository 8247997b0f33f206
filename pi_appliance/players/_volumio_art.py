"""Pictures from Volumio. Where it has none it shows one of its own, which is told apart here."""

from urllib.parse import quote

from pi_appliance.model.music import Art
from pi_appliance.players import _volumio_words as words
from pi_appliance.players._volumio_rest import Rest


class Pictures:
    """The pictures of one Volumio."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._none: bytes | None = None  # the picture it shows for want of any

    async def of(self, uri: str) -> Art | None:
        """Return the picture that Volumio shows for URI; None if there is none, or it is elsewhere in the world."""
        target = await self._where(uri)
        if not target.startswith("/albumart?"):
            return None
        if self._none is None:
            self._none = (await self._rest.picture("/albumart")).body
        picture = await self._rest.picture(quote(target, safe="/?&=%+:,~", errors="replace"))
        if picture.status != 200 or not picture.mime.startswith("image/") or picture.body in (b"", self._none):
            return None
        return Art(data=picture.body, mime=picture.mime)

    async def _where(self, uri: str) -> str:
        """Return where Volumio has the picture for URI: that of the queue, else that of its folder; '' for neither."""
        for item in await self._rest.queue():
            if words.address(item) == uri and isinstance(item.get("albumart"), str):
                return str(item["albumart"])
        folder = uri.removeprefix(f"{words.ROOT}/").rpartition("/")[0]
        if not folder or "://" in uri:
            return ""
        path = quote(f"/mnt/{folder}", safe="", errors="replace")
        return f"/albumart?path={path}"
