"""The page of posts: their states, the owner's decisions, and the spending of the month."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.errors import suggest
from pi_appliance.posting import preview
from pi_appliance.posting.model import PostRecord, PostState
from pi_appliance.posting.store import PostDatabase
from pi_appliance.scheduling.interface import Services
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import query_number

_PAGE_SIZE = 50  # posts
_MAX_QUESTIONS = 20  # uncertain posts shown at a time


class PostPages:
    """The endpoints that return a page about posts."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/posts", self.posts), Route("/parts/posts", self.part)]

    async def posts(self, request: Request) -> Response:
        """Show the uncertain posts with buttons, the spending, and all posts, newest first."""
        appliance, state = self._services.appliance, _state_filter(request)
        database = PostDatabase(appliance.store)
        records = database.newest_posts(limit=_PAGE_SIZE + 1, before=query_number(request, "before"), state=state)
        counts = database.count_by_state()
        return self._pages.page(
            "posting/posts.html",
            uncertain=database.newest_posts(limit=_MAX_QUESTIONS, state=PostState.UNCERTAIN),
            months=preview.paid_months(appliance, self._services.now()),
            counts={each: counts[each] for each in PostState if each in counts},
            selected_state=state,
            posts=records[:_PAGE_SIZE],
            next_before=records[_PAGE_SIZE - 1].id if len(records) > _PAGE_SIZE else None,
            web_link=_web_link,
        )

    async def part(self, _: Request) -> Response:
        """Return the summary line of the home page."""
        digest = preview.post_digest(self._services.appliance, self._services.now())
        return self._pages.page("posting/_summary.html", digest=digest)


def _web_link(post: PostRecord) -> str:
    """Return the web address of `post`; empty for anything else, which could be a script."""
    link = post.remote.link if post.remote else ""
    return link if link.startswith(("https://", "http://")) else ""


def _state_filter(request: Request) -> PostState | None:
    name = request.query_params.get("state", "")
    if name and name not in list(PostState):
        raise HTTPException(
            400, f"{name!r} is not a state of posts; {suggest(name, [str(each) for each in PostState])}"
        )
    return PostState(name) if name else None
