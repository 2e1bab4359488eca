"""Options from Python values to the library's text."""
import os

from ._errors import OptionError


SHARES = "split", "edge-split", "split-by-time"


def cache_folder():
    """The folder of what calls leave for later ones."""
    return os.environ.get("OUTGROW_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "outgrow")


PATHS = {"dataset": 'write it: outgrow.write("graph", data), then give "graph"', "checkpoint": 'give a file of a run: "first/best.safetensors", or checkpoint() of a GraphClassifier',
         "run": 'give the folder of a run: "first"', "predictions": 'give the file that predict wrote: "pred.npy"'}  # and what to give


def folder_of(value, name="dataset", hint='give the new folder first: "graph"'):
    """The path of a folder or file, as text."""
    hint = PATHS.get(name, hint)
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise OptionError(f"{name}: {type(value).__name__} is no path", hint) from None
    if not path:
        raise OptionError(f"{name}: an empty path", hint)
    return path


def text_of(name, value):
    """The option's value as text, as on the command line."""
    if hasattr(value, "tolist") and not isinstance(value, type):  # an array, a tensor or a scalar of these
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, range)):  # shares as on the command line, 60/20/20
        return ("/" if name.replace("_", "-") in SHARES else ",").join(text_of(name, v) for v in value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value
    if hasattr(value, "__index__") and not isinstance(value, type):
        return str(value.__index__())
    if isinstance(value, float) or hasattr(value, "__float__") and not isinstance(value, type):
        return repr(float(value))
    raise OptionError(f"{name}: {value!r} is no value of an option", "use a number, a word, a list of numbers or a path")


def texts_of(options):
    """{name: text} of keyword arguments: weight_decay becomes weight-decay; None counts as not given."""
    return {name.rstrip("_").replace("_", "-"): text_of(name, value) for name, value in options.items() if value is not None}


def one_of(name, value, standard, alias, other):
    """The value of an argument, or of its alias if that is given instead."""
    if other is None:
        return value
    if value is not standard and value != standard:
        raise OptionError(f"{name} and {alias} are the same argument", "pass one of them")
    return other
