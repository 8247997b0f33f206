"""Backups of the whole appliance, from which a new card becomes the same appliance."""

import io
import json
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from pi_appliance.config import editing, secrets
from pi_appliance.config.options import Config
from pi_appliance.config.yaml_tree import parse_yaml
from pi_appliance.errors import ConfigError, Refused, Unavailable
from pi_appliance.storage.backup_archive import (
    ABOUT,
    CONFIGURATION,
    PLAYLISTS,
    PRIVATE,
    REPORTS,
    archive_chunks,
    archive_error,
    decrypt_secrets,
    encrypt_secrets,
    restore_state,
    unpack_files,
)
from pi_appliance.system import files

_NETWORKS = "networks"
"""The folder of the state with the sessions of networks, which are as secret as keys."""
_MAX_FILES, _MAX_SIZE = 2000, 100_000_000
"""Of the folder of the configuration. Beyond, it is a folder with other things, too."""
STANDARD_OUTPUT = Path("-")
_ASIDE = ".before-restore"
_DRAFTS = ".restore-parts"


class Part(StrEnum):
    """A part of a backup that can be restored."""

    STATE = "state"
    CONFIGURATION = "configuration"
    SECRETS = "secrets"
    REPORTS = "reports"
    PLAYLISTS = "playlists"


def write_backup(config: Config, path: Path, *, playlists: Mapping[str, bytes], passphrase: str = "") -> list[str]:
    """Write a backup of the whole appliance to the archive `path`, which only its owner can read.

    Args:
        config: The configuration.
        path: The archive, a .tar.gz, or `STANDARD_OUTPUT`.
        playlists: The playlists of the player by their file names.
        passphrase: Encrypts the secrets. Without it, they are left out.

    Returns:
        What is left out, in words.

    Raises:
        Refused: The library that encrypts is not installed, or the secrets cannot be read.
        Unavailable: It cannot be written.
    """
    found, notes = _configuration_files(config, path)
    more: dict[str, bytes | Path] = {f"{CONFIGURATION}/{name}": file for name, file in found.items()}
    more |= {f"{PLAYLISTS}/{name}": content for name, content in playlists.items()}
    backups = config.backup and config.backup.folder.resolve()  # a backup must not contain other backups
    reports = [(name, file) for name, file in _files_below(config.reports) if backups not in file.resolve().parents]
    more |= {f"{REPORTS}/{name}": file for name, file in reports}
    if passphrase:
        more[PRIVATE] = encrypt_secrets(_pack_private(config), passphrase)
    without, state_dir = {Path(_NETWORKS)}, config.state_dir.resolve()
    if backups and state_dir in backups.parents:
        without.add(backups.relative_to(state_dir))
    chunks = archive_chunks(config.state_dir, without=without, more=more, main=config.path.name)
    try:
        if path == STANDARD_OUTPUT:
            sys.stdout.buffer.writelines(chunks)
            sys.stdout.buffer.flush()
        else:
            with files.atomic_write(path, mode=0o600) as file:
                file.writelines(chunks)
    except OSError as error:
        raise files.write_error(path, error) from None
    return notes


def _configuration_files(config: Config, archive: Path) -> tuple[dict[str, Path], list[str]]:
    """Return the files of the configuration by name, and notes on the files that are left out."""
    folder = config.path.resolve().parent
    apart = {archive.resolve(), config.path.resolve(), folder / secrets.NAME}
    others = {config.state_dir.resolve(), *([config.backup.folder.resolve()] if config.backup else [])}
    all_files = _some_files_below(folder, others)
    named = [file.resolve() for file in _named_files(config) if file.is_file()]
    notes = [f"{file} is left out, because it is not in {folder}" for file in named if not file.is_relative_to(folder)]
    if all_files is None:
        all_files = [file for file in named if file.is_relative_to(folder)]
        notes.append(f"of {folder} only the files that the configuration names, because it holds much else")
    found = {config.path.name: config.path}
    for file in all_files:
        if file not in apart and not os.access(file, os.R_OK):
            notes.append(f"{file} is left out, because it cannot be read")
        elif file not in apart and _ASIDE not in file.name:
            found[str(file.relative_to(folder))] = file
    return found, list(dict.fromkeys(notes))


def _some_files_below(folder: Path, others: Collection[Path]) -> list[Path] | None:
    """Return all files below `folder`, or None if they are too many to belong to a configuration.

    The folders `others`, such as the one with the backups, are left out.
    """
    found, size = list[Path](), 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and Path(place, name) not in others]
        for name in names:
            file = Path(place, name)
            if not name.startswith(".") and file.is_file() and not file.is_symlink():
                found.append(file)
                size += file.stat().st_size
        if len(found) > _MAX_FILES or size > _MAX_SIZE:
            return None
    return sorted(found)


