"""meta.json of a dataset, without opening the dataset."""
import json
import os

from ._errors import FileError


def meta_of(dataset):
    """meta.json (docs/reference/formats.md)."""
    try:
        with open(os.path.join(os.fspath(dataset), "meta.json")) as f:
            return json.load(f)
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}", "use a folder made by outgrow.write or outgrow.import_", -error.errno) from error


def said_by(checkpoint):
    """Metadata of a safetensors file. Names of classes, if any, are the JSON list class_names."""
    try:
        with open(checkpoint, "rb") as f:
            header = int.from_bytes(f.read(8), "little")
            if header < os.fstat(f.fileno()).st_size:
                return json.loads(f.read(header)).get("__metadata__", {})
    except (ValueError, AttributeError):
        pass
    except OSError as error:
        raise FileError(f"{checkpoint}: {error.strerror}", "name best.safetensors of a run", -error.errno) from error
    raise FileError(f"{checkpoint}: no safetensors file", "name best.safetensors of a run")


def type_ranges(about):
    """{type: (first, end)}, the range of each type's ids in the whole graph; {} for a homogeneous graph."""
    ranges, first = {}, 0
    for of in about.get("node_types", ()):
        ranges[of["name"]] = first, first + of["count"]
        first += of["count"]
    return ranges


def relation_names(about):
    """(source, name, destination) of each relation, in their order."""
    return [(r["source"], r["name"], r["destination"]) for r in about.get("relations", ())]
