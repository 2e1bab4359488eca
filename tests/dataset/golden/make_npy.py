#!/usr/bin/env python3
"""Writes the .npy files of this folder with NumPy itself: what test_npy.c must read, and must refuse."""
import os
import numpy as np

out = os.path.dirname(os.path.abspath(__file__))


def save(name, array, version=None):
    with open(os.path.join(out, name + ".npy"), "wb") as f:
        np.lib.format.write_array(f, array, version=version)


for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    save(t, np.array([0, 1, 100, 7, 127], dtype=t))
save("float32_2d", np.arange(12, dtype=np.float32).reshape(3, 4) / 4)
save("float16", np.array([1, 2.5], dtype=np.float16))
save("float64", np.array([1, 2.5]))
save("bool", np.array([True, False, True]))
save("version2", np.arange(3), version=(2, 0))
save("version3", np.arange(3), version=(3, 0))
save("no_rows", np.zeros((0, 3), dtype=np.float32))
save("refuse_fortran", np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)))
save("refuse_big_endian", np.arange(3, dtype=">i4"))
save("refuse_3d", np.zeros((2, 2, 2), dtype=np.float32))
save("refuse_scalar", np.array(3.0))
save("refuse_struct", np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]))
save("refuse_complex", np.zeros(2, dtype=np.complex64))
save("refuse_text", np.array(["ab", "c"]))
