"""The entry point of the command line."""

import io
import os
import sys


def main(argv: list[str] | None = None) -> None:
    """Run one command. Expected errors and Ctrl-C become one line on stderr and an exit status."""
    try:
        _main(argv)
    except KeyboardInterrupt:  # Ctrl-C before a command runs; a running command reports its own interruption
        sys.exit(130)


def _main(argv: list[str] | None) -> None:
    _open_closed_streams()
    arguments = sys.argv[1:] if argv is None else argv
    if "cron" in arguments:  # only cron's runs are handed to the daemon; other commands may need no socket
        from pi_appliance.system import runtime_socket

        status = runtime_socket.hand_over(arguments)
        if status is not None:
            sys.exit(status)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # a terminal without … shows a ?
    from pi_appliance.cli import program  # not before: click takes longer to import than a skipped run takes

    program.run(argv)


def _open_closed_streams() -> None:
    """Open /dev/null for each closed standard stream, or the next opened file would become it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is the closed stream


if __name__ == "__main__":
    main()
