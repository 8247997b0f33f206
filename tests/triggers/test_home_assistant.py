"""The appliance in Home Assistant: the documented discovery messages, by a real broker.

The keys are those of https://www.home-assistant.io/integrations/mqtt/ and the pages of its platforms.
"""

import json
import re
from datetime import datetime
from typing import Any

from pi_appliance.storage.model import Outcome
from tests.fakes.broker import Broker, broker
from tests.installation import Installation, wait_until
from tests.test_daemon import running_daemon
from tests.triggers.test_mqtt import sections

__all__ = ["broker"]

ALARM = """\
wake:
  kind: music
  schedule: {times: ["06:45"], days: [mon-fri]}
  with: {action: alarm, play: [FIP], volume: 40}
"""
HELLO = "hello: {kind: command, schedule: '@daily', with: {run: [echo, hi there]}}\n"
FAILS = "fails: {kind: command, with: {run: ['false']}}\n"
PLAYER = "\nplayer: {kind: mpd, with: {address: 'localhost:1'}}"

COMMON = {"platform", "name", "unique_id", "device_class", "entity_category", "icon", "json_attributes_topic"}
COMMON |= {"json_attributes_template"}
KEYS = {
    "button": COMMON | {"command_topic"},
    "sensor": COMMON | {"state_topic", "value_template", "unit_of_measurement", "state_class", "options"},
    "binary_sensor": COMMON | {"state_topic", "value_template"},
    "switch": COMMON | {"command_topic", "state_topic", "value_template"},
}
NEEDED = {"button": "command_topic", "sensor": "state_topic", "binary_sensor": "state_topic", "switch": "command_topic"}


def described(broker: Broker) -> dict[str, Any]:
    """Return the newest description of the device."""
    topics = [topic for topic in broker.messages if re.fullmatch(r"homeassistant/device/[a-zA-Z0-9_-]+/config", topic)]
    return json.loads(broker.messages[topics[0]] or "{}") if topics else {}


def components(broker: Broker) -> dict[str, Any]:
    return described(broker).get("components", {})


def state(broker: Broker, component: str) -> Any:
    """Return the state of a component, as its template does it."""
    part = components(broker)[component]
    key = re.fullmatch(r"\{\{ value_json\.(\w+) \}\}", part["value_template"])[1]
    return json.loads(broker.messages.get(part["state_topic"], "{}")).get(key)


def test_the_appliance_is_a_device(installation: Installation, broker: Broker) -> None:  # noqa: PLR0915 - one daemon
    broker.start()
    broker.watch()
    installation.write(HELLO + FAILS + ALARM, "name: Kitchen\n" + sections(broker) + PLAYER)
    with running_daemon(installation) as daemon:
        wait_until(lambda: "job_fails_result" in components(broker))
        device = described(broker)
        assert set(device) == {"device", "origin", "availability", "qos", "components"}
        assert device["device"]["name"] == "Kitchen"
        assert device["origin"]["name"] == "pi-appliance"
        (availability,) = device["availability"]
        assert broker.messages[availability["topic"]] == "online"
        parts = components(broker)
        assert {"problem", "job_hello_run", "job_hello_next", "alarm_wake", "alarm_wake_next"} < set(parts)
        assert "job_wake_run" not in parts  # an alarm is not a job on the page either
        for part in parts.values():
            assert NEEDED[part["platform"]] in part
            assert set(part) <= KEYS[part["platform"]], part
        assert len({part["unique_id"] for part in parts.values()}) == len(parts)

        wait_until(lambda: state(broker, "job_hello_next"))
        assert datetime.fromisoformat(state(broker, "job_hello_next")).tzinfo is not None
        assert state(broker, "job_hello_result") is None
        wait_until(lambda: state(broker, "problem"))
        broker.publish(parts["job_hello_run"]["command_topic"], "PRESS")
        wait_until(lambda: state(broker, "job_hello_result") == Outcome.SUCCEEDED)
        attributes = json.loads(broker.messages[parts["job_hello_result"]["json_attributes_topic"]])
        assert "hi there" in attributes["summary"]
        assert state(broker, "job_hello_result") in parts["job_hello_result"]["options"]
        broker.publish(parts["job_fails_run"]["command_topic"], "PRESS")
        wait_until(lambda: state(broker, "job_fails_result") == Outcome.FAILED)

        assert state(broker, "alarm_wake") == "ON"
        assert datetime.fromisoformat(state(broker, "alarm_wake_next")).minute == 45
        broker.publish(parts["alarm_wake"]["command_topic"], "OFF")
        wait_until(lambda: state(broker, "alarm_wake") == "OFF" and state(broker, "alarm_wake_next") is None)
        assert installation.json("music", "alarms")[0]["paused"]
        broker.publish(parts["alarm_wake"]["command_topic"], "nonsense")
        broker.publish(parts["alarm_wake"]["command_topic"].replace("wake", "nobody"), "ON")
        broker.publish(parts["alarm_wake"]["command_topic"], "ON")
        wait_until(lambda: state(broker, "alarm_wake") == "ON")

        broker.log.clear()
        broker.publish("homeassistant/status", "online")  # it has started again
        wait_until(lambda: any(topic.endswith("/config") for topic, _, _ in broker.log))
        wait_until(lambda: any(topic.endswith("/jobs/hello") for topic, _, _ in broker.log))

        broker.log.clear()
        installation.write(HELLO, "name: Kitchen\n" + sections(broker) + PLAYER)
        assert installation.run("reload").returncode == 0
        wait_until(lambda: components(broker).keys() & {"job_fails_run", "alarm_wake"} == set())
        configs = [json.loads(text)["components"] for topic, text, _ in broker.log if topic.endswith("/config")]
        assert configs[0]["job_fails_run"] == {"platform": "button"}  # so Home Assistant removes it
        assert configs[0]["alarm_wake"] == {"platform": "switch"}
        daemon.process.terminate()
        assert daemon.status() == 0
    wait_until(lambda: broker.messages[availability["topic"]] == "offline")


def test_what_was_removed_meanwhile_disappears_and_a_killed_daemon_is_offline(
    installation: Installation, broker: Broker
) -> None:
    broker.start()
    broker.watch()
    installation.write(HELLO + FAILS, sections(broker))
    with running_daemon(installation) as daemon:
        wait_until(lambda: "job_fails_run" in components(broker))
        status = described(broker)["availability"][0]["topic"]
        assert "alarm_wake" not in components(broker)
        daemon.process.kill()
        wait_until(lambda: broker.messages[status] == "offline")
    installation.write(HELLO, sections(broker))
    broker.log.clear()
    broker.publish(components(broker)["job_hello_run"]["command_topic"], "PRESS", retain=True)
    with running_daemon(installation) as again:
        wait_until(lambda: broker.messages[status] == "online" and "job_fails_run" not in components(broker))
        configs = [json.loads(text)["components"] for topic, text, _ in broker.log if topic.endswith("/config")]
        assert {"platform": "button"} in [each.get("job_fails_run") for each in configs]
        installation.write(HELLO, sections(broker, ", discovery: false"))
        assert installation.run("reload").returncode == 0
        wait_until(lambda: described(broker) == {})  # an empty message removes the device
        assert "by=manual" not in again.output  # a press that the broker kept is not repeated
