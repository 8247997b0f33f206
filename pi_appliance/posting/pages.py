"""The page of posts: what became of each, what only the owner can tell, what the month has cost."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.jobs.pages import Pages
from pi_appliance.posting import post_json
from pi_appliance.posting.model import OWNER_DECISIONS, State
from pi_appliance.posting.store import Posts
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import NUMBER, form, query_number

_ROWS = 50  # posts on a page
_ASKED = 20  # uncertain ones that are asked for at a time


class PostPages:
    """The endpoints that answer with a page of posts; PAGES renders them."""

    def __init__(self, daemon: Daemon, actions: Actions, pages: Pages) -> None:
        self._daemon, self._actions, self._pages = daemon, actions, pages

    def routes(self) -> list[Route]:
        """Return every route of posts that is for people."""
        answers = [Route(f"/posts/{NUMBER}/{answer}", self.settle, methods=["POST"]) for answer in OWNER_DECISIONS]
        return [Route("/posts", self.posts), Route("/parts/posts", self.part), *answers]

    async def posts(self, request: Request) -> Response:
        """Show the uncertain ones with what to do about them, the money, and all posts, the newest first."""
        appliance, state = self._daemon.appliance, post_json.state_of(request)
        ledger = Posts(appliance.store)
        found = ledger.newest(limit=_ROWS + 1, before=query_number(request, "before"), state=state)
        counts = ledger.counts()
        return self._pages.page(
            "posts.html",
            asked=ledger.newest(limit=_ASKED, state=State.UNCERTAIN),
            months=post_json.with_money(appliance, self._actions.now()),
            counts={each: counts[each] for each in State if each in counts},
            chosen=state,
            posts=found[:_ROWS],
            older=found[_ROWS - 1].id if len(found) > _ROWS else None,
            link=post_json.link_of,
        )

    async def part(self, _: Request) -> Response:
        """Return the line on the first page."""
        digest = post_json.digest(self._daemon.appliance, self._actions.now())
        return self._pages.page("_posts.html", digest=digest)

    async def settle(self, request: Request) -> Response:
        """Take what the owner saw on the account."""
        await form(request)
        self._actions.settle_post(request.path_params["number"], request.url.path.rpartition("/")[2])
        return RedirectResponse("/posts", 303)
