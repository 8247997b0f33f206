"""Joining a cluster: the code works once and for a short time, and neither side trusts a third machine."""

import json
import re
import ssl
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pi_appliance.cluster import certificates, join_code, tasks
from pi_appliance.cluster import client as cluster_client
from pi_appliance.cluster.client import MemberFolder
from pi_appliance.errors import InvalidOption, Refused, Unavailable
from pi_appliance.storage.backup_archive import archive_chunks
from tests.web.served_appliance import ServedAppliance, configuration, serving

PORT = 18786


@pytest.fixture
def first(tmp_path: Path) -> Iterator[ServedAppliance]:
    """Serve the first machine of a cluster."""
    with serving(configuration(tmp_path / "first")) as appliance:
        tasks.create(str(appliance.daemon.appliance.config.state_dir), PORT)
        yield appliance


def folder_of(appliance: ServedAppliance) -> MemberFolder:
    return MemberFolder(appliance.daemon.appliance.config.state_dir)


def new_code(appliance: ServedAppliance, age: timedelta = timedelta(0)) -> str:
    return join_code.create_code(folder_of(appliance), datetime.now(UTC) - age)[0]


def join(appliance: ServedAppliance, state: Path, code: str) -> str:
    return tasks.join(str(state), code, f"127.0.0.1:{appliance.service.port}")


def test_the_right_code_brings_a_certificate_that_only_the_user_can_read(first, tmp_path):
    assert join(first, tmp_path / "b", new_code(first)) == f"tls://127.0.0.1:{PORT}"
    member = MemberFolder(tmp_path / "b")
    membership = member.membership()
    assert membership is not None
    assert (membership.is_first, membership.port) == (False, PORT)
    assert {path.stat().st_mode & 0o777 for path in member.path.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in folder_of(first).path.iterdir()} == {0o600}
    assert member.authority.read_bytes() == folder_of(first).authority.read_bytes()
    assert not member.authority_key.exists()
    context = ssl.create_default_context(cafile=str(member.authority))
    context.load_cert_chain(member.certificate, member.key)  # raises if they do not fit


def test_a_code_works_once(first, tmp_path):
    code = new_code(first)
    join(first, tmp_path / "b", code)
    with pytest.raises(Refused, match="was used, or has expired; show a new one"):
        join(first, tmp_path / "c", code)
    assert list(MemberFolder(tmp_path / "c").path.iterdir()) == []


def test_a_new_code_replaces_the_one_before(first, tmp_path):
    old, new = new_code(first), new_code(first)
    with pytest.raises(Refused, match="the code is wrong"):
        join(first, tmp_path / "b", old)
    join(first, tmp_path / "b", new)


@pytest.mark.parametrize("age", [join_code.LIFETIME, timedelta(minutes=-1)], ids=["expired", "clock set back"])
def test_a_code_is_valid_from_its_creation_to_its_end_only(first, tmp_path, age):
    with pytest.raises(Refused, match="has expired"):
        join(first, tmp_path / "b", new_code(first, age))


def test_a_wrong_code_leaves_the_right_one_valid(first, tmp_path):
    code = new_code(first)
    with pytest.raises(Refused, match="the code is wrong"):
        join(first, tmp_path / "b", "-".join(["aaaa"] * 8))
    join(first, tmp_path / "b", code)


@pytest.mark.parametrize("text", ["", "aaaa-bbbb", "-".join(["aaa1"] * 8), "ä" * 32])
def test_what_is_not_a_code_is_refused_before_anything_is_sent(tmp_path, text):
    with pytest.raises(InvalidOption, match="8 groups of 4"):
        tasks.join(str(tmp_path), text, "127.0.0.1:1")


def test_a_code_may_be_typed_with_spaces_and_capitals(first, tmp_path):
    join(first, tmp_path / "b", new_code(first).upper().replace("-", " "))


def test_another_version_is_refused_and_the_code_stays_valid(first, tmp_path):
    code = new_code(first)
    message = json.dumps({"release": "0.0.1", "python": tasks.python_version(), "request": "", "host": "b"})
    proof = join_code.prove_request(join_code.parse_code(code), message)
    answer = first.request("/cluster/join", {"message": message, "proof": proof})
    assert answer.status == 409
    assert "all machines of a cluster need the same version" in answer.json["error"]
    join(first, tmp_path / "b", code)


@pytest.mark.parametrize("body", [{}, {"message": 1, "proof": 2}, {"message": "{}", "proof": "ä"}, []])
def test_a_malformed_request_is_refused(first, body):
    new_code(first)
    assert first.request("/cluster/join", body).status in (400, 403)


