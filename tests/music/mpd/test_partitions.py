"""Partitions of the MPD player: each connection stays in its partition."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.config.options import PluginConfig, VolumePolicy
from pi_appliance.errors import Refused
from pi_appliance.music.model import Uri
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.music.volume_limits import PlayerPolicy, VolumeLimiter
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.music.mpd.mpd_helpers import EINS, ONE, call_player

pytestmark = needs_mpd


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[MpdServer]:
    """Yield an MPD with two outputs, one in the partition `kitchen` with its own queue."""
    with running_mpd(tmp_path, outputs=("silence", "oven"), password="sécret") as server:
        call_player(server, lambda player: player.create_partition("kitchen"), MPD_PASSWORD="sécret")
        call_player(server, lambda player: player.move_output("oven"), "kitchen", MPD_PASSWORD="sécret")
        server.mpc("add", ONE)
        yield server


def kitchen(server: MpdServer, command: str) -> str:
    """Return MPD's answer to `command` in the kitchen; mpc does not support partitions."""
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection,
        connection.makefile("rw") as file,
    ):
        messages = []
        for line in (f'password "{server.password}"', "partition kitchen", command):
            file.write(f"{line}\n")
            file.flush()
            while not messages or messages[-1] != "OK":
                messages.append(file.readline().strip())
                assert not messages[-1].startswith("ACK")
            messages.append("")
    return "\n".join(messages)


def test_changes_apply_to_their_partition_only(installation: MpdServer) -> None:
    call_player(
        installation, lambda player: player.add_source(Uri(uri=EINS), play=True), "kitchen", MPD_PASSWORD="sécret"
    )
    assert f"file: {EINS}\n" in (playing := kitchen(installation, "currentsong"))
    assert ONE not in playing
    assert installation.mpc("playlist", "-f", "%file%") == ONE
    state = call_player(installation, lambda player: player.state(), "kitchen", MPD_PASSWORD="sécret")
    assert (state.partition, state.track and state.track.uri) == ("kitchen", EINS)


def test_outputs_belong_to_the_partition(installation: MpdServer) -> None:
    for partition, name in (("kitchen", "oven"), ("", "silence")):
        outputs = call_player(installation, lambda player: player.list_outputs(), partition, MPD_PASSWORD="sécret")
        assert [output.name for output in outputs] == [name]


def test_a_watcher_follows_into_another_partition(installation: MpdServer) -> None:
    async def scenario() -> None:
        player: Player = mpd.connect(mpd.Options(address=installation.address), {"MPD_PASSWORD": "sécret"})
        changes = player.watch_changes()
        async with asyncio.timeout(10):
            everything = await anext(changes)
            waiting = asyncio.create_task(anext(changes))
            await player.state()  # by now it waits
            await player.use_partition("kitchen")
            assert await waiting == everything, "all is new in another partition"
            await anext(changes)  # MPD reports a change of everything once more
            waiting = asyncio.create_task(anext(changes))
            await asyncio.to_thread(installation.mpc, "random", "on")  # in the first one: not reported
            await asyncio.to_thread(kitchen, installation, "setvol 40")
            assert await waiting == {"mixer"}
            assert (await player.state()).volume == 40
            await changes.aclose()
            await player.use_partition("default")
            assert (await player.state()).random
        await player.close()

    asyncio.run(scenario())


def test_partitions_are_created_and_deleted(installation: MpdServer) -> None:
    def names(server: MpdServer) -> list[str]:
        result = call_player(server, lambda player: player.list_partitions(), MPD_PASSWORD="sécret")
        return [each.name for each in result]

    assert names(installation) == ["default", "kitchen"]
    call_player(installation, lambda player: player.create_partition("bath"), MPD_PASSWORD="sécret")
    assert names(installation) == ["default", "kitchen", "bath"]
    call_player(installation, lambda player: player.delete_partition("bath"), MPD_PASSWORD="sécret")
    assert names(installation) == ["default", "kitchen"]


def test_the_volume_limit_holds_in_other_partitions_which_can_be_deleted(tmp_path: Path) -> None:
    """MPD reports nothing from there, and does not delete a partition in which a client waits."""
    checks = list[float]()

    async def sleep(seconds: float) -> None:
        checks.append(seconds)
        await asyncio.sleep(0.02)

    async def scenario(server: MpdServer) -> None:
        options = mpd.Options(address=server.address, fallback_mpd=False)
        policy = PlayerPolicy(volume_policy=VolumePolicy(maximum=60))
        hub = PlayerHub(PluginConfig(kind="mpd", options=options), tmp_path, {"MPD_PASSWORD": "sécret"}, policy=policy)
        work = [hub.run(), VolumeLimiter(hub, boot="", sleep=sleep).run()]
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            for _ in range(3):
                await asyncio.to_thread(kitchen, server, "setvol 100")
                async with asyncio.timeout(10):
                    while "volume: 60\n" not in await asyncio.to_thread(kitchen, server, "status"):
                        await asyncio.sleep(0.02)
            player = await hub.player()
            await player.move_output("oven")
            await player.delete_partition("kitchen")
            async with asyncio.timeout(10):
                while checks[-1:]:  # without other partitions it sleeps
                    checks.clear()
                    await asyncio.sleep(0.2)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    with running_mpd(tmp_path, outputs=("silence", "oven"), password="sécret") as server:
        call_player(server, lambda player: player.create_partition("kitchen"), MPD_PASSWORD="sécret")
        call_player(server, lambda player: player.move_output("oven"), "kitchen", MPD_PASSWORD="sécret")
        asyncio.run(scenario(server))


def test_partition_errors_are_described(installation: MpdServer) -> None:
    for question, words in (
        (lambda player: player.use_partition("attic"), "has no partition 'attic'; use another one"),
        (lambda player: player.create_partition("kitchen"), "there is a partition called 'kitchen' already"),
        (lambda player: player.create_partition("a b"), "is not a valid name of a partition; use letters"),
        (lambda player: player.create_partition("a\nclear"), "line break"),
        (lambda player: player.delete_partition("attic"), "has no partition 'attic'"),
        (lambda player: player.delete_partition("kitchen"), "partition still has outputs"),
        (lambda player: player.move_output("attic"), "No such output"),
    ):
        with pytest.raises(Refused, match=words):
            call_player(installation, question, MPD_PASSWORD="sécret")
    with pytest.raises(Refused, match="has no partition 'attic'"):
        call_player(installation, lambda player: player.state(), "attic", MPD_PASSWORD="sécret")


def test_after_a_failed_change_the_old_partition_is_used(installation: MpdServer) -> None:
    async def try_it(player: Player) -> str:
        with pytest.raises(Refused):
            await player.use_partition("attic")
        return (await player.state()).partition

    assert call_player(installation, try_it, "kitchen", MPD_PASSWORD="sécret") == "kitchen"
