"""Tasks end although they lose a cancellation."""

import asyncio

from pi_appliance.triggers.service import end_tasks


def test_a_task_that_loses_a_cancellation_ends() -> None:
    lost = 0

    async def losing() -> None:
        nonlocal lost
        while lost < 3:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                lost += 1
        await asyncio.sleep(3600)

    async def failing() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise OSError("the broker does not answer")

    async def main() -> None:
        tasks = [asyncio.create_task(losing()), asyncio.create_task(failing())]
        await asyncio.sleep(0)
        await end_tasks(tasks, again=0.001)
        assert all(task.done() for task in tasks)

    asyncio.run(main())
    assert lost == 3
