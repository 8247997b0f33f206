"""The connection to the MQTT broker: messages that start jobs, and Home Assistant."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from pi_appliance.config.triggers import NO_MQTT, Mqtt, TopicTrigger
from pi_appliance.errors import Unavailable
from pi_appliance.triggers.home_assistant import HomeAssistant
from pi_appliance.triggers.service import end_tasks

_MAX_QUEUED = 1000  # messages that may wait; further ones are dropped
_MAX_FAREWELL = 2.0  # seconds for the last message before disconnecting
_AT_LEAST_ONCE = 1


class MqttConnection:
    """One connection to the broker. It ends with an error if the broker goes away.

    Args:
        config: The broker.
        password: Its password, or "".
        triggers: The trigger of each job.
        fire: Starts a job.
        report: Receives the problem of a job, or of all with the job "".
        home: The appliance in Home Assistant.
        kept: The last retained message of each topic that started a job. It outlives the
            connection, so that the same message does not start a job at each reconnection.
    """

    def __init__(
        self,
        config: Mqtt,
        password: str,
        triggers: Mapping[str, TopicTrigger],
        *,
        fire: Callable[[str], None],
        report: Callable[[str, str], None],
        home: HomeAssistant,
        kept: MutableMapping[tuple[str, str], str],
    ) -> None:
        self._config, self._password, self._triggers = config, password, triggers
        self._fire, self._report, self._home, self._kept = fire, report, home, kept

    async def run(self) -> None:
        """Use the connection until it is cancelled. Raises Unavailable."""
        try:
            import aiomqtt  # noqa: PLC0415 - 80 ms, and an optional extra
        except ImportError:
            raise Unavailable(NO_MQTT) from None
        config, home = self._config, self._home
        where = f"{config.host}:{config.port or (8883 if config.tls else 1883)}"
        try:
            client = aiomqtt.Client(
                config.host,
                config.port or (8883 if config.tls else 1883),
                username=config.user or None,
                password=self._password or None,
                will=aiomqtt.Will(home.status_topic, "offline", _AT_LEAST_ONCE, retain=True),
                tls_context=ssl.create_default_context(cafile=config.ca_file) if config.tls else None,
                max_queued_incoming_messages=_MAX_QUEUED,
            )
            async with client:
                await self._serve(client)
        except (aiomqtt.MqttError, OSError, ValueError) as error:
            reason = str(error).removeprefix("[code:").partition("] ")[2] or str(error)
            raise Unavailable(f"the broker {where} is not reached: {reason}") from None

    async def _serve(self, client: Any) -> None:
        async def publish(topic: str, payload: str) -> None:
            await client.publish(topic, payload, _AT_LEAST_ONCE, retain=True)

        topics = {topic for trigger in self._triggers.values() for topic in trigger.topic or ()}
        for topic in sorted(topics | set(self._home.subscriptions)):
            await client.subscribe(topic, _AT_LEAST_ONCE)
        self._report("", "")
        tasks = [asyncio.create_task(self._receive(client)), asyncio.create_task(self._home.run(publish))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # if the broker is away, its will reports the same
                async with asyncio.timeout(_MAX_FAREWELL):
                    await publish(self._home.status_topic, "offline")
            raise
        finally:
            await end_tasks(tasks)

    async def _receive(self, client: Any) -> None:
        async for message in client.messages:
            payload = message.payload.decode("utf-8", "replace") if isinstance(message.payload, bytes) else ""
            if await self._home.receive(str(message.topic), payload, is_retained=message.retain):
                continue
            for job, trigger in self._triggers.items():
                if any(message.topic.matches(each) for each in trigger.topic or ()):
                    self._use(job, trigger, str(message.topic), payload, is_retained=message.retain)

    def _use(self, job: str, trigger: TopicTrigger, topic: str, payload: str, *, is_retained: bool) -> None:
        if trigger.payload not in ("", payload):
            return
        if is_retained:
            if not trigger.retained or self._kept.get((job, topic)) == payload:
                return
            self._kept[job, topic] = payload
        self._fire(job)
