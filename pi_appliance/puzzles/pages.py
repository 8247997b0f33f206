"""The page of the puzzle of the day: to print, and to solve with hints."""

from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from pi_appliance.errors import Refused
from pi_appliance.jobs.pages import HEADERS
from pi_appliance.puzzles import Grid, api, daily
from pi_appliance.puzzles.daily import DailyPuzzle, Progress
from pi_appliance.roles import Role
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form
from pi_appliance.web.security import RoleRoute

_MAX_FIELDS = 700  # a grid of 25 by 25 has 625 cells
_PAGE = "/puzzles/today"
_EMPTY = Progress((), 0, 0)


class PuzzlePages:
    """The endpoints of the puzzle of the day. Every signed-in device may use them."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            RoleRoute(_PAGE, self.show, Role.LISTEN),
            RoleRoute(f"{_PAGE}/{{puzzle}}", self.show, Role.LISTEN),
            RoleRoute(f"{_PAGE}/{{puzzle}}", self.answer, {"POST": Role.LISTEN}, methods=["POST"]),
            RoleRoute("/puzzles/boards/{puzzle}", self.picture, Role.LISTEN),
        ]

    async def show(self, request: Request) -> Response:
        """Show the newest board of all puzzles, or of one."""
        try:
            found = await api.find_daily(self._services.appliance, request.path_params.get("puzzle", ""))
        except Refused as error:  # the address stays valid, and the next run makes a board for it
            return self._pages.page("puzzles/none.html", message=str(error))
        return await self._page(found)

    async def answer(self, request: Request) -> Response:
        """Check the cells or give a hint, for a browser without scripts."""
        found = await api.find_daily(self._services.appliance, request.path_params["puzzle"])
        fields = await form(request, max_fields=_MAX_FIELDS)
        if fields.get("board") != found.id:
            return await self._page(found, "", replace(_EMPTY, text="There is a new board."))
        filled = _read_cells(found.grid, fields) if found.grid else ""
        seen = int(fields["seen"]) if fields.get("seen", "").isascii() and fields.get("seen", "").isdigit() else 0
        is_check = fields.get("do") == "check" and found.grid is not None
        progress = api.check_board(found, filled) if is_check else daily.give_hint(found, filled, seen)
        return await self._page(found, filled, replace(progress, seen=max(progress.seen, seen)))

    async def picture(self, request: Request) -> Response:
        """Return the drawing of the board."""
        found = await api.find_daily(self._services.appliance, request.path_params["puzzle"])
        if not found.picture.is_file():
            raise HTTPException(404, "this board has no picture")
        return FileResponse(found.picture, media_type="image/svg+xml", headers=HEADERS)

    async def _page(self, found: DailyPuzzle, filled: str = "", progress: Progress = _EMPTY) -> Response:
        others = await api.list_daily(self._services.appliance)
        config = self._services.appliance.config
        day = found.day.astimezone(config.zone_of(config.jobs[found.job]) if found.job in config.jobs else None)
        return self._pages.page(
            "puzzles/today.html",
            daily=found,
            address=f"{_PAGE}/{found.puzzle}",
            day=f"{day:%A}, {day.day} {day:%B %Y}",
            others=[(f"{_PAGE}/{each.puzzle}", each.title) for each in others],
            grid=found.grid,
            filled=filled or (found.grid.clues if found.grid else ""),
            hints=found.hints[: progress.seen] if not found.grid else (),
            progress=progress,
        )


def _read_cells(grid: Grid, fields: dict[str, str]) -> str:
    """Return the symbols of a form in reading order; a dot for each cell without a symbol."""
    symbols = [fields.get(f"cell-{number}", "").strip().upper() for number in range(len(grid.clues))]
    return "".join(symbol if symbol and symbol in grid.symbols and len(symbol) == 1 else "." for symbol in symbols)
