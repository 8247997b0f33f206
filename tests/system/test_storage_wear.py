"""The wear of a card, from kernel counters in files."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pi_appliance.system.machine import FilesystemErrors, StorageWear, filesystem_errors, storage_wear


def put(sys: Path, **files: str) -> None:
    for name, text in files.items():
        path = sys / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "ascii")


def test_a_machine_without_counters_yields_nothing(tmp_path: Path) -> None:
    assert (filesystem_errors(tmp_path), storage_wear(tmp_path)) == ([], [])


def test_errors_are_counted_with_the_first_and_the_last(tmp_path: Path) -> None:
    put(
        tmp_path,
        fs__ext4__mmcblk0p2__errors_count="3\n",
        fs__ext4__mmcblk0p2__first_error_time="1700000000\n",
        fs__ext4__mmcblk0p2__last_error_time="1700086400\n",
        fs__ext4__sda1__errors_count="0\n",
        fs__ext4__sda1__first_error_time="0\n",
        fs__ext4__features__lazy_itable_init="supported\n",
        fs__ext4__broken__errors_count="?\n",
    )
    first, last = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), datetime(2023, 11, 15, 22, 13, 20, tzinfo=UTC)
    assert filesystem_errors(tmp_path) == [
        FilesystemErrors("mmcblk0p2", 3, first, last),
        FilesystemErrors("sda1", 0, None, None),
    ]


@pytest.mark.parametrize(
    ("life", "spare", "output"),
    [
        ("0x01 0x02\n", "0x01\n", StorageWear("mmcblk0", 20, spare_low=False)),
        ("0x0b 0x01\n", "0x02\n", StorageWear("mmcblk0", 110, spare_low=False)),
        ("0x01 0x01\n", "0x03\n", StorageWear("mmcblk0", 10, spare_low=True)),
        ("0x05 0x00\n", "", StorageWear("mmcblk0", 50, spare_low=False)),
        ("0x00 0x00\n", "0x00\n", None),
        ("what\n", "0x01\n", None),
    ],
)
def test_the_wear_of_a_card_is_read(tmp_path: Path, life: str, spare: str, output: StorageWear | None) -> None:
    put(tmp_path, block__mmcblk0__device__life_time=life, block__mmcblk0__device__pre_eol_info=spare)
    assert storage_wear(tmp_path) == ([output] if output else [])
