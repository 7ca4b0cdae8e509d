"""The one exception whose message is meant for the person at the terminal."""


class UserError(Exception):
    """A mistake the user can mend: one sentence with what, where (file, line, key) and what to do.

    The command line prints it without a traceback and exits with 2.
    """
