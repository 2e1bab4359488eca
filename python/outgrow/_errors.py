"""Exceptions with the library's message and hint, as subclasses of Python's; and warnings."""
import errno
import sys
import warnings

from ._words import in_python


class Error(Exception):
    """Base class of all errors.

    `message` has what failed, where and why, and `hint` a remedy; it may be empty. `code` is the library's negative
    errno, or 0.
    """

    def __init__(self, message, hint="", code=0):
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.message, self.hint, self.code = message, hint, code


class OptionError(Error, ValueError):
    """An argument or an option has an invalid value."""


class BudgetError(Error, MemoryError):
    """`memory` is too small, or too many batches are retained; the message has the required value."""


class FileError(Error, OSError):
    """A file or folder is missing, damaged, or cannot be read or written."""

    def __init__(self, message, hint="", code=0):
        Error.__init__(self, message, hint, code)
        self.errno, self.strerror = -code or None, message

    def __str__(self):
        return self.args[0]


class UnsupportedError(Error, NotImplementedError):
    """An argument that another library has and this one does not. The hint says what to do in its place."""


class ProcessError(Error, RuntimeError):
    """A loader was used in a forked process, or after it was closed."""


def warn(text):
    """Warn at the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("outgrow."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


OPTION = {errno.EINVAL, errno.ERANGE, errno.EDOM, errno.ENOTSUP}
BUDGET = {errno.ENOMEM, errno.ENOBUFS}
PROCESS = {errno.ECHILD, errno.ECANCELED}


def error_of(code, message, hint):
    """The exception for an error of the library."""
    message, hint = in_python(message), in_python(hint)
    if -code == errno.ECHILD:
        return ProcessError(f"{message}: num_workers is not needed, the loader has threads of its own",
                            "use the loader without DataLoader, or open it in the process that iterates over it", code)
    for classes, kind in (OPTION, OptionError), (BUDGET, BudgetError), (PROCESS, ProcessError):
        if -code in classes:
            return kind(message, hint, code)
    return FileError(message, hint, code) if -4096 < code < 0 else Error(message, hint, code)
