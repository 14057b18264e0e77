"""The one exception that a user sees as a sentence."""


class R3Error(Exception):
    """Bad input or a missing tool: one sentence that says what, where and how to mend.

    The command line prints it as ``r3: <sentence>`` and exits with ``exit_status``.
    """

    exit_status = 1


class UsageError(R3Error):
    """The command line, a settings file or a variable is wrong."""

    exit_status = 2
