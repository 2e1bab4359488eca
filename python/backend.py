"""scikit-build-core, and in source archives a copy of the C library, which is outside of this folder."""
import contextlib
import pathlib
import shutil

from scikit_build_core.build import *  # noqa: F403  the hooks of PEP 517
from scikit_build_core.build import build_sdist as build_archive

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src", "tools/banned.h")


@contextlib.contextmanager
def library_inside():
    copy = HERE / "library"
    if not (HERE.parent / "include" / "outgrow").is_dir():  # an unpacked archive: it is here already
        yield
        return
    try:
        for part in PARTS:
            (copy / part).parent.mkdir(parents=True, exist_ok=True)
            bring = shutil.copytree if (HERE.parent / part).is_dir() else shutil.copy
            bring(HERE.parent / part, copy / part)
        yield
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def build_sdist(sdist_directory, config_settings=None):
    with library_inside():
        return build_archive(sdist_directory, config_settings)
