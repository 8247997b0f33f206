"""The login to a network on the page: forms without scripts, a link to open, and a code to paste back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.config import secrets
from tests.fakes.bluesky_account import HANDLE, PASSWORD
from tests.fakes.bluesky_server import fake_bluesky
from tests.fakes.mastodon_server import fake_mastodon
from tests.fakes.x_server import SECRETS, fake_x
from tests.web.served_appliance import ServedAppliance, configuration, job, serving


class Owner:
    """The owner at the page of one network, without scripts."""

    def __init__(self, appliance: ServedAppliance, network: str) -> None:
        self.appliance, self.path = appliance, f"/networks/{network}"
        self.seen = ""

    @property
    def page(self) -> str:
        text = self.appliance.request(self.path).text
        self.seen += text
        return text

    def send(self, answer: str | None = None, step: str | None = None) -> int:
        """Press Connect, or send the form of the question; return the status."""
        fields = f"return_to={self.path}"
        if answer is not None:
            step = step or re.findall(r'name="step" value="(\d+)"', self.page)[0]
            fields += f"&step={step}&answer={answer}"
        result = self.appliance.request(f"/do{self.path}/login", fields)
        if result.status == 303:
            assert result.headers["location"] == self.path
        return result.status

    def link(self) -> str:
        return re.findall(r'class="button" href="([^"]+)"', self.page)[0].replace("&amp;", "&")


def stored(folder: Path) -> dict[str, str]:
    path = folder / "secrets.env"
    return secrets.parse(path.read_bytes(), path) if path.exists() else {}


def serving_networks(folder: Path, networks: str) -> Iterator[ServedAppliance]:
    config = configuration(folder, jobs=job("hello", ""))
    config.write_text(config.read_text("utf-8").replace("jobs:\n", f"networks:\n{networks}\njobs:\n"), "utf-8")
    with serving(config) as appliance:
        yield appliance


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SECRETS, "MASTODON_TOKEN", "BLUESKY_APP_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def test_mastodon_is_connected_by_a_link_and_a_code(tmp_path: Path) -> None:
    with fake_mastodon() as server:
        network = f"  toot: {{kind: mastodon, with: {{server: '{server.address}'}}}}\n  show: {{kind: preview}}"
        for appliance in serving_networks(tmp_path, network):
            assert "not connected" in appliance.request("/networks").text
            assert 'href="/networks"' in appliance.request("/more").text
            owner = Owner(appliance, "toot")
            assert owner.send() == 303
            assert "The code that is shown then" in owner.page
            assert owner.send("wrong-code") == 303
            assert "rejected the code" in owner.page
            assert stored(tmp_path) == {}

            server.limit = 777
            assert owner.send() == 303
            code = server.approve(owner.link())
            step = re.findall(r'name="step" value="(\d+)"', owner.page)[0]
            assert owner.send(code, step) == 303
            assert "@shelf at" in owner.page
            assert "connected, checked just now" in owner.page
            assert stored(tmp_path)["MASTODON_TOKEN"] in server.tokens
            assert stored(tmp_path)["MASTODON_TOKEN"] not in owner.seen
            assert owner.send(code, step) == 409, "the form of before"
            assert appliance.request("/do/networks/test", "networks=toot&return_to=/networks/toot").status == 303
            assert "connected" in appliance.request("/networks").text
            assert (tmp_path / "secrets.env").stat().st_mode & 0o777 == 0o600
            assert server.statuses == []
            check = appliance.request("/api/v1/networks/show/login", {})
            assert (check.status, check.json["error"]) == (409, "show needs no secrets: its kind is preview")
            assert appliance.request("/networks/other").status == 404


def test_x_is_connected_by_a_pin(tmp_path: Path) -> None:
    with fake_x() as server:
        for appliance in serving_networks(tmp_path, f"  bird: {{kind: x, with: {{server: '{server.address}'}}}}"):
            owner = Owner(appliance, "bird")
            assert "$0.015 a post, $0.20 with an address" in owner.page
            owner.send()
            assert 'type="password"' in owner.page
            for answer in (SECRETS["X_CONSUMER_KEY"], SECRETS["X_CONSUMER_SECRET"], ""):
                assert owner.send(answer) == 303
            assert owner.send(server.keys.consent(owner.link())) == 303
            assert "@shelf_bot" in owner.page
            assert stored(tmp_path) == SECRETS
            assert not [value for value in SECRETS.values() if value in owner.seen]


def test_bluesky_is_connected_over_the_api_by_an_app_password(tmp_path: Path) -> None:
    with fake_bluesky() as server:
        network = f"  sky: {{kind: bluesky, with: {{handle: {HANDLE}, server: '{server.address}'}}}}"
        for appliance in serving_networks(tmp_path, network):
            path = "/api/v1/networks/sky/login"
            assert appliance.request(path, {"answer": PASSWORD, "step": 1}).status == 409
            for password, good in (("wrng-wrng-wrng-wrng", False), (PASSWORD, True)):
                first = appliance.request(path, {}).json
                assert (first["question"], first["secret"], first["step"]) == ("App password", True, 1)
                result = appliance.request(path, {"answer": password, "step": 1})
                assert (result.json["account"] is not None, result.json["error"] is None) == (good, good)
                assert password not in result.text
            assert stored(tmp_path) == {"BLUESKY_APP_PASSWORD": PASSWORD}
