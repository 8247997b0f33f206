"""The page, the API and the command for Wi-Fi, with a fake nmcli."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from pi_appliance.wifi.hotspot import ADDRESS, Surroundings
from pi_appliance.wifi.joining import WifiService
from pi_appliance.wifi.network_manager import BLOCKED, NO_DEVICE, NO_RIGHT, NOT_INSTALLED, STOPPED, NetworkManager
from tests.fakes.nmcli import HOME, World
from tests.web.served_appliance import ServedAppliance, configuration, serving, set_password

CAFE = {"ssid": r"Café: \o/ & <b>", "signal": 40, "security": ""}
OFFICE = {"ssid": "Office", "signal": 90, "security": "WPA2 802.1X"}
OLD = {"ssid": "Old", "signal": 9, "security": "WEP"}
NEW = {"ssid": "New", "signal": 55, "security": "WPA3", "password": "secret words"}
SHADE = {"ssid": "", "signal": 30, "security": "WPA2"}
WEAK_HOME = {**HOME, "signal": 20}


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAppliance]:
    path = configuration(tmp_path_factory.mktemp("appliance"), web="host: 0.0.0.0, port: 0")
    set_password(path, "open sesame")
    with serving(path) as appliance:
        yield appliance


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "bin", networks=[WEAK_HOME, HOME, CAFE, OFFICE, OLD, NEW, SHADE])


@pytest.fixture
def machine(served_once: ServedAppliance, world: World) -> ServedAppliance:
    served_once.daemon.wifi = wifi_of(served_once, world)
    return served_once


def wifi_of(machine: ServedAppliance, world: World, *addresses: str) -> WifiService:
    """Return the Wi-Fi of a machine with `addresses`."""
    around = Surroundings(lambda: addresses, lambda: bool(world["active"]), list)
    daemon = machine.daemon
    return WifiService(lambda: daemon.appliance.config, lambda _: None, NetworkManager(world.environment), around)


def show(machine: ServedAppliance) -> Any:
    return machine.request("/api/v1/system/wifi", **AUTHORIZED).json


AUTHORIZED = {"Authorization": "Bearer open sesame"}


def join(machine: ServedAppliance, ssid: str, password: str = "", **more: Any) -> Any:
    """Join a network through the API, and return the outcome."""
    given = {"ssid": ssid, "password": password, **more}
    answer = machine.request("/api/v1/system/wifi/join", given, **AUTHORIZED)
    if answer.status != 200:
        return {"state": answer.status, "message": answer.json["error"]}
    assert answer.json["last"] == {"ssid": ssid, "state": "running", "message": ""}, "before it is cut off"
    return machine.wait_until(lambda: (last := show(machine)["last"])["state"] != "running" and last)


def test_the_list_has_each_network_once_the_one_in_use_first(machine: ServedAppliance, world: World) -> None:
    world.connect("Home")
    world.connect("Cabin", autoconnect="yes")
    world.connect("Home")
    networks = show(machine)["networks"]
    assert [(each["ssid"], each["signal"], each["security"]) for each in networks] == [
        ("Home", 72, "password"),
        ("Office", 90, "enterprise"),
        ("New", 55, "wpa3"),
        (r"Café: \o/ & <b>", 40, "open"),
        ("Old", 9, "wep"),
        ("Cabin", None, None),
    ]
    assert [each["ssid"] for each in networks if each["in_use"]] == ["Home"]
    assert [each["ssid"] for each in networks if each["known"]] == ["Home", "Cabin"]


def test_a_network_is_joined_stored_and_replaces_its_old_password(machine: ServedAppliance, world: World) -> None:
    world.connect("Home", psk="an older one")
    (old,) = world["profiles"]
    password = r"a b\c: 'd'$"
    world.change(networks=[{**HOME, "password": password}])
    assert join(machine, "Home", password) == {"ssid": "Home", "state": "done", "message": "Home is joined"}
    machine.wait_until(lambda: old not in world["profiles"])
    (profile,) = world["profiles"].values()
    assert (profile["psk"], profile["saved"], profile["autoconnect"]) == (password, "yes", "yes")
    assert profile["values"]["wifi-sec.key-mgmt"] == "wpa-psk"


def test_a_password_is_in_no_argument_answer_or_log(machine: ServedAppliance, world: World) -> None:
    secrets = ("wrong and long", "secret words")
    assert join(machine, "New", secrets[0])["state"] == "failed"
    assert join(machine, "New", secrets[1])["state"] == "done"
    refused = machine.request("/system/wifi", urlencode({"ssid": "Office", "password": secrets[1]}), **AUTHORIZED)
    assert refused.status == 422
    shown = [json.dumps(world["calls"]), machine.request("/system/wifi", **AUTHORIZED).text, json.dumps(show(machine))]
    shown += [refused.text, *(each.text for each in machine.daemon.messages)]
    assert [each for each in secrets for text in shown if each in text] == []
    assert next(iter(world["profiles"].values()))["values"]["wifi-sec.key-mgmt"] == "sae"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("network", "password", "reason"),
    [
        ({}, "wrong and long", "Home did not accept the password; it is wrong, or the machine is too far away"),
        ({"is_slow": True}, "correct horse", "Home did not come up within 30 seconds; perhaps the password is wrong"),
        ({"is_mute": True}, "correct horse", "Home was joined, but gave this machine no address; restart its router"),
        ({"security": "WPA3"}, "wrong and long", "this machine does not know WPA3: let the router offer WPA2 as well"),
    ],
    ids=["wrong password", "slow", "without address", "WPA3"],
)
def test_after_a_failure_the_present_network_is_back(
    machine: ServedAppliance, world: World, network: Any, password: str, reason: str
) -> None:
    cabin = {**HOME, "ssid": "Cabin"}
    world.change(networks=[cabin, {**HOME, **network}])
    world.connect("Cabin")
    last = join(machine, "Home", password)
    assert last["state"] == "failed"
    assert reason in last["message"]
    assert last["message"].endswith("; Cabin is in use again")
    assert world.active_ssid == "Cabin"
    assert [each["ssid"] for each in world["profiles"].values()] == ["Cabin"], "the wrong password is not kept"
    assert reason.replace("'", "&#39;") in machine.request("/system/wifi", **AUTHORIZED).text


def test_a_network_that_has_gone_and_a_present_one_that_does_not_return(machine: ServedAppliance, world: World) -> None:
    world.connect("Cabin")  # not in reach
    world.connect("Lodge")
    last = join(machine, "Hidden", "correct horse", hidden=True)
    assert last["message"] == (
        "Hidden is not in reach any more; move the machine nearer, or check the name;"
        " Lodge did not come back yet, and NetworkManager goes on trying"
    )


def test_open_hidden_and_stored_networks(machine: ServedAppliance, world: World) -> None:
    assert join(machine, CAFE["ssid"])["state"] == "done"
    world.change(networks=[*world["networks"], {**HOME, "ssid": "Hidden", "is_new": True}])
    assert join(machine, "Hidden", "correct horse", hidden=True)["state"] == "done"
    assert {each["values"].get("wifi.hidden") for each in world["profiles"].values()} == {None, "yes"}
    uuid = world["active"]
    assert join(machine, CAFE["ssid"])["state"] == "done", "by its stored profile"
    assert len(world["profiles"]) == 2
    assert machine.request("/do/system/wifi/forget", urlencode({"ssid": "Hidden"}), **AUTHORIZED).status == 303
    assert uuid not in world["profiles"]


def test_the_network_in_use_is_forgotten(machine: ServedAppliance, world: World) -> None:
    world.connect("Cabin")
    world.connect("Home")
    answer = machine.request("/api/v1/system/wifi/forget", {"ssid": "Home"}, **AUTHORIZED).json
    assert answer["obstacle"] == "", "nmcli still lists it, but cannot show it any more"
    assert [each["ssid"] for each in answer["networks"] if each["known"]] == ["Cabin"]


@pytest.mark.parametrize(
    ("ssid", "password", "reason"),
    [
        ("Office", "some password", "asks for a user name or a certificate, which only works on the machine"),
        ("Old", "12345", "uses WEP, which protects nothing"),
        ("Home", "", "Home asks for a password"),
        ("Home", "short", "it has 8 to 63 characters"),
        ("Homer", "long enough", "did you mean 'Home'?"),
        ("", "long enough", "'ssid' must be a line of 1 to 32 characters"),
    ],
)
def test_what_cannot_be_joined_is_refused_before(
    machine: ServedAppliance, world: World, ssid: str, password: str, reason: str
) -> None:
    assert reason in join(machine, ssid, password)["message"]
    page = machine.request("/system/wifi", urlencode({"ssid": ssid, "password": password}), **AUTHORIZED)
    assert page.status == 422
    assert world["profiles"] == {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"failure": [8, "NetworkManager is not running."]}, STOPPED),
        ({"device": ""}, NO_DEVICE),
        ({"device": "unmanaged"}, NO_DEVICE),
        ({"device": "unavailable"}, BLOCKED),
        ({"radio": "disabled"}, BLOCKED),
    ],
)
def test_each_obstacle_is_named_with_the_way_out(
    machine: ServedAppliance, world: World, change: Any, sentence: str
) -> None:
    world.change(**change)
    assert show(machine) == {**show(machine), "obstacle": sentence, "networks": []}
    page = machine.request("/system/wifi", **AUTHORIZED)
    assert page.status == 200
    assert sentence[1:] in page.text
    assert join(machine, "Home", "correct horse")["message"] == sentence


def test_without_the_right_or_nmcli_the_command_is_named(machine: ServedAppliance, world: World) -> None:
    world.change(failure=[4, "Connection activation failed: Not authorized to control networking."])
    assert show(machine)["obstacle"] == NO_RIGHT
    world.change(failure=[1, "something else."])
    assert show(machine)["obstacle"] == "NetworkManager refused it: something else"
    assert join(machine, "Home", "correct horse") == {
        "state": 409,
        "message": "NetworkManager refused it: something else",
    }
    (world.file.parent / "nmcli").unlink()
    assert show(machine)["obstacle"] == NOT_INSTALLED


def test_the_page_works_without_scripts(machine: ServedAppliance, world: World) -> None:
    world.connect("Cabin")
    page = machine.request("/system/wifi?scan=1", **AUTHORIZED).text
    assert "Café: \\o/ &amp; &lt;b&gt;" in page
    assert 'aria-label="signal 72 %"' in page
    assert re.search(
        r"This device may lose the page\. Connect it to Home, too, then the page is at http://\S+\.local", page
    )
    answer = machine.request("/system/wifi", urlencode({"ssid": "Home", "password": "correct horse"}), **AUTHORIZED)
    assert (answer.status, answer.headers["location"]) == (303, "/system/wifi")
    machine.wait_until(lambda: "Home is joined." in machine.request("/system/wifi", **AUTHORIZED).text)
    assert world.active_ssid == "Home"


def test_only_the_owner_may_look_and_join(machine: ServedAppliance) -> None:
    assert machine.request("/api/v1/system/wifi").status == 401
    assert machine.request("/system/wifi", "ssid=Home").status == 303
    assert machine.request("/system/wifi", "ssid=Home").headers["location"].startswith("/sign-in")


def test_the_set_up_over_the_hot_spot_ends_at_the_wifi(machine: ServedAppliance, world: World) -> None:
    assert 'href="/system/wifi"' not in machine.request("/setup/done", **AUTHORIZED).text
    machine.daemon.wifi = wifi_of(machine, world, ADDRESS)
    assert 'href="/system/wifi"' in machine.request("/setup/done", **AUTHORIZED).text
    assert (
        "set-up is open. These are the networks that were in reach"
        in machine.request("/system/wifi", **AUTHORIZED).text
    )


def test_the_hot_spot_is_wanted_and_not_from_the_page(machine: ServedAppliance) -> None:
    path = machine.daemon.appliance.config.path
    path.write_text(f"# mine\n{path.read_text()}")
    before = path.read_text()
    form = "/do/system/wifi/hotspot"
    assert machine.request(form, "on=true&password=short", **AUTHORIZED).status == 400
    assert machine.request(form, "on=true&password=long+enough", **AUTHORIZED).status == 303
    assert "hotspot: {}\n" in path.read_text()
    assert "HOTSPOT_PASSWORD=long enough\n" in path.with_name("secrets.env").read_text()
    page = machine.request("/system/wifi", **AUTHORIZED).text
    assert "set-up</b>. Its password is the one you chose" in page
    assert "http://10.42.0.1" in page
    assert "long enough" not in page + machine.request("/api/v1/config", **AUTHORIZED).text
    assert machine.request(form, "on=false", **AUTHORIZED).status == 303
    assert path.read_text() == before
