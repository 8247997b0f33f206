"""Log in to a network: ask the questions of its login, check the account, and store the secrets.

At the terminal, `posting/cli.py` asks. For the page, the daemon starts `python -m
pi_appliance.posting.network_login login CONFIG NAME`, which asks over pipes, one JSON object per
line. `test CONFIG NAME...` in place of `login` prints the accounts as JSON. So the daemon imports
no library of a network, and secrets that are not stored end with the process.
"""

import asyncio
import contextlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pi_appliance import plugins
from pi_appliance.config import secret_writer, units
from pi_appliance.config.loader import load_usable
from pi_appliance.config.options import Config
from pi_appliance.config.redaction import SHORTEST, Redactor, redact_errors
from pi_appliance.config.secret_writer import SecretFile
from pi_appliance.config.secrets import Secrets, of_network, secret_names
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Unavailable
from pi_appliance.posting.exactly_once import connect, network_config, require_installed
from pi_appliance.posting.model import Prompt
from pi_appliance.system import clock
from pi_appliance.system.systemd import Systemd

_STEP_TIMEOUT = 120.0  # seconds; longer than the check of an account
_ANSWER_TIMEOUT = 900.0  # seconds after which an unanswered question ends the login
_TEST_TIMEOUT = 90.0  # seconds for the check of one account; a single request has a shorter timeout
_MAX_LINE = 65_536  # bytes of one message of the process

PromptFactory = Callable[[Callable[[str], None]], Prompt]
"""Makes a prompt; its argument is to be called with each secret answer."""


def log_in(config: Config, name: str, make_prompt: PromptFactory) -> tuple[str, SecretFile]:
    """Ask for the secrets of the network `name`, check them, and store them.

    Returns:
        The account, and the file of the secrets.

    Raises:
        ApplianceError: The login failed. Nothing was stored, and the message says so.
    """
    part = network_config(config, name)
    file = secret_writer.place(config.path, Systemd())
    file.require_writable()
    redactor = Redactor(())
    logging.disable()  # libraries could log secrets that the redactor does not know yet
    try:
        with require_installed(part.kind), redact_errors(redactor):
            prompt = make_prompt(lambda answer: redactor.learn(answer) if len(answer) >= SHORTEST else None)
            secrets: Mapping[str, str] = plugins.load("networks", part.kind).login(part.options, prompt)
        account = check_account(config, name, {**load_secrets(config), **secrets})
    except (KeyboardInterrupt, EOFError):
        raise Refused("stopped; nothing was stored") from None
    except UnicodeDecodeError:
        raise Refused("the input is not UTF-8 text; nothing was stored") from None
    except ApplianceError as error:
        reason = str(error)
        # some errors say this themselves
        error.args = (reason if "nothing" in reason else f"{reason}; nothing was stored",)
        raise
    file.store(secrets, owner=_owner_path(config, file))
    return account, file


def _owner_path(config: Config, file: SecretFile) -> Path:
    """Return a file or directory of the user who has to read `file`."""
    if file.credential:
        return file.path.parent
    return config.state_dir if os.geteuid() == 0 and config.state_dir.exists() else config.path


def load_secrets(config: Config) -> Secrets:
    """Return the secrets that the service reads. Raises Refused."""
    return secret_writer.load(config.path, os.environ, secret_names(config), Systemd())


def check_account(config: Config, name: str, secrets: Mapping[str, str]) -> str:
    """Return the account of the network `name`. Files that the network has cached are not used.

    Raises:
        Refused, Unavailable, Uncertain: The secrets could not be checked.
    """
    with tempfile.TemporaryDirectory(prefix="pi-appliance-") as empty:
        try:
            with clock.time_limit(_TEST_TIMEOUT):
                return connect(config, name, secrets, private=Path(empty)).whoami()
        except DeadlineExceeded as error:
            raise Unavailable(str(error)) from None


class NetworkTestJson(TypedDict):
    """The check of the secrets of a network."""

    network: str
    account: str | None
    error: str | None
    exit_status: Annotated[int, "0: accepted, 75: not reached, else: rejected"]
    needs_secrets: bool


