"""Arrays in files of pickle and of torch.save, read without PyTorch and without running what a file names."""
import io
import pickle
import zipfile

import numpy as np

from ._errors import FileError

try:
    from numpy._core import multiarray
except ImportError:
    from numpy.core import multiarray

TORCH_MAGIC = 0x1950a86a20f9469cfc6c
STORAGES = {"DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1",
            "ByteStorage": "u1", "BoolStorage": "?"}


def tensor(storage, offset, size, stride, *_):
    """A view of a storage, within it."""
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if len(size) != len(stride) or min((offset, *size, *stride)) < 0 or 0 not in size and last >= len(storage):
        raise pickle.UnpicklingError("a tensor beyond its storage")
    return np.lib.stride_tricks.as_strided(storage[offset:], size, [step * storage.itemsize for step in stride])


KNOWN = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype, ("_codecs", "encode"): lambda text, *_: text.encode("latin1"), ("collections", "OrderedDict"): dict,
         ("torch._utils", "_rebuild_tensor_v2"): tensor}
OF_NUMPY = {"_reconstruct": multiarray._reconstruct, "scalar": multiarray.scalar, "_frombuffer": lambda data, dtype, shape, order: np.frombuffer(data, dtype).reshape(shape, order=order)}


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
            return np.dtype(STORAGES[name])
        raise pickle.UnpicklingError(f"{module}.{name}, which is no array")

    def persistent_load(self, key):
        if self.storages is None or len(key) < 5 or not isinstance(key[1], np.dtype):
            raise pickle.UnpicklingError("tensors of a PyTorch before 1.6")
        return np.frombuffer(self.storages(str(key[2])), key[1])


def unzipped(path):
    with zipfile.ZipFile(path) as archive:
        data = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(data) != 1:
            raise pickle.UnpicklingError("an archive that torch.save did not write")
        root = data[0][:-len("data.pkl")]
        return Reader(io.BytesIO(archive.read(data[0])), lambda key: archive.read(f"{root}data/{key}")).load()


def load(path):
    """The object in a file, arrays as NumPy's. Anything else than arrays and plain values in it is an error."""
    try:
        if zipfile.is_zipfile(path):
            return unzipped(path)
        with open(path, "rb") as file:
            found = Reader(file).load()
            if isinstance(found, int) and found == TORCH_MAGIC:  # then a version, facts of the machine, and the object
                Reader(file).load(), Reader(file).load()
                found = Reader(file).load()
        return found
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}", "unpack the dataset again", -(error.errno or 0)) from error
    except Exception as error:  # of pickle and of NumPy, for damaged files
        raise FileError(f"{path}: {' '.join(str(error).split()) or type(error).__name__}", "give a file of arrays, as the dataset's authors publish it") from error
