"""Problems and warnings of `triggers:` and `mqtt:` that need more than one of their values."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from pi_appliance.config.binding import Tree
from pi_appliance.config.model import Config
from pi_appliance.errors import Problem

MQTT_PASSWORD = "MQTT_PASSWORD"  # noqa: S105 - its name
NO_GPIO = "the library gpiozero is not installed; run: pip install 'pi-appliance[gpio]'"
NO_MQTT = "the library aiomqtt is not installed; run: pip install 'pi-appliance[mqtt]'"


def trigger_problems(tree: Tree, config: Config) -> Iterator[Problem]:
    """Yield the triggers that need another section of the file."""
    for name, job in config.jobs.items():
        if job.triggers.mqtt.topic and config.mqtt is None:
            path = ("jobs", name, "triggers", "mqtt")
            yield tree.problem(path, "no MQTT broker is named", "add a section such as mqtt: {host: 192.168.1.2}")
    buttons = [(name, job.triggers.button) for name, job in config.jobs.items() if job.triggers.button.pin is not None]
    pulls = {button.pin: button.pull_up for _, button in reversed(buttons)}
    for name, button in buttons:
        if button.pull_up is not pulls[button.pin]:
            where = ("jobs", name, "triggers", "button", "pull-up")
            yield tree.problem(where, f"another job has another value for pin {button.pin}", "write the same one")


def trigger_warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the triggers that lack a secret or a library."""
    for name, job in config.jobs.items():
        if (hook := job.triggers.webhook) and not secrets.get(hook):
            right = f"run: pi-appliance jobs webhook {name}"
            yield tree.problem(("jobs", name, "triggers", "webhook"), f"missing secrets: {hook}", right)
        if job.triggers.button.pin is not None and find_spec("gpiozero") is None:
            yield tree.problem(("jobs", name, "triggers", "button"), *NO_GPIO.split("; "))
    if config.mqtt is not None:
        if find_spec("aiomqtt") is None:
            yield tree.problem(("mqtt",), *NO_MQTT.split("; "), at_key=True)
        if config.mqtt.user and not secrets.get(MQTT_PASSWORD):
            wrong = f"missing secrets: {MQTT_PASSWORD}"
            yield tree.problem(("mqtt", "user"), wrong, f"write {MQTT_PASSWORD}=… into secrets.env")