def _test_network(config: Config, name: str) -> NetworkTestJson:
    account, reason, exit_status = None, None, 0
    try:
        account = check_account(config, name, load_secrets(config))
    except ApplianceError as error:
        reason, exit_status = str(error), error.exit_status
    return {
        "network": name,
        "account": account,
        "error": reason,
        "exit_status": exit_status,
        "needs_secrets": bool(of_network(config.networks[name])),
    }


def test_networks(path: str, *names: str) -> None:
    """Print the result of each of `names` as JSON."""
    config = load_usable(Path(path))
    json.dump([_test_network(config, name) for name in names], sys.stdout)


class NetworkLogin:
    """A login on the page.

    The process that asks the questions, its current question, and its result.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.question = ""  # question that is open now, or ""
        self.is_secret = False
        self.step = 0  # number of the question
        self.account = ""  # account after a successful login
        self.error = ""
        self._process: asyncio.subprocess.Process | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def start(self, config: Path, name: str) -> None:
        """Start the process, and wait for its first question."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pi_appliance.posting.network_login", "login", str(config), name),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MAX_LINE,
        )
        await self._read()

    async def answer(self, text: str, step: int) -> None:
        """Answer the question number `step`, and wait for the next one or the result.

        Raises:
            Refused: This question is not open any more.
        """
        if not self.question or step != self.step or self._process is None or self._process.stdin is None:
            raise Refused("this question is not open any more; begin again with Connect")
        self.question, self.messages = "", []
        self._process.stdin.write(json.dumps({"answer": text}).encode() + b"\n")
        await self._read()

    def close(self) -> None:
        """End the process, if it still runs."""
        if self._timer is not None:
            self._timer.cancel()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        if self.question:
            self.question, self.error = "", "the login took too long; nothing was stored"

    async def _read(self) -> None:
        """Read messages up to the next question or the result."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            async with asyncio.timeout(_STEP_TIMEOUT):
                while not (self.question or self.account or self.error):
                    await self._read_message()
        except TimeoutError:
            self.error = "the network did not answer in time; nothing was stored"
        if self.question:
            self._timer = asyncio.get_running_loop().call_later(_ANSWER_TIMEOUT, self.close)
        else:
            self.close()

    async def _read_message(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        message = json.loads(line) if line else {"error": "the login ended without a result; see the log"}
        self.messages += message.get("show", "").splitlines()
        self.question, self.is_secret = message.get("ask", ""), bool(message.get("secret"))
        self.step += bool(self.question)
        self.account, self.error = message.get("account", ""), message.get("error", "")


class _PipePrompt:
    """Asks the owner over pipes: each message is a line with a JSON object."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None], on_secret: Callable[[str], None]) -> None:
        self._send, self._on_secret = send, on_secret

    def show(self, text: str) -> None:
        self._send({"show": text})

    def ask(self, question: str, *, secret: bool = False) -> str:
        self._send({"ask": question, "secret": secret})
        line = sys.stdin.readline()
        if not line:  # the daemon has ended, or the owner has begun another login
            raise EOFError
        answer = str(json.loads(line)["answer"]).strip()
        if secret:
            self._on_secret(answer)
        return answer


def log_in_over_pipes(path: str, name: str) -> None:
    """Log in to the network `name` over standard input and output."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of a library must not be taken for a message

    def send(message: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # the daemon has ended
            print(json.dumps(message), file=output, flush=True)

    try:
        config = load_usable(Path(path))
        account, file = log_in(config, name, lambda on_secret: _PipePrompt(send, on_secret))
        with contextlib.suppress(ApplianceError):  # the limits of the server are cached, by which `tweets check` counts
            _ = connect(config, name, {**load_secrets(config), **file.values()}).limits
        send({"account": units.join_clauses(account, "restart the service to use them" if file.credential else "")})
    except ApplianceError as error:
        send({"error": str(error)})


if __name__ == "__main__":
    run: Callable[..., None] = log_in_over_pipes if sys.argv[1] == "login" else test_networks
    run(*sys.argv[2:])
