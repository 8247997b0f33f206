"""Send recorded posts to their networks, each one exactly once as far as the network allows.

A post is recorded, marked SENDING, sent, and marked SENT. Each state is on the disk before the next
step. After an interruption the state shows how far the post got: WAITING is certainly not on the
network, SENDING may be. Such a post is searched among the account's posts, and sent again only if
it is not there. Where a new post may be shown late, it is searched twice; then the owner decides.
Networks with idempotency keys do not need the search.
"""

import contextlib
import hashlib
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from pathlib import Path

from pi_appliance import plugins
from pi_appliance.config import secrets, units
from pi_appliance.config.options import Config, NetworkDirs, PluginConfig
from pi_appliance.config.redaction import SHORTEST, Redactor, redact_errors, redact_logs
from pi_appliance.config.secrets import missing
from pi_appliance.errors import (
    AccountBlocked,
    ApplianceError,
    Duplicate,
    Refused,
    Unavailable,
    Uncertain,
    UnknownName,
)
from pi_appliance.jobs.context import JobContext
from pi_appliance.jobs.reports import latest_report
from pi_appliance.posting.model import (
    FAILED_STATES,
    MAX_RETRY_DELAY,
    NOT_FOUND,
    PENDING_STATES,
    RESENT,
    Network,
    Post,
    PostLimits,
    PostRecord,
    PostState,
    SentPost,
)
from pi_appliance.posting.networks import CHECK_ACCOUNT
from pi_appliance.posting.store import JobPostStore
from pi_appliance.storage.model import Report, Result

_MAX_SEARCH_TIME = timedelta(days=3)  # time for searching a post that may have been sent, counted from its expiry
_MAX_DELAY = timedelta(hours=2)  # a longer delay was recorded while the clock was ahead
_MAX_WAIT = timedelta(days=1)  # longest wait that a network may ask for


class LimitsUnknown(Exception):
    """The network cannot report its limits now. `reason` is its error."""

    def __init__(self, reason: ApplianceError) -> None:
        self.reason = reason


@contextlib.contextmanager
def _wrap_bugs_as(kind: type[Unavailable | Uncertain]) -> Iterator[None]:
    """Convert an unexpected exception to `kind`, so that other posts are still sent."""
    try:
        yield
    except ApplianceError:
        raise
    except Exception as error:  # noqa: BLE001 - any failure of a network is recorded with the post
        traceback.print_exc()  # the traceback goes to the log of the run
        raise kind(f"a fault of the program: {type(error).__name__}: {error}") from None


def _read_limits(network: Network) -> PostLimits:
    try:
        return network.limits
    except ApplianceError as error:
        raise LimitsUnknown(error) from None