def test_a_changed_request_is_refused(first, tmp_path):
    code = new_code(first)
    message = json.dumps({"request": certificates.create_request(MemberFolder(tmp_path / "own"), "b")})
    foreign = json.dumps({"request": certificates.create_request(MemberFolder(tmp_path / "foreign"), "b")})
    proof = join_code.prove_request(join_code.parse_code(code), message)
    assert first.request("/cluster/join", {"message": foreign, "proof": proof}).status == 403


@contextmanager
def impostor(answer: dict[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Serve `answer` at every address. Yield the address and the received requests."""
    received: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", received
        finally:
            server.shutdown()
            thread.join()


def test_a_machine_that_does_not_know_the_code_is_not_trusted_and_learns_nothing(first, tmp_path):
    code = new_code(first)
    message = json.dumps({"authority": "evil", "certificate": "evil", "port": 1, "host": "evil"})
    answer = {"message": message, "proof": join_code.prove_answer(b"another secret", "", message)}
    with impostor(answer) as (where, received):
        with pytest.raises(Refused, match="does not know the code"):
            tasks.join(str(tmp_path / "b"), code, where)
        # Its proof is that of one request: it cannot be used for another key, and does not show the code.
        (request,) = received
    assert MemberFolder(tmp_path / "b").membership() is None
    assert not MemberFolder(tmp_path / "b").authority.exists()
    secret = join_code.parse_code(code)
    assert not any(each in request.lower() for each in (code, code.replace("-", ""), secret.hex(), "private key"))
    replayed = first.request("/cluster/join", json.loads(request))
    assert replayed.status == 200  # a listener may send the request itself, and gets a certificate without its key
    assert "PRIVATE" not in replayed.text


def test_an_answer_to_another_request_is_not_trusted(first, tmp_path):
    code = new_code(first)
    secret = join_code.parse_code(code)
    message = json.dumps({"authority": "old", "certificate": "old", "port": 1, "host": "old"})
    answer = {"message": message, "proof": join_code.prove_answer(secret, "proof of an older request", message)}
    with impostor(answer) as (where, _), pytest.raises(Refused, match="does not know the code"):
        tasks.join(str(tmp_path / "b"), code, where)


def test_a_machine_that_is_away_is_named(tmp_path):
    with pytest.raises((Refused, Unavailable), match=r"http://127\.0\.0\.1:1 cannot be reached"):
        tasks.join(str(tmp_path), "-".join(["aaaa"] * 8), "127.0.0.1:1")


def test_a_page_for_this_machine_alone_starts_no_cluster(tmp_path):
    pytest.importorskip("distributed")
    with serving(configuration(tmp_path)) as appliance:
        answer = appliance.request("/api/v1/cluster/start", {})
        assert answer.status == 409
        assert "write host: 0.0.0.0 under web:" in answer.json["error"]
        assert not (tmp_path / "state" / "cluster").exists()
        assert appliance.request("/api/v1/cluster").json == {
            "scheduler": "",
            "is_first": False,
            "problem": "",
            "workers": [],
            "waiting": 0,
        }


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        (
            ("distributed",),
            f"a cluster needs the package distributed; run: {sys.executable} -m pip install distributed",
        ),
        (
            ("distributed", "cryptography"),
            "a cluster needs the packages distributed and cryptography; "
            f"run: {sys.executable} -m pip install distributed cryptography",
        ),
    ],
)
def test_a_missing_package_is_named_with_its_command_before_anything_is_written(missing, text, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_client, "find_spec", lambda name: None if name in missing else name)
    with serving(configuration(tmp_path)) as appliance:
        for path, body in (("start", {}), ("join", {"code": "-".join(["aaaa"] * 8)})):
            answer = appliance.request(f"/api/v1/cluster/{path}", body)
            assert (answer.status, answer.json["error"]) == (409, text)
    assert not (tmp_path / "state" / "cluster").exists()
    with pytest.raises(Refused, match=re.escape(text)):
        cluster_client.open_client("tcp://127.0.0.1:1", MemberFolder(tmp_path))


def test_a_backup_holds_no_keys_of_the_cluster(first, tmp_path):
    state = first.daemon.appliance.config.state_dir
    archive = tmp_path / "backup.tar.gz"
    archive.write_bytes(b"".join(archive_chunks(state)))
    with tarfile.open(archive) as content:
        assert not [name for name in content.getnames() if "cluster" in name]
