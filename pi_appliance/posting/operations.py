"""The operations on posts and networks."""

from collections.abc import Sequence
from dataclasses import replace

from pi_appliance.operations import Group, Operation, array, choice, integer, matching, text

_API = "pi_appliance.posting.api"
_TEXT = "pi_appliance.posting.cli"
# the values of PostState
_STATES = ("waiting", "sending", "sent", "uncertain", "refused", "blocked", "abandoned", "dropped")
_ANSWERS = ("there", "post", "drop")  # the keys of OWNER_DECISIONS
_JOB = text("job", "the tweet job; not needed if there is only one", 100, example="tweets")
_NUMBER = integer("number", "the number of the line in the file", 1, 2**31, required=True, positional=True)
_LINE = text("text", "the text of the line", 4000, required=True, positional=True)
_VERSION = matching(
    "version", "the version of the file that was read; without it, any", "[0-9a-f]{16}", "16 hex digits"
)
_REFUSED_POST = integer("post", "the number of the post in `tweets refused`", 1, 2**53, required=True, positional=True)
_CHANGED = f"{_TEXT}:show_change"

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
        show=f"{_TEXT}:show_posts",
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
        show=f"{_TEXT}:show_preview",
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
        show=f"{_TEXT}:show_resolved",
        example={"post": 1, "answer": "there"},
    ),
    Operation(
        command="tweets refused",
        method="GET",
        path="/posts/refused",
        summary="List what networks did not take: per line, the networks with the reason.",
        details="A line that was posted there since is not listed.",
        handler=f"{_API}:list_refused",
        arguments=(text("job", "only posts of this job", 100, positional=True),),
        show=f"{_TEXT}:show_refused",
    ),
    Operation(
        command="tweets resend",
        path="/posts/{post}/resend",
        summary="Send a refused post again, only on the networks that did not take it.",
        details="With --text, the new text is sent there, and replaces the line in the file.",
        handler=f"{_API}:resend_post",
        arguments=(_REFUSED_POST, text("text", "a new text for the line", 4000), _VERSION),
        show=f"{_TEXT}:show_resent",
        example={"post": 1},
    ),
    Operation(
        command="tweets drop",
        path="/posts/{post}/drop",
        summary="Do not send a refused post again. The line stays in the file.",
        handler=f"{_API}:drop_post",
        arguments=(_REFUSED_POST,),
        done="post {post} is dropped",
        example={"post": 1},
    ),
    Operation(
        command="tweets lines",
        method="GET",
        path="/tweets/lines",
        summary="List the lines of a job with their states, their length on each network, and the next post.",
        details="The length counts placeholders with their longest value. Nothing is sent.",
        handler=f"{_API}:list_lines",
        arguments=(replace(_JOB, positional=True),),
        show=f"{_TEXT}:show_lines",
    ),
    Operation(
        command="tweets add",
        path="/tweets/lines",
        summary="Add a line at the end of the file of a job.",
        handler=f"{_API}:add_line",
        arguments=(_LINE, _JOB, _VERSION),
        show=_CHANGED,
        status=201,
        example={"text": "A watched pot never boils."},
    ),
    Operation(
        command="tweets edit",
        path="/tweets/lines/{number}",
        summary="Change a line of the file. All other bytes stay.",
        details="A line is identified by its text, so a changed one counts as new and can be posted again.",
        handler=f"{_API}:edit_line",
        arguments=(_NUMBER, _LINE, _JOB, _VERSION),
        show=_CHANGED,
        example={"number": 2, "text": "A watched Pi never crashes."},
    ),
    Operation(
        command="tweets delete",
        method="DELETE",
        path="/tweets/lines/{number}",
        summary="Delete a line of the file.",
        handler=f"{_API}:delete_line",
        arguments=(_NUMBER, _JOB, _VERSION),
        show=_CHANGED,
        example={"number": 2},
    ),
    Operation(
        command="tweets move",
        path="/tweets/lines/{number}/move",
        summary="Move a line of the file to the place of another one.",
        handler=f"{_API}:move_line",
        arguments=(
            _NUMBER,
            integer("to", "the number of the other line", 1, 2**31, required=True, positional=True),
            _JOB,
            _VERSION,
        ),
        show=_CHANGED,
        example={"number": 2, "to": 1},
    ),
    Operation(
        command="tweets check-text",
        path="/tweets/check",
        summary="Count a text on each network of a job, and return its cost and its problems. Nothing is posted.",
        handler=f"{_API}:check_text",
        arguments=(_LINE, _JOB),
        show=f"{_TEXT}:show_check",
        exit_status=f"{_TEXT}:check_exit_status",
        needs_state=False,
        example={"text": "A watched pot never boils."},
    ),
    Operation(
        command="tweets post",
        path="/tweets/post",
        summary="Post a text, or a line of the file, now.",
        details="It is a run of the job: on all of its networks, exactly once. The same text is refused for an hour.",
        handler=f"{_API}:post_now",
        arguments=(
            text("text", "a text of your own", 4000, positional=True),
            integer("line", "the number of a line of the file", 1, 2**31),
            _JOB,
            _VERSION,
        ),
        groups=(Group(("text", "line")),),
        done="the post starts; see: pi-appliance tweets list",
        status=202,
        example={"line": 2},
    ),
    Operation(
        command="networks list",
        method="GET",
        path="/networks",
        summary="List the networks: the secrets each needs, whether they are stored, and where.",
        handler=f"{_API}:list_networks",
        show=f"{_TEXT}:show_networks",
        needs_state=False,
    ),
    Operation(
        path="/networks/{network}/login",
        summary="Begin or continue the login to a network, one question at a time. At the end, the secrets are stored.",
        details="Without an answer, it begins. No answer, page or log shows a secret.",
        handler=f"{_API}:log_in",
        arguments=(
            text("network", "the network", 100, required=True),
            text("answer", "the answer to the question", 1000),
            integer("step", "the number of the question", 1, 100),
        ),
        needs_state=False,
        needs_daemon=True,
        example={"network": "show"},
    ),
    Operation(
        command="networks test",
        path="/networks/test",
        summary="Check the secrets of networks: each is asked for its account. Nothing is posted.",
        handler=f"{_API}:test_networks",
        arguments=(array(text("networks", "the networks; without it, all", 100, positional=True), 100),),
        show=f"{_TEXT}:show_tests",
        exit_status=f"{_TEXT}:tests_exit_status",
        needs_state=False,
    ),
)
