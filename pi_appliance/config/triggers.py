"""The data classes of `triggers:` of a job and of `mqtt:`."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pi_appliance.config.units import Limits, Names, format_duration
from pi_appliance.errors import Issues
from pi_appliance.system.files import expand_user

MQTT_PASSWORD = "MQTT_PASSWORD"  # noqa: S105 - its name
NO_GPIO = "the library gpiozero is not installed; run: pip install 'pi-appliance[gpio]'"
NO_MQTT = "the library aiomqtt is not installed; run: pip install 'pi-appliance[mqtt]'"
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{2,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTrigger:
    """A file that appears or changes."""

    path: Annotated[Names | None, "a file, or a pattern such as /srv/inbox/*.pdf; one or a list"] = None
    debounce: Annotated[timedelta, "how long nothing may be written before the job starts"] = timedelta(seconds=2)

    def check(self) -> Issues:
        """Return the problems of the values."""
        problems: Issues = []
        for path in self.path or ():
            if not path.startswith(("/", "~")):
                right = "write the whole path, such as /srv/inbox/*.pdf"
                problems.append((("path",), f"{path!r} does not say in which folder it is", right))
            elif "**" in path or re.search(r"[*?\[]", path.rpartition("/")[0]):
                right = "name the folder, such as /srv/inbox/*.pdf"
                problems.append((("path",), f"{path!r} has a pattern in the name of a folder", right))
            try:
                expand_user(path)
            except ValueError as error:
                wrong, _, right = str(error).partition("; ")
                problems.append((("path",), wrong, right))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicTrigger:
    """A message of MQTT."""

    topic: Annotated[Names | None, "a topic, which may have + and #; one or a list"] = None
    payload: Annotated[str, "the message that starts the job; without it, any"] = ""
    retained: Annotated[bool, "whether the message that the broker keeps starts the job, too"] = False

    def check(self) -> Issues:
        """Return the problems of the values."""
        problems: Issues = []
        for topic in self.topic or ():
            levels = topic.split("/")
            if "#" in levels[:-1] or any(len(level) > 1 and set(level) & set("+#") for level in levels):
                right = "write home/+/door for any level, home/# for all below"
                problems.append((("topic",), f"{topic!r} is not a topic", right))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonTrigger:
    """A push button on a GPIO pin."""

    pin: Annotated[
        int | None,
        "the GPIO number of the pin, such as 17, not its place on the board",
        Limits(0, 27, wrong="is not a GPIO pin"),
    ] = None
    hold: Annotated[timedelta, "how long it must be held; 0s: the job starts when it is pressed"] = timedelta(0)
    pull_up: Annotated[bool, "the button connects the pin to ground; false: to 3.3 V"] = True
    debounce_ms: Annotated[
        int,
        "milliseconds for which the contact must be still",
        Limits(0, 1000, wrong="is not a valid number of milliseconds"),
    ] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Mqtt:
    """The MQTT broker. Its password is MQTT_PASSWORD in secrets.env."""

    host: Annotated[str, "the name or the address of the broker"]
    port: Annotated[
        int | None,
        "its port; without it, 1883, or 8883 with tls",
        Limits(1, 65535, wrong="is not a valid port", right="write 1883"),
    ] = None
    user: Annotated[str, "the user; its password is MQTT_PASSWORD in secrets.env"] = ""
    tls: Annotated[bool, "encrypt the connection and check the certificate of the broker"] = False
    ca_file: Annotated[Path | None, "the certificate of your own authority; without it, those of the system"] = None
    discovery: Annotated[bool, "show jobs, alarms and the machine in Home Assistant"] = True
    discovery_prefix: Annotated[str, "the prefix of topics that Home Assistant is set to"] = "homeassistant"

    def check(self) -> Issues:
        """Return the problems of the values."""
        problems: Issues = []
        if not self.host or set(self.host) & set("/@ "):
            problems.append((("host",), f"{self.host!r} is not the name of a host", "write one such as 192.168.1.2"))
        if not self.discovery_prefix or set(self.discovery_prefix) & set("+#"):
            wrong = f"{self.discovery_prefix!r} cannot begin a topic"
            problems.append((("discovery-prefix",), wrong, "write homeassistant"))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """What starts a job besides its schedule."""

    webhook: Annotated[
        str, "a name in secrets.env, such as DOOR_HOOK; a POST to /hooks/NAME with its value starts the job"
    ] = ""
    file: Annotated[FileTrigger, "a file that was written"] = field(default_factory=FileTrigger)
    mqtt: Annotated[TopicTrigger, "a message of MQTT; needs `mqtt:` of the file"] = field(default_factory=TopicTrigger)
    button: Annotated[ButtonTrigger, "a push button on a GPIO pin"] = field(default_factory=ButtonTrigger)

    @property
    def any(self) -> bool:
        """Whether one of them is used."""
        return bool(self.events())

    def describe(self) -> str:
        """Return what starts the job, to be read after "It runs"."""
        *others, last = self.events().values()
        return f"{', '.join(others)}, or {last}" if others else last

    def events(self) -> dict[str, str]:
        """Return the events in words, by the key of each."""
        events = {"webhook": "when its webhook is called"} if self.webhook else {}
        if self.file.path:
            events["file"] = f"when {' or '.join(self.file.path)} was written"
        if self.mqtt.topic:
            events["mqtt"] = f"at a message to {' or '.join(self.mqtt.topic)}"
        if self.button.pin is not None:
            verb = f"held for {format_duration(self.button.hold)}" if self.button.hold else "pressed"
            events["button"] = f"when the button at pin {self.button.pin} is {verb}"
        return events

    def check(self) -> Issues:
        """Return the problems of the values."""
        if self.webhook and not _SECRET.fullmatch(self.webhook):
            right = "write a name such as DOORBELL_HOOK here, and DOORBELL_HOOK=… into secrets.env"
            # The value is not shown: it may be the secret itself.
            return [(("webhook",), "this is not the name of a secret", right)]
        return []
