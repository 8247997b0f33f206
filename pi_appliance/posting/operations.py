"""The operations on posts and networks."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, array, choice, integer, text

_API = "pi_appliance.posting.api"
_TEXT = "pi_appliance.posting.text"
_STATES = ("waiting", "sending", "sent", "uncertain", "refused", "abandoned")  # PostState
_ANSWERS = ("there", "post", "drop")  # OWNER_DECISIONS

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="tweets list",
        method="GET",
        path="/posts",
        summary="List the posts, newest first, with their states and the spending of this month.",
        details="The exit status is 1 while a post is uncertain: check the account.",
        handler=f"{_API}:list_posts",
        arguments=(
            choice("state", "only posts in this state", _STATES),
            integer("count", "the maximum number of posts", 1, 10_000, default=20, example=10),
            integer("before", "only posts with a smaller number", 1, 2**53),
        ),
        result="Posts",
        show=f"{_TEXT}:posts",
        exit_status=f"{_TEXT}:posts_exit_status",
    ),
    Operation(
        command="tweets preview",
        method="GET",
        path="/posts/preview",
        summary="Show what the next slots will post, and the cost. Nothing is posted.",
        details="It shows for each slot whether it is selected, the line, its length on each network, and the cost. "
        "It is exact unless the file is edited, or a manual run or a failure comes between.",
        handler=f"{_API}:preview_posts",
        arguments=(
            text("job", "the job; without it, every tweet job", 100, positional=True),
            integer("count", "the number of slots", 1, 1000, default=8, example=4),
        ),
        result="PostPreview",
        show=f"{_TEXT}:preview",
    ),
    Operation(
        command="tweets resolve",
        path="/posts/{post}/resolve",
        summary="Record whether an uncertain post is on the account.",
        details="\b\nthere  it is on the account\npost   it is not on the account; send it now\n"
        "drop   it is not on the account; do not send it",
        handler=f"{_API}:resolve_post",
        arguments=(
            integer("post", "the number of the post in the list", 1, 2**53, required=True, positional=True),
            choice("answer", "what you saw on the account", _ANSWERS, required=True, positional=True),
            text("link", "the web address of the post, if it is there", 2000, default=""),
        ),
        result="Post",
        show=f"{_TEXT}:resolved",
        example={"post": 1, "answer": "there"},
    ),
    Operation(
        command="networks list",
        method="GET",
        path="/networks",
        summary="List the networks: the secrets each needs, whether they are stored, and where.",
        handler=f"{_API}:list_networks",
        result="Networks",
        show=f"{_TEXT}:networks",
        needs_state=False,
    ),
    Operation(
        command="networks test",
        path="/networks/test",
        summary="Check the secrets of networks: each is asked for its account. Nothing is posted.",
        handler=f"{_API}:test_networks",
        arguments=(array(text("networks", "the networks; without it, all", 100, positional=True), 100),),
        result="NetworkTests",
        show=f"{_TEXT}:network_tests",
        exit_status=f"{_TEXT}:network_tests_exit_status",
        needs_state=False,
    ),
)
