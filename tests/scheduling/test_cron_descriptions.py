"""Descriptions of cron expressions."""

import pytest

from pi_appliance.scheduling.schedule import describe_expression


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 6 * * *", "At 06:00 every day"),
        ("0 6,18 * * mon-fri", "At 06:00 and 18:00 on Monday through Friday"),
        ("*/15 * * * *", "Every 15th minute of every hour"),
        ("*/45 * * * *", "At minutes 0 and 45 of every hour"),
        ("*/70 * * * *", "At the start of every hour"),
        ("0 */5 * * *", "At minute 0 past hours 0, 5, 10, 15, and 20"),
        ("0 0 31 * *", "At 00:00 on the 31st day of every month"),
        ("0 0 22 * *", "At 00:00 on the 22nd day of every month"),
        ("0 0 23 * *", "At 00:00 on the 23rd day of every month"),
        ("0 0 12 * *", "At 00:00 on the 12th day of every month"),
        ("0 0 13 * 0-7", "At 00:00 every day"),
        ("0 0 1-31 * 5", "At 00:00 every day"),
        ("0 0 */1 * 1", "At 00:00 on Monday"),
        ("0 0 * * */2", "At 00:00 on Sunday, Tuesday, Thursday, and Saturday"),
        ("0 0 * * */7", "At 00:00 on Sunday"),
        ("0 0 */16 * *", "At 00:00 on the first and the 17th day of month"),
        ("0 0 1 */5 *", "At 00:00 on the first day of January, June, and November"),
    ],
)
def test_an_expression_is_described_as_cron_reads_it(expression: str, words: str) -> None:
    assert describe_expression(expression) == words