def _named_files(value: object) -> Iterator[Path]:
    """Yield all paths in the configuration."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _named_files(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _named_files(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _named_files(getattr(value, field.name))


def _files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink():
            yield str(file.relative_to(folder)), file


def _pack_private(config: Config) -> bytes:
    """Return a .tar of the secrets and the sessions of networks. Raises Refused."""
    path, packed = secrets.credential_file(os.environ) or config.path.parent / secrets.NAME, io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        if path.exists():
            _add(archive, secrets.NAME, secrets.read(path))
        for name, file in _files_below(config.state_dir / _NETWORKS):
            _add(archive, f"{_NETWORKS}/{name}", file.read_bytes())
    return packed.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    archive.addfile(info, io.BytesIO(content))


class BackupReader:
    """A backup of the whole appliance, or an older one of the state, that is to be restored.

    Args:
        path: The archive.
        folder: An existing folder for its files. `close` deletes what was unpacked.

    Raises:
        Refused: It is not an archive of `write_backup`, or not all of it is there.
        Unavailable: It cannot be unpacked.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder / _DRAFTS
        self.close()
        try:
            with tarfile.open(path) as archive:
                wanted = [each for each in archive if each.isreg() and _is_beside_the_state(each.name)]
                unpack_files(archive, wanted, self._folder)
        except Refused:
            self.close()
            raise
        except (tarfile.TarError, EOFError, zlib.error) as error:
            self.close()
            raise Refused(f"{path} is not a backup of pi-appliance: {archive_error(error)}") from None
        except OSError as error:
            self.close()
            advice = (
                "check its name" if isinstance(error, FileNotFoundError) else "check its rights, and the free space"
            )
            raise Unavailable(f"{path} cannot be unpacked: {error.strerror or error}; {advice}") from None

    def close(self) -> None:
        """Delete the unpacked files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def parts(self) -> set[Part]:
        """The parts that the backup contains."""
        names = {
            Part.CONFIGURATION: f"{CONFIGURATION}/{self._main}" if self._main else "-",
            Part.SECRETS: PRIVATE,
            Part.REPORTS: REPORTS,
            Part.PLAYLISTS: PLAYLISTS,
        }
        return {Part.STATE, *(part for part, name in names.items() if (self._folder / name).exists())}

    @property
    def _main(self) -> str:
        """The name of the main file of the configuration; "" in a backup of the page."""
        try:
            name = str(json.loads((self._folder / ABOUT).read_bytes())["main"])
        except (OSError, ValueError, TypeError, KeyError):
            return ""
        return name if name == PurePosixPath(name).name else ""

    @property
    def playlists(self) -> dict[str, bytes]:
        """The playlists by their file names."""
        return {name: file.read_bytes() for name, file in _files_below(self._folder / PLAYLISTS)}

    def restore(self, config: Config, parts: Collection[Part], passphrase: str = "") -> list[str]:
        """Restore `parts`, except the playlists, and return what was done to the owner's files.

        A file that is replaced is kept beside it.

        Raises:
            Refused: The passphrase is wrong, or a run is active. Nothing was changed then.
            Unavailable: Something cannot be written.
        """
        packed = b""
        if Part.SECRETS in parts:
            packed = decrypt_secrets((self._folder / PRIVATE).read_bytes(), passphrase)
        if Part.STATE in parts:
            restore_state(self._path, config.state_dir)
        notes = self._restore_configuration(config) if Part.CONFIGURATION in parts else []
        if packed:
            notes += _unpack_private(packed, config)
        if Part.REPORTS in parts:
            for name, file in _files_below(self._folder / REPORTS):
                if not (config.reports / name).exists():
                    _write(config.reports / name, file.read_bytes())
        return notes

    def _restore_configuration(self, config: Config) -> list[str]:
        source, target, notes = self._folder / CONFIGURATION, config.path.resolve(), list[str]()
        for name, file in _files_below(source):
            if name == self._main:
                notes += _replace(target, _with_state_dir(file.read_bytes(), config))
            elif PurePosixPath(name).name != secrets.NAME:
                notes += _replace(target.parent / name, file.read_bytes())
        return notes


def _is_beside_the_state(name: str) -> bool:
    return name in (ABOUT, PRIVATE) or name.partition("/")[0] in (CONFIGURATION, REPORTS, PLAYLISTS)


def _with_state_dir(content: bytes, config: Config) -> bytes:
    """Return the configuration `content` with the state folder of this installation."""
    try:
        text = content.decode()
        data: Any = parse_yaml(text, "").data
        written = Path(str(data["state-dir"])).expanduser()
        if config.path.parent.joinpath(written).resolve() == config.state_dir.resolve():
            return content
        return editing.rewrite(text, editing.set_value(data, ("state-dir",), str(config.state_dir))).encode()
    except (
        ConfigError,
        UnicodeDecodeError,
        KeyError,
        TypeError,
    ):  # the file is restored unchanged, and `config check` reports its problems
        return content


def _unpack_private(packed: bytes, config: Config) -> list[str]:
    notes = []
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            opened = archive.extractfile(member)
            content = opened.read() if opened else b""
            if member.name == secrets.NAME:
                notes += _replace(config.path.resolve().parent / secrets.NAME, content, mode=0o600)
            # a present session of a network is newer than that of the backup
            elif not (config.state_dir / member.name).exists():
                _write(config.state_dir / member.name, content, mode=0o600)
    return notes


def _replace(path: Path, content: bytes, *, mode: int = 0o644) -> list[str]:
    """Write `path`. If it had another content, keep that beside it, and return a note."""
    notes, old = [], path.read_bytes() if path.exists() else content
    if old != content:
        kept = _unused_name(path)
        files.write_file(kept, old, mode=0o600)
        notes.append(f"{path} is that of the backup; the one before is {kept.name}")
    if not path.exists() or old != content:
        _write(path, content, mode=mode)
    return notes


def _unused_name(path: Path) -> Path:
    number, kept = 1, path.with_name(path.name + _ASIDE)
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}{_ASIDE}-{number}")
    return kept


def _write(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    files.make_directory(path.parent)
    files.write_file(path, content, mode=mode)
