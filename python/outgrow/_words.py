"""Messages of the library and the command, in Python's words: memory="2G" for --memory 2G."""
import functools
import re

OPTION = re.compile(r"(?P<verb>\b(?:add|give|set|use|with) )?(?<![\w./-])--(?P<name>[a-z][a-z0-9-]*)(?:(?P<gap>[ =])(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\"()]+))?")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
SIZE = re.compile(r"\d+(\.\d+)?[KMGT%]|\d+(\.\d+)?(/\d+(\.\d+)?){2}|\d+:\d+")
NUMBERS = re.compile(r"-?\d+(,-?\d+)+")
PLACEHOLDER = re.compile(r"[A-Z][A-Z,|/:]*(\.npy)?")
UNITS = re.compile(r"\s(B|[KMGT]iB|GB|MB|bytes)\b")
NAMED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+(?=: (no such option|'[^']*' given))")  # an option at the beginning, which an argument was
NO_FLAG = {"no-shuffle": "shuffle=False"}


@functools.cache
def choices():
    """{option: its words; None for a flag}. The library's module imports this package's errors, so it is imported late."""
    from . import _outgrow
    return _outgrow.import_choices() | _outgrow.option_choices()


def literal(name, text, rest):
    """The value as a literal of Python, or None if it is the next word of the sentence."""
    if text[0] in "'\"":
        return f'"{text[1:-1]}"'
    if NUMBER.fullmatch(text):
        return None if UNITS.match(rest) else text
    if NUMBERS.fullmatch(text):
        return f"[{text.replace(',', ', ')}]"
    if PLACEHOLDER.fullmatch(text):
        return text
    word = re.split(r"[:=]", text, maxsplit=1)[0]
    return f'"{text}"' if SIZE.fullmatch(text) or word in (choices().get(name) or ()) else None


def argument(match):
    verb, name, gap, given = match["verb"] or "", match["name"], match["gap"] or "", match["value"] or ""
    value = given.rstrip(".,:;") if given[:1] not in ("'", '"') else given
    rest = given[len(value):] + match.string[match.end():]
    python = name.replace("-", "_")
    shown = literal(name, value, rest) if value else None
    if shown:
        return f"{verb}{python}={shown}{given[len(value):]}"
    flag = choices().get(name, ()) is None
    if flag and verb:
        python = NO_FLAG.get(name, f"{python}=True")
    return f"{verb}{python}{gap}{given}"


def in_python(text):
    """The text with options as arguments. A command between backticks stays as it is typed."""
    text = found[0].replace("-", "_") + text[found.end():] if (found := NAMED.match(text)) else text
    return "".join(piece if i % 2 else OPTION.sub(argument, piece) for i, piece in enumerate(re.split(r"(`[^`]*`)", text)))
