"""Lists with several queries do not wait for the kernel to acknowledge an answer."""

import asyncio
import time
from pathlib import Path

from pi_appliance.music.mpd import player as mpd
from tests.fakes.mpd_server import needs_mpd, running_mpd

pytestmark = needs_mpd
DELAY = 0.038  # seconds; Linux keeps an acknowledgement for 0.04
TRIES = 10
MANY = {f"{number:03} {'of a long name' * 10}.wav": ("", "", "", "", "", "", "", b"") for number in range(200)}


def test_a_page_of_a_playlist_does_not_wait_for_a_delayed_ack(tmp_path: Path) -> None:
    async def soonest(address: str) -> float:
        player, taken = mpd.connect(mpd.Options(address=address), {}), []
        for _ in range(TRIES):
            began = time.perf_counter()
            window = await player.list_playlist("all")
            taken.append(time.perf_counter() - began)
            assert len(window.items) == 100
        await player.close()
        return min(taken)

    with running_mpd(tmp_path, music=MANY) as server:
        server.mpc("add", "/")
        server.mpc("save", "all")
        assert asyncio.run(soonest(server.address)) < DELAY
