"""The appliance as a device of Home Assistant, by MQTT discovery.

One retained message describes the device with all its components:
https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload
"""

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pi_appliance import __version__
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError
from pi_appliance.jobs.run_options import own_page
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.model import Outcome
from pi_appliance.system import network
from pi_appliance.system.machine import Sensors

Call = Callable[[str, str, Mapping[str, object]], Awaitable[Any]]
"""Calls an operation: its method, its path, its arguments."""
Publish = Callable[[str, str], Awaitable[None]]
"""Publishes a retained message: its topic and its payload."""

_log = logging.getLogger(__name__)
_INTERVAL = 2.0  # seconds between two checks whether the history has changed
_LOOKS_PER_REFRESH = 30  # checks after which temperature, problems and next times are read in any case
_Component = dict[str, Any]


class HomeAssistant:
    """Describes the appliance to Home Assistant, publishes its state, and obeys its buttons.

    Args:
        services: The daemon.
        call: Calls an operation.
        find_problems: Returns the current problems of the appliance in words.
    """

    def __init__(self, services: Services, call: Call, find_problems: Callable[[], Sequence[str]]) -> None:
        self._services, self._call, self._find_problems = services, call, find_problems
        appliance = services.appliance
        config = appliance.config.mqtt
        assert config is not None
        self._is_on, self._prefix = config.discovery, config.discovery_prefix
        self._node = "pi-appliance-" + hashlib.sha256(b"mqtt" + appliance.secret).hexdigest()[:12]
        self._base = f"pi-appliance/{self._node}"
        self._config_topic = f"{self._prefix}/device/{self._node}/config"
        self._birth_topic = f"{self._prefix}/status"
        self._sent: dict[str, str] = {}
        self._components: dict[str, str] = {}  # name and platform of the components that Home Assistant knows
        self._sensors = Sensors()
        self._wake = asyncio.Event()
        self._commands = set[asyncio.Task[None]]()

    @property
    def status_topic(self) -> str:
        """The topic that says whether the appliance is online."""
        return f"{self._base}/status"

    @property
    def subscriptions(self) -> list[str]:
        """The MQTT topics to subscribe to."""
        commands = [f"{self._base}/jobs/+/run", f"{self._base}/alarms/+/set"]
        return [*commands, self._birth_topic, self._config_topic] if self._is_on else []

    async def run(self, publish: Publish) -> None:
        """Publish the device and its state until it is cancelled."""
        self._sent.clear()
        await publish(self.status_topic, "online")
        if not self._is_on:
            await publish(self._config_topic, "")  # removes a device that may exist from before
            await asyncio.Event().wait()
        appliance, version, looks = None, None, 0
        while True:
            read, appliance = appliance, self._services.appliance  # differs after the configuration was read again
            before, version = version, appliance.store.version()
            if appliance is not read or version != before or looks % _LOOKS_PER_REFRESH == 0 or self._wake.is_set():
                self._wake.clear()
                await self._publish_changes(publish)
            looks += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_INTERVAL):
                    await self._wake.wait()

    async def receive(self, topic: str, payload: str, *, is_retained: bool) -> bool:
        """Handle a message, and return whether it was one for Home Assistant's device."""
        if topic == self._config_topic:
            if is_retained:
                await self._compare(payload)
        elif topic == self._birth_topic:
            if payload == "online" and not is_retained:  # Home Assistant has started, and may have missed messages
                self._sent.clear()
                self._wake.set()
            return False  # the message may also start a job
        elif topic.startswith(f"{self._base}/"):
            if not is_retained:  # a retained press would be repeated after each start
                task = asyncio.create_task(self._carry_out(topic.removeprefix(f"{self._base}/").split("/"), payload))
                self._commands.add(task)
                task.add_done_callback(self._commands.discard)
        else:
            return False
        return True

    async def _compare(self, payload: str) -> None:
        """Learn from our own earlier message which components are to be removed."""
        with contextlib.suppress(ValueError, AttributeError, TypeError, KeyError):
            earlier = json.loads(payload)["components"]
            self._components = {name: part["platform"] for name, part in earlier.items()} | self._components
        self._sent.pop(self._config_topic, None)
        self._wake.set()

    async def _carry_out(self, words: Sequence[str], payload: str) -> None:
        try:
            match list(words):
                case ["jobs", name, "run"]:
                    await self._call("POST", "/jobs/{name}/run", {"name": name})
                case ["alarms", name, "set"] if payload in ("ON", "OFF"):
                    await self._call("POST", f"/alarms/{payload.lower()}", {"job": name})
        except ApplianceError as error:
            _log.warning("mqtt: Home Assistant asked for %s: %s", "/".join(words), error)
        self._sent = {topic: text for topic, text in self._sent.items() if not topic.startswith(f"{self._base}/alarms")}
        self._wake.set()  # the state is published, so that a switch without effect goes back

    async def _publish_changes(self, publish: Publish) -> None:
        config, temperature = self._services.appliance.config, self._sensors.temperature()
        jobs = [
            each
            for each in await self._call("GET", "/jobs", {})
            if (job := config.jobs.get(each["job"])) is not None and not own_page(job)
        ]
        alarms = await self._call("GET", "/alarms", {})
        components = self._describe_all(jobs, alarms, has_temperature=temperature is not None)
        removed = {name: platform for name, platform in self._components.items() if name not in components}
        if removed:
            gone = {name: {"platform": platform} for name, platform in removed.items()}
            await self._send(publish, self._config_topic, self._device(config, components | gone))
        await self._send(publish, self._config_topic, self._device(config, components))
        self._components = {name: part["platform"] for name, part in components.items()}
        problems = self._find_problems()
        state = {"temperature": temperature, "problem": "ON" if problems else "OFF", "problems": list(problems)}
        await self._send(publish, f"{self._base}/state", state)
        for job in jobs:
            last = job["last"] or {}
            await self._send(
                publish,
                f"{self._base}/jobs/{job['job']}",
                {
                    "result": (last["outcome"] or "running") if last else None,
                    "next": job["next_used"],
                    **{key: last.get(key) for key in ("summary", "started", "ended", "trigger")},
                    "paused": job["paused"] is not None,
                },
            )
        for alarm in alarms:
            topic = f"{self._base}/alarms/{alarm['job']}"
            await self._send(publish, topic, {"on": "OFF" if alarm["paused"] else "ON", "next": alarm["next"]})

    async def _send(self, publish: Publish, topic: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False)
        if self._sent.get(topic) != text:
            await publish(topic, text)
            self._sent[topic] = text

    def _device(self, config: Config, components: Mapping[str, _Component]) -> dict[str, Any]:
        name = config.name or network.host_name()
        device: dict[str, Any] = {
            "identifiers": [self._node],
            "name": name,
            "manufacturer": "pi-appliance",
            "model": "pi-appliance",
            "sw_version": __version__,
        }
        if config.web.port and not network.is_loopback_only(config.web.host):
            device["configuration_url"] = f"http://{network.mdns_name(network.host_name())}:{config.web.port}"
        return {
            "device": device,
            "origin": {"name": "pi-appliance", "sw_version": __version__},
            "availability": [{"topic": self.status_topic}],
            "qos": 1,
            "components": components,
        }

    def _describe_all(
        self, jobs: Sequence[Mapping[str, Any]], alarms: Sequence[Mapping[str, Any]], *, has_temperature: bool
    ) -> dict[str, _Component]:
        state = f"{self._base}/state"
        result = {
            "problem": {
                "platform": "binary_sensor",
                "name": "Problem",
                "device_class": "problem",
                "entity_category": "diagnostic",
                "state_topic": state,
                "value_template": "{{ value_json.problem }}",
                "json_attributes_topic": state,
                "json_attributes_template": "{{ {'problems': value_json.problems} | tojson }}",
            }
        }
        if has_temperature:
            result["temperature"] = {
                "platform": "sensor",
                "name": "Temperature",
                "device_class": "temperature",
                "state_class": "measurement",
                "unit_of_measurement": "°C",
                "entity_category": "diagnostic",
                "state_topic": state,
                "value_template": "{{ value_json.temperature }}",
            }
        for job in jobs:
            result |= self._describe_job(job["job"])
        for alarm in alarms:
            result |= self._describe_alarm(alarm["job"])
        return {name: {**part, "unique_id": f"{self._node}_{name}"} for name, part in result.items()}

    def _describe_job(self, name: str) -> dict[str, _Component]:
        topic = f"{self._base}/jobs/{name}"
        return {
            f"job_{name}_run": {"platform": "button", "name": f"Run {name}", "command_topic": f"{topic}/run"},
            f"job_{name}_result": {
                "platform": "sensor",
                "name": f"{name} result",
                "device_class": "enum",
                "options": ["running", *map(str, Outcome)],
                "state_topic": topic,
                "value_template": "{{ value_json.result }}",
                "json_attributes_topic": topic,
            },
            f"job_{name}_next": _next_time(f"{name} next run", topic),
        }

    def _describe_alarm(self, name: str) -> dict[str, _Component]:
        topic = f"{self._base}/alarms/{name}"
        return {
            f"alarm_{name}": {
                "platform": "switch",
                "name": f"Alarm {name}",
                "icon": "mdi:alarm",
                "command_topic": f"{topic}/set",
                "state_topic": topic,
                "value_template": "{{ value_json.on }}",
            },
            f"alarm_{name}_next": _next_time(f"Alarm {name} next ring", topic),
        }


def _next_time(name: str, topic: str) -> _Component:
    return {
        "platform": "sensor",
        "name": name,
        "device_class": "timestamp",
        "state_topic": topic,
        "value_template": "{{ value_json.next }}",
    }