class PostSender:
    """Send the posts of one run.

    Args:
        ignores_waits: Also ask a network that has asked for no more requests until a later time.
    """

    def __init__(
        self,
        store: JobPostStore,
        connect: Callable[[str], Network],
        clock: Callable[[], datetime],
        *,
        ignores_waits: bool = False,
    ) -> None:
        self._store, self._connect, self._clock, self._ignores_waits = store, connect, clock, ignores_waits
        self.retry_after = 0.0
        """Longest wait that a network has asked for, in seconds."""

    def send(self, records: Iterable[PostRecord]) -> list[PostRecord]:
        """Advance each of `records` as far as possible.

        The parts of a thread are sent in order. If one fails, the following parts wait.

        Returns:
            The changed records. Errors are recorded in them.
        """
        results: list[PostRecord] = []
        for name, group in groupby(records, key=lambda record: record.network):
            network: Network | ApplianceError
            try:
                network = self._connect(name)
            except ApplianceError as error:
                network = error
            results += [self._send_in_order(network, record) for record in group]
        return results

    def _send_in_order(self, network: Network | ApplianceError, record: PostRecord) -> PostRecord:
        if record.state not in PENDING_STATES:
            return record
        earlier = [each for each in self._store.thread_of(record) if each.part < record.part]
        if missing := next((each for each in earlier if each.state is not PostState.SENT), None):
            return self._wait_for_part(record, missing)
        if isinstance(network, ApplianceError):
            return self._record_no_network(record, network)
        if wait := self._wait_of_network(record.network):
            return self._record_no_network(record, wait)
        try:
            return self._send_one(network, record, [each.remote for each in earlier if each.remote])
        except LimitsUnknown as error:
            return self._record_no_network(record, error.reason)

    def _wait_of_network(self, network: str) -> Unavailable | None:
        """Return an error while `network` wants no requests; None otherwise."""
        until, now = self._store.waits_until(network), self._clock()
        # A longer wait was recorded while the clock was ahead, and is ignored.
        if self._ignores_waits or until is None or not now < until <= now + _MAX_WAIT:
            return None
        reason = f"{network} accepts no more requests until {until:%Y-%m-%d %H:%M} UTC"
        return Unavailable(reason, after=(until - now).total_seconds())

    def _wait_for_part(self, record: PostRecord, missing: PostRecord) -> PostRecord:
        """Let `record` wait for the earlier part `missing`, or abandon it if that one is final."""
        if missing.state not in PENDING_STATES:
            reason = f"part {missing.part + 1} before it was not posted"
            return self._store.update_state(record, PostState.ABANDONED, reason)
        reason = f"waits for part {missing.part + 1} before it"
        delay = max(timedelta(0), missing.next_attempt_at - self._clock())
        return self._store.update_state(record, PostState.WAITING, reason, delay=delay)

    def _record_no_network(self, record: PostRecord, error: ApplianceError) -> PostRecord:
        """Record that there is no connection: retry later if `error` is temporary."""
        if record.state is PostState.SENDING:
            return self._postpone_search(record, error)
        if isinstance(error, Unavailable):
            return self._postpone(record, PostState.WAITING, error)
        return self._store.update_state(record, PostState.BLOCKED, str(error))

    def _postpone_search(self, record: PostRecord, error: ApplianceError) -> PostRecord:
        """Search later for a post that may have been sent; after some days, ask the owner."""
        if self._clock() > record.expires_at + _MAX_SEARCH_TIME:
            return self._store.update_state(record, PostState.UNCERTAIN, f"{error}; check the account")
        return self._postpone(record, PostState.SENDING, error)

    def _send_one(self, network: Network, record: PostRecord, thread: list[SentPost]) -> PostRecord:
        was_tried = record.state is PostState.SENDING
        is_late = self._clock() > record.expires_at
        if was_tried and (is_late or not network.idempotent):
            changed = self._search(network, record)
            if changed:
                return changed
            was_tried = not network.search_lag  # otherwise no answer was unclear: those wait for the owner
        if is_late:
            reason = "its time was over before it could be sent"
            return self._store.update_state(record, PostState.ABANDONED, reason, cost=-record.cost)
        is_paid = was_tried and record.cost > 0
        prices = _read_limits(network).prices
        price = prices.post_price(self._store.load_post(record)) if prices and not is_paid else Decimal(0)
        if prices and (reason := self._over_budget(record, price, prices.monthly_cap)):
            return self._store.update_state(record, PostState.BLOCKED, reason)
        # Written to the disk before anything is sent: after a power cut, the post is searched.
        record = self._store.update_state(record, PostState.SENDING, cost=price)
        return self._send_now(network, record, thread, was_tried=was_tried)

    def _send_now(self, network: Network, record: PostRecord, thread: list[SentPost], *, was_tried: bool) -> PostRecord:
        try:
            with _wrap_bugs_as(Uncertain):
                remote = network.post(self._store.load_post(record), key=self._key(record), thread=thread)
        except Duplicate as error:
            return self._record_duplicate(network, record, error, was_tried=was_tried)
        except Unavailable as error:
            return self._postpone(record, PostState.SENDING if was_tried else PostState.WAITING, error)
        except Refused as error:
            # The first search may have been too early, because the network shows new posts with a
            # delay.
            changed = self._search(network, record) if was_tried else None
            state = PostState.BLOCKED if isinstance(error, AccountBlocked) else PostState.REFUSED
            return changed or self._store.update_state(record, state, str(error), cost=-record.cost)
        except Uncertain as error:
            record = self._postpone(record, PostState.SENDING, error)
            return self._search(network, record) or self._postpone(record, PostState.SENDING, error)
        return self._store.update_state(record, PostState.SENT, remote=remote)

    def _search(self, network: Network, record: PostRecord) -> PostRecord | None:
        """Search for a post that may have been sent. None: it is not there and may be sent."""
        known_posts = self._store.known_posts(record.network)
        prices = _read_limits(network).prices
        price = prices.lookup_price if prices else Decimal(0)
        try:
            with _wrap_bugs_as(Unavailable):
                remote_post = self._find_post(network, record, known_posts)
        except Unavailable as error:
            return self._postpone_search(record, error)
        except (Refused, Uncertain) as error:
            reason = f"{record.reason or 'no answer came'} ({error})"
            return self._store.update_state(record, PostState.UNCERTAIN, reason)
        if remote_post is None:
            if price:
                self._store.add_cost(record, price)
            return self._record_not_found(network.search_lag, record)
        reason = "no answer came; found on the account"
        return self._store.update_state(record, PostState.SENT, reason, remote=remote_post, cost=price)

    def _record_not_found(self, lag: timedelta, record: PostRecord) -> PostRecord | None:
        """Decide about a post that a search did not find. None: it is not there."""
        if not lag or record.reason == RESENT:
            return None
        wait = record.next_attempt_at - self._clock() if record.reason == NOT_FOUND else lag
        if wait > timedelta(0):
            return self._store.update_state(record, PostState.SENDING, NOT_FOUND, delay=min(wait, lag))
        reason = "no answer came, and two searches did not find it; check the account"
        return self._store.update_state(record, PostState.UNCERTAIN, reason)

    def _record_duplicate(
        self, network: Network, record: PostRecord, error: Duplicate, *, was_tried: bool
    ) -> PostRecord:
        """Decide whether the duplicate is an earlier attempt at this post or a different post."""
        known_posts = self._store.known_posts(record.network)
        if not was_tried or record.text in known_posts.values():
            return self._store.update_state(record, PostState.REFUSED, str(error), cost=-record.cost)
        remote_post = None
        with contextlib.suppress(ApplianceError):  # the post is there, and only its address stays unknown
            remote_post = self._find_post(network, record, known_posts)
        reason = "no answer came; the network reported it as a duplicate at the next attempt"
        remote = remote_post or SentPost(f"duplicate {record.id}", "")
        return self._store.update_state(record, PostState.SENT, reason, remote=remote)

    def _find_post(self, network: Network, record: PostRecord, known: Mapping[str, str]) -> SentPost | None:
        post = self._store.load_post(record)
        return network.find_post(post, key=self._key(record), known_ids=known, since_id=record.since_id)

    def _key(self, record: PostRecord) -> str:
        """Return the identifier of a post: the same for every attempt, unique on the network."""
        part = f" part {record.part + 1}" if record.parts > 1 else ""
        return f"{record.job} {record.slot}{part} @{self._store.installation}"

    def _postpone(self, record: PostRecord, state: PostState, error: ApplianceError) -> PostRecord:
        """Set `state`, and retry after the delay that the network asks for, or a growing one."""
        seconds = min(getattr(error, "retry_after", None) or 0.0, _MAX_WAIT.total_seconds())
        if seconds:
            self._store.wait_for_network(record.network, self._clock() + timedelta(seconds=seconds))
        self.retry_after = max(self.retry_after, seconds)
        delay = max(timedelta(seconds=seconds), _retry_delay(record.attempts))
        cost = -record.cost if state is PostState.WAITING else Decimal(0)
        reason = str(error).partition(f"; {CHECK_ACCOUNT}")[0]  # the appliance checks the account itself
        return self._store.update_state(record, state, reason, cost=cost, delay=delay)

    def _over_budget(self, record: PostRecord, price: Decimal, cap: Decimal | None) -> str:
        spent = self._store.month_spend(self._clock()).get(record.network, Decimal(0))
        if cap is None or not price or spent + price <= cap:
            return ""
        return (
            f"{record.network} has used {units.format_money(spent)} of its {units.format_money(cap)} this month"
            f" and the post costs {units.format_money(price)}; raise monthly-cap, or wait for the next month"
        )


