"""Set-up of all tests."""

import signal


def pytest_configure() -> None:
    # A shell ignores interrupts for what it runs in the background, and Python then has no handler for them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
