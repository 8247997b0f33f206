"""The entry point of the command line."""

import io
import os
import sys


def main(argv: list[str] | None = None) -> None:
    """Run one command. Errors that a person may see become one line on stderr and an exit status, as Ctrl-C does."""
    try:
        _main(argv)
    except KeyboardInterrupt:  # while it loads; later each command says what it left
        sys.exit(130)


def _main(argv: list[str] | None) -> None:
    _open_what_is_closed()
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no … shows a ?
    from pi_appliance.cli import program  # not before: click alone takes longer to load than a skip takes

    program.run(argv)


def _open_what_is_closed() -> None:
    """Give input, output and errors a place where they have none, or the next file opened would be taken for them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one


if __name__ == "__main__":
    main()