def _retry_delay(attempts: int) -> timedelta:
    """Return how long a post waits: a minute, doubled after each of its `attempts`."""
    return min(timedelta(minutes=1 << min(max(attempts, 1) - 1, 10)), MAX_RETRY_DELAY)


def network_config(config: Config, name: str) -> PluginConfig:
    """Return the configuration of the network `name`. Raises UnknownName."""
    if name not in config.networks:
        raise UnknownName("network", name, tuple(config.networks))
    return config.networks[name]


def post_limits(config: Config, name: str) -> PostLimits:
    """Return the limits of the network `name`, without connecting. Raises UnknownName."""
    part = network_config(config, name)
    limits: PostLimits = plugins.load("networks", part.kind).post_limits(part.options, config.network_dirs(name))
    return limits


def connect(config: Config, name: str, secrets: Mapping[str, str], *, private: Path | None = None) -> Network:
    """Connect the network `name`. Its errors and all logs are free of `secrets`.

    Args:
        secrets: All secrets; the network gets its own.
        private: Directory for the network's own state, in place of the configured one.

    Raises:
        UnknownName: The network does not exist.
        Refused: A secret is missing, or a library is not installed.
    """
    part = network_config(config, name)
    if lack := missing(part, secrets):
        raise Refused(f"{lack}; run: pi-appliance networks login {name}")
    dirs = config.network_dirs(name)
    dirs = NetworkDirs(private or dirs.private, dirs.public)
    values = [value for value in secrets.values() if len(value) >= SHORTEST]
    with require_installed(part.kind):
        connect_kind: Callable[..., Network] = plugins.load("networks", part.kind).connect
        if not values:
            return connect_kind(part.options, secrets, dirs)
        redactor = Redactor(values)
        redact_logs(redactor)
        with redact_errors(redactor):
            return _RedactingNetwork(connect_kind(part.options, secrets, dirs), redactor)


