#!/usr/bin/env python3
"""Every import format, from small sources in their projects' own layout. The result is compared array by array with NumPy's own reading.

    import_formats.py OUTGROW [FORMAT...]      exits 77 where there is no NumPy
"""
import os
import shutil
import sys
import tempfile

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(77)

sys.dont_write_bytecode = True
from formats import arrays, exporters, graphbolt, matrices, ogb, texts, typed


def main():
    modules = texts, ogb, graphbolt, matrices, arrays, exporters, typed
    tests = {name[5:]: test for m in modules for name, test in vars(m).items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        folder = tempfile.mkdtemp(prefix="og-formats-")
        here = os.getcwd()
        os.chdir(folder)
        try:
            tests[name]()
        finally:
            os.chdir(here)
            shutil.rmtree(folder)
        print(f"{name}: ok")


main()
