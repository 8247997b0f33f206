"""The mount watcher with the real kernel: a signal for each mount, and no polling."""

import asyncio
import subprocess
import time
from pathlib import Path

from pi_appliance.system.machine import MountWatcher
from tests.fakes.usb_drive import needs_loop


@needs_loop
def test_it_signals_mounts_and_unmounts_and_is_idle_otherwise(tmp_path: Path) -> None:
    async def scenario() -> None:
        rung = asyncio.Event()
        alarm = MountWatcher(rung.set)
        try:
            for command in (["mount", "-t", "tmpfs", "none", tmp_path], ["umount", tmp_path]):
                await asyncio.to_thread(subprocess.run, command, check=True)
                async with asyncio.timeout(5):
                    await rung.wait()
                rung.clear()
            before = time.process_time()
            await asyncio.sleep(0.3)
            assert time.process_time() - before < 0.1, "the list can always be read; that must not wake us"
        finally:
            alarm.close()
            alarm.close()

    asyncio.run(scenario())


def test_files_and_missing_files_never_signal(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "list").write_text("")
        for name in ("list", "none"):
            MountWatcher(lambda: None, tmp_path / name).close()

    asyncio.run(scenario())
