"""The exception that is meant for the person at the terminal, and one that is for nobody."""


class UserError(Exception):
    """A mistake the user can mend: one sentence with what, where (file, line, key) and what to do.

    The command line prints it without a traceback and exits with 2.
    """


class RankLost(Exception):
    """Another process of the same trial is gone, or who started them; nothing is wrong with the
    trial itself, which goes on when it is run again."""


def first_line(error: Exception) -> str:
    """What it says first, else what it is called."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
