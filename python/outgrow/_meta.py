"""What a dataset's folder says of itself, without opening the dataset."""
import json
import os

from ._errors import FileError


def meta_of(dataset):
    """meta.json (docs/reference/formats.md)."""
    try:
        with open(os.path.join(os.fspath(dataset), "meta.json")) as f:
            return json.load(f)
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}", "name a folder made by outgrow.write or outgrow.import_", -error.errno) from error


def type_ranges(about):
    """{type: (first, end)} of the ids that nodes of each type have in the whole graph; {} where nodes have no types."""
    ranges, first = {}, 0
    for of in about.get("node_types", ()):
        ranges[of["name"]] = first, first + of["count"]
        first += of["count"]
    return ranges


def relation_names(about):
    """(source, name, destination) of each relation, in their order."""
    return [(r["source"], r["name"], r["destination"]) for r in about.get("relations", ())]