@contextlib.contextmanager
def require_installed(kind: str) -> Iterator[None]:
    """Convert ModuleNotFoundError to Refused with the command that installs the library."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = f"{sys.executable} -m pip install {error.name}"
        raise Refused(f"{kind} needs {error.name}, which is not installed; run: {install}") from None


class _RedactingNetwork:
    """A network whose errors are free of secrets, even if the server repeats one."""

    def __init__(self, network: Network, redactor: Redactor) -> None:
        self._network, self._redactor = network, redactor

    @property
    def limits(self) -> PostLimits:
        with redact_errors(self._redactor):
            return self._network.limits

    @property
    def idempotent(self) -> bool:
        return self._network.idempotent

    @property
    def search_lag(self) -> timedelta:
        return self._network.search_lag

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:
        with redact_errors(self._redactor):
            return self._network.post(post, key=key, thread=thread)

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:
        with redact_errors(self._redactor):
            return self._network.find_post(post, key=key, known_ids=known_ids, since_id=since_id)

    def whoami(self) -> str:
        with redact_errors(self._redactor):
            return self._network.whoami()


class PostingContext(JobContext):
    """The context of a run that may post."""

    @cached_property
    def posts(self) -> JobPostStore:
        """The posts of this job."""
        installation = hashlib.sha256(b"installation" + self.parameters.secret).hexdigest()[:8]
        return JobPostStore(self.store, self.job, self.run_id, self.clock, installation)

    def limits(self, name: str) -> PostLimits:
        """Return the limits and prices of the network `name`. Raises UnknownName."""
        return post_limits(self.config, name)

    def network(self, name: str) -> Network:
        """Connect the network `name`.

        Raises:
            UnknownName: The network does not exist.
            Refused: Secrets are missing; the message names them.
        """
        keys = secrets.load(self.config.path, self.parameters.environment, secrets.secret_names(self.config))
        return connect(self.config, name, keys)

    def latest_report(self, job: str, *, picture: bool = False, animation: bool = False) -> Report | None:
        """Return the report of the last successful run of `job`, or None without one.

        Raises:
            UnknownName: The job does not exist.
            Refused: The library that draws the `picture` or `animation` is not installed.
        """
        if job not in self.config.jobs:
            raise UnknownName("job", job, tuple(self.config.jobs))
        return latest_report(self.config, self.store, job, picture=picture, animation=animation)


class RunPoster:
    """Posts in one run: records posts, sends them, and makes the result of the run."""

    def __init__(self, context: PostingContext) -> None:
        self._context = context
        self._networks: dict[str, Network] = {}
        asked_to_send = context.resume_only and context.manual
        self._sender = PostSender(context.posts, self._connect, context.clock, ignores_waits=asked_to_send)

    def send_pending(self) -> list[PostRecord]:
        """Send or search the posts of earlier runs that are due, and return them."""
        now = self._context.clock()
        pending = [each for each in self._context.posts.pending_posts() if each.slot != self._context.slot]
        if not (self._context.resume_only and self._context.manual):
            pending = [
                each for each in pending if each.next_attempt_at <= now or each.next_attempt_at > now + _MAX_DELAY
            ]
        return self._sender.send(pending)

    def post(
        self, make: Callable[[], tuple[Mapping[str, Sequence[Post]], str]], *, send_within: timedelta
    ) -> list[PostRecord]:
        """Record and send the posts of this slot.

        Args:
            make: Returns the posts by network, and the fingerprint of the line they were made of.
                It is called once per slot; further attempts continue with the recorded posts.
            send_within: Time in which later runs still send what could not be sent now.
        """
        store, slot = self._context.posts, self._context.slot
        records = store.posts_for_slot(slot)
        if not records:
            posts, line = make()
            records = store.create_posts(slot, posts, expires_at=self._context.clock() + send_within, line=line)
        return self._sender.send(records)

    def _connect(self, name: str) -> Network:
        if name not in self._networks:
            self._networks[name] = self._context.network(name)
        return self._networks[name]

    def pending_result(self, records: Sequence[PostRecord]) -> Result:
        """Return the result of a run that only sends earlier posts. Raises as `result`."""
        if not records:
            return Result("nothing was left to send")
        return self.result(records, " / ".join(dict.fromkeys(f"of {each.slot}: {each.text}" for each in records)))

    def result(self, records: Sequence[PostRecord], description: str) -> Result:
        """Return the result of the run that posted `records`.

        Raises:
            Unavailable: A post is still pending.
            Uncertain: The owner has to check a post.
            Refused: A post will not be on its network.
        """
        summary, states = f"{_summarize(records)}: {description}", {each.state for each in records}
        if states & PENDING_STATES:
            raise Unavailable(summary, after=self._sender.retry_after or None)
        if PostState.UNCERTAIN in states:
            raise Uncertain(f"{summary}; check the account, then see: pi-appliance tweets list")
        if states & FAILED_STATES:
            raise Refused(summary)
        links = {f"link-{each.network}": each.remote.link for each in records if each.remote and not each.part}
        return Result(summary, details={"cost": float(sum(each.cost for each in records)), **links})


def _summarize(records: Sequence[PostRecord]) -> str:
    worst: dict[str, PostRecord] = {}  # key: network; value: the first part that was not sent
    for each in records:
        if each.network not in worst or worst[each.network].state is PostState.SENT:
            worst[each.network] = each
    sent = [name for name, each in worst.items() if each.state is PostState.SENT]
    phrases = [f"posted to {' and '.join(sent)}"] if sent else []
    return "; ".join(phrases + [_describe_failure(each) for each in worst.values() if each.state is not PostState.SENT])


def _describe_failure(record: PostRecord) -> str:
    states = {
        PostState.WAITING: "not posted yet",
        PostState.SENDING: "may be posted and will be checked",
        PostState.UNCERTAIN: "may be posted",
    }
    return f"{record.network}: {states.get(record.state, 'not posted')}: {record.reason}"
