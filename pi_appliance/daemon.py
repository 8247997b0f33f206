"""The daemon: scheduler, player hub and services under one roof, and what each signal means.

SIGTERM, SIGINT  stop: no new runs, the running ones get their grace, then end; twice: at once
SIGHUP           read the configuration again; a wrong one is told and the old one stays
SIGUSR1          look now whether there is something to do (system/wakeup.py)
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from pi_appliance.cli.text import instant
from pi_appliance.config import secrets
from pi_appliance.errors import ApplianceError
from pi_appliance.music import services as household
from pi_appliance.music.hub import PlayerHub
from pi_appliance.music.usb.drives import UsbDrives
from pi_appliance.notify.worker import OutboxDispatcher
from pi_appliance.posting.sender import PendingPostsRunner
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import Runs
from pi_appliance.scheduling.run_requests import RequestRunner
from pi_appliance.scheduling.scheduler import Scheduler, nap_until
from pi_appliance.storage.outbox import Outbox
from pi_appliance.system import clock, wakeup
from pi_appliance.system.clock import ClockState, ClockStepWatcher
from pi_appliance.system.systemd import ServiceNotifier

log = logging.getLogger("pi_appliance.daemon")
_MAX_MESSAGES = 500  # kept for `pi-appliance logs`


class Service(Protocol):
    """A part that other programs talk to: the page, the MPD port."""

    async def start(self, daemon: "Daemon") -> str:
        """Begin to listen and return where, in words for the owner; '' if it is not wanted. Raises ApplianceError."""

    async def stop(self) -> None:
        """Stop listening and let go of every client."""


class Daemon:
    """Everything that lives as long as `pi-appliance up`."""

    def __init__(
        self, appliance: Appliance, services: Sequence[Callable[[], Service]], say: Callable[[str], None]
    ) -> None:
        self.appliance = appliance
        self._secrets = secrets.load(appliance.config.path, os.environ)
        self._news = asyncio.Event()
        self.runs = Runs(appliance.config.path, on_end=self._news.set)
        self.hub = self._new_hub()
        self.sticks = UsbDrives(lambda: self.appliance.config.usb, lambda: self.hub)
        self._courier = OutboxDispatcher(appliance.config.path, appliance.config.state_dir, Outbox(appliance.store))
        self._settling = PendingPostsRunner(lambda: self.appliance, self.runs)
        self._asking = RequestRunner(
            lambda: self.appliance,
            self.runs,
            clock=clock.SystemClock(),
            trusted=lambda: self.scheduler.clock_state is not ClockState.UNTRUSTED,
        )
        self.scheduler = Scheduler(
            appliance,
            self.runs,
            clock=clock.SystemClock(),
            nap=lambda secs: nap_until(self._news, secs),
            also=self._also,
        )
        self._kinds, self._services, self._mouth = services, list[Service](), say
        self.started_at = clock.now()
        self.addresses = list[str]()
        self.messages: deque[tuple[datetime, str]] = deque(maxlen=_MAX_MESSAGES)
        self._silent = False  # whether a service that is wanted could not start
        self._notifier = ServiceNotifier(os.environ)
        os.environ.pop("NOTIFY_SOCKET", None)  # it is for us, not for the programs we start
        self._stop, self._hurry, self._reload = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Live until told to stop. Raises ApplianceError if a service cannot start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        loop.add_signal_handler(wakeup.RING, self._news.set)
        with wakeup.listen(self.appliance.config.state_dir / wakeup.NAME):
            await self._live()

    async def _live(self) -> None:
        self.appliance.store.ensure_intact()  # here, once: a power cut may have damaged what is read next in a month
        self.appliance.sweep()
        music = asyncio.create_task(household.run_services(self.hub, self.appliance.config))
        sticks = asyncio.create_task(self.sticks.run())
        alarm = ClockStepWatcher(self._news.set)
        work: list[asyncio.Task[None]] = []
        try:
            await self._start_services()
            work = [asyncio.create_task(self.scheduler.run(self._alive)), asyncio.create_task(self._until_stopped())]
            self._notifier.send("READY=1", self._status())
            self._say_what_comes()
            while not self._stop.is_set():
                waits = [asyncio.create_task(self._reload.wait()), *work]
                done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                waits[0].cancel()
                for task in done & set(work):
                    task.result()  # the scheduler ends by an error only: let it out
                if self._reload.is_set():
                    self._reload.clear()
                    music = await self._reloaded(music)
        finally:
            self._notifier.send("STOPPING=1", "STATUS=stopping")
            if work:  # else it never began, and the error will say why
                self._say("stopping")
            await _ended(sticks)
            await self._shut_down(music, work)
            alarm.close()

    async def _also(self) -> float:
        await self._courier.look()
        await self._settling.look()
        return await self._asking.look()

    def request_reload(self) -> None:
        """Have the configuration read again. Raises ConfigError with every problem; then nothing changes."""
        self.appliance.reloaded()
        self._reload.set()

    def wake(self) -> None:
        """Let the scheduler look now: somebody changed what it goes by."""
        self._news.set()

    async def _until_stopped(self) -> None:
        await self._stop.wait()

    def _asked_to_stop(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    async def _start_services(self) -> None:
        for kind in self._kinds:
            service = kind()
            where = await service.start(self)
            self._services.append(service)
            if where:
                self.addresses.append(where)
                self._say(where)

    async def _stop_services(self) -> None:
        self.addresses.clear()
        while self._services:
            await self._services.pop().stop()

    async def _reloaded(self, music: asyncio.Task[None]) -> asyncio.Task[None]:
        """Take over what changed in the file. Returns the hub's task, which is a new one if the player changed."""
        before, known = self.appliance.config, self._secrets
        try:
            again, self._secrets = self.appliance.reloaded(), secrets.load(before.path, os.environ)
        except ApplianceError as error:
            self._say(f"the new configuration is wrong, the old one stays:\n{error}")
            return music
        await self.scheduler.look()  # what came due until now is owed by the schedules of until now
        self.appliance = again
        self.scheduler.take_over(again)
        after = again.config
        other_music = household.music_settings(after) != household.music_settings(before) or self._secrets != known
        if other_music:
            await _ended(music)
            self.hub = self._new_hub()
            music = asyncio.create_task(household.run_services(self.hub, self.appliance.config))
        doors = ((each.web, each.mpd_proxy, each.discovery) for each in (before, after))
        if other_music or self._silent or next(doors) != next(doors):
            await self._stop_services()
            try:
                await self._start_services()
                self._silent = False
            except ApplianceError as error:
                self._silent = True
                self._say(f"{error}; the page is down until the file is put right and read again")
        self._news.set()
        self.sticks.wake()
        self._say("configuration read again")
        self._say_what_comes()
        return music

    def _say_what_comes(self) -> None:
        for note in crontab.notes(self.appliance.config):
            self._say(note)
        self._say(self._status().removeprefix("STATUS="))

    async def _shut_down(self, music: asyncio.Task[None], work: Sequence[asyncio.Task[None]]) -> None:
        await self.runs.close()
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)  # an error of theirs is on its way out already
        await self._courier.stop()
        hurry = asyncio.create_task(self._hurry.wait())
        grace = self.appliance.config.stop_grace.total_seconds()
        runs = asyncio.create_task(self.runs.stop(grace, at_once=self._asking.sessions()))
        await asyncio.wait([hurry, runs], return_when=asyncio.FIRST_COMPLETED)
        if not runs.done():
            await _ended(runs)
            await self.runs.stop(0)
        hurry.cancel()
        await self._stop_services()
        await _ended(music)

    def _alive(self) -> None:
        self._notifier.send("WATCHDOG=1", self._status())

    def _status(self) -> str:
        coming = self.scheduler.next()
        if coming is None:
            return "STATUS=no job waits for its time"
        return f"STATUS=next: {coming[1]} at {instant(coming[0], self.appliance.config.time_zone)}"

    def _say(self, text: str) -> None:
        self.messages.append((clock.now(), text))
        with contextlib.suppress(OSError):  # whoever listened is gone; that ends nothing
            self._mouth(text)

    def _new_hub(self) -> PlayerHub:
        return household.create_hub(self.appliance.config, self.appliance.store, self._secrets)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
