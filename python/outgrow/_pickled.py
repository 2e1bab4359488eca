"""Arrays in files of pickle and of torch.save, read without PyTorch and without running what a file names."""
import io
import math
import pickle
import zipfile

import numpy as np

from ._errors import FileError

TORCH_MAGIC = 0x1950a86a20f9469cfc6c
STORAGES = {"DoubleStorage": "f8", "FloatStorage": "f4", "HalfStorage": "f2", "LongStorage": "i8", "IntStorage": "i4", "ShortStorage": "i2", "CharStorage": "i1",
            "ByteStorage": "u1", "BoolStorage": "b1"}


# ---- what stands for NumPy's types, whose own states may name any memory ----

class Kind:
    """A dtype of numbers or booleans."""

    def __init__(self, name, *_):
        if name not in ("b1", "f2", "f4", "f8", *(f"{letter}{size}" for letter in "iu" for size in (1, 2, 4, 8))):
            raise pickle.UnpicklingError(f"values of {name}, which are no numbers")
        self.dtype = np.dtype(name).newbyteorder("<")

    def __setstate__(self, state):
        self.dtype = self.dtype.newbyteorder({"<": "<", ">": ">", "|": "|"}[state[1]])


class Array:
    """An array, without values until its state comes."""

    __slots__, __hash__ = ("array",), None

    def __init__(self, array=None):
        self.array = array

    def __setstate__(self, state):
        *_, shape, kind, by_columns, data = state
        self.array = filled(data, kind, shape, "F" if by_columns else "C")


def filled(data, kind, shape, order):
    data = data.encode("latin1") if isinstance(data, str) else data
    if not isinstance(data, (bytes, bytearray)) or len(data) != kind.dtype.itemsize * math.prod(shape):
        raise pickle.UnpicklingError("an array whose values have another size")
    return np.frombuffer(bytes(data), kind.dtype).reshape(shape, order=order)


def number(kind, data):
    if len(data) != kind.dtype.itemsize:
        raise pickle.UnpicklingError("a number of another size")
    return np.frombuffer(data, kind.dtype).item()


def tensor(storage, offset, size, stride, *_):
    """A view of a storage, within it."""
    values = storage.array
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if len(size) != len(stride) or min((offset, *size, *stride)) < 0 or 0 not in size and last >= len(values):
        raise pickle.UnpicklingError("a tensor beyond its storage")
    return Array(np.lib.stride_tricks.as_strided(values[offset:], size, [step * values.itemsize for step in stride]))


class Call:
    """A function that a file may call, and not change."""

    def __init__(self, run):
        self.run = run

    def __call__(self, *given):
        return self.run(*given)

    def __setstate__(self, state):
        raise pickle.UnpicklingError("a function with a state")


KNOWN = {("numpy", "ndarray"): "ndarray", ("numpy", "dtype"): Call(Kind),
         ("_codecs", "encode"): Call(lambda text, *_: text.encode("latin1")), ("__builtin__", "bytes"): Call(lambda: b""),
         ("collections", "OrderedDict"): dict, ("torch._utils", "_rebuild_tensor_v2"): Call(tensor)}
OF_NUMPY = {"_reconstruct": Call(lambda *_: Array()), "scalar": Call(number),
            "_frombuffer": Call(lambda data, kind, shape, order: Array(filled(data, kind, shape, order)))}


class Reader(pickle.Unpickler):
    """Knows arrays, numbers, texts, and lists and dicts of them."""

    def __init__(self, file, storages=None):
        super().__init__(file, encoding="latin1")
        self.storages = storages

    def find_class(self, module, name):
        if module.startswith(("numpy.core.", "numpy._core.")) and name in OF_NUMPY:
            return OF_NUMPY[name]
        if (module, name) in KNOWN:
            return KNOWN[module, name]
        if module == "torch" and name in STORAGES:
            return Kind(STORAGES[name])
        raise pickle.UnpicklingError(f"{module}.{name}, which is no array")

    def persistent_load(self, key):
        if self.storages is None or len(key) < 5 or not isinstance(key[1], Kind):
            raise pickle.UnpicklingError("tensors of a PyTorch before 1.6")
        return Array(np.frombuffer(self.storages(str(key[2])), key[1].dtype))


def unzipped(path):
    with zipfile.ZipFile(path) as archive:
        data = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(data) != 1:
            raise pickle.UnpicklingError("an archive that torch.save did not write")
        root = data[0][:-len("data.pkl")]
        return Reader(io.BytesIO(archive.read(data[0])), lambda key: archive.read(f"{root}data/{key}")).load()


def arrays_in(found):
    if isinstance(found, dict):
        for key, value in found.items():
            found[key] = value.array if isinstance(value, Array) else value
    return found


def load(path):
    """The object in a file, arrays in a dict as NumPy's. Anything else than arrays and plain values in it is an error."""
    try:
        if zipfile.is_zipfile(path):
            return arrays_in(unzipped(path))
        with open(path, "rb") as file:
            found = Reader(file).load()
            if isinstance(found, int) and found == TORCH_MAGIC:  # then a version, facts of the machine, and the object
                Reader(file).load(), Reader(file).load()
                found = Reader(file).load()
        return arrays_in(found)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}", "unpack the dataset again", -(error.errno or 0)) from error
    except Exception as error:  # of pickle and of NumPy, for damaged files
        raise FileError(f"{path}: {' '.join(str(error).split()) or type(error).__name__}", "give a file of arrays, as the dataset's authors publish it") from error
