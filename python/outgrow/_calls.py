"""Long calls: a thread runs the call, while this thread handles signals and shows progress."""
import contextlib
import json
import logging
import re
import threading

from . import _outgrow
from ._options import folder_of, text_of, texts_of
from ._results import Result
from ._words import in_python

log = logging.getLogger("outgrow")
LEVELS = logging.WARNING, logging.INFO, logging.DEBUG


heard = threading.local()
NOTICES = re.compile(r"edges lead one way|\d+ of \d+ nodes have no edge")  # remarks of an import that a user should act on


@contextlib.contextmanager
def notices():
    """A list, to which NOTICES of this thread's calls are added."""
    heard.texts = []
    try:
        yield heard.texts
    finally:
        heard.texts = None


def tell(watch):
    """Log the library's messages to the logger "outgrow"."""
    for level, text in watch.messages():
        if getattr(heard, "texts", None) is not None and NOTICES.match(text):
            heard.texts.append(in_python(text))
        log.log(LEVELS[min(level, 2)], "%s", in_python(text))


@contextlib.contextmanager
def leaving_out(words):
    """Messages with these words are not logged meanwhile: what they are about is not the caller's."""
    def others(record):
        return not (record.args and words in str(record.args[0]))
    log.addFilter(others)
    try:
        yield
    finally:
        log.removeFilter(others)


class Bar:
    """tqdm's progress bar, one per stage; nothing if disabled or not installed."""

    def __init__(self, wanted):
        self.bar, self.stage, self.make = None, None, None
        if wanted:
            try:
                from tqdm.auto import tqdm
                self.make = tqdm
            except ImportError:
                pass

    def show(self, stage, done, total):
        if not self.make:
            return
        if stage != self.stage:
            self.close()
            self.bar, self.stage = self.make(total=total or None, desc=stage), stage
        self.bar.update(done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.bar = self.stage = None


def watched(call, *args, progress=False, watch=None):
    """Run call(*args, watch); an exception in this thread, such as Ctrl-C's, stops it."""
    watch = watch or _outgrow.Watch()
    bar, done, ended = Bar(progress), {}, threading.Event()

    def run():
        try:
            done["result"] = call(*args, watch)
        except BaseException as error:  # raised again below, by the calling thread
            done["error"] = error
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="outgrow", daemon=True)
    try:
        thread.start()
        while not ended.wait(0.05):  # after an interrupted join() the thread would count as ended
            tell(watch)
            if (at := watch.progress()) is not None:
                bar.show(at[0], at[3], at[4])
    except BaseException:
        watch.stop()
        if thread.ident is not None:
            ended.wait()
        raise
    finally:
        bar.close()
        tell(watch)
    if "error" in done:
        raise done["error"]
    return done["result"]


def info(dataset):
    """Summarize a dataset: counts, dtypes, sizes, degrees, and what fits in which memory. Returns the output of `outgrow info --json`
    (docs/reference/json.md)."""
    return Result(json.loads(_outgrow.info(folder_of(dataset))))


def simulate(source, policy, cache, *, progress=False, **options):
    """Simulate hit rates and bytes of policies for several cache sizes, without training.

    source   a dataset, or a folder of `outgrow sample`
    policy   "belady" or ["degree", "presc:2", "belady"]
    cache    "10%" or ["1%", "64M"]
    options  options of training: fanout=[10, 10], batch=1000, epochs=1, ...

    >>> outgrow.simulate("graph", ["degree", "belady"], ["5%", "10%"], fanout=[10, 10], epochs=1)["results"]
    """
    lists = [text_of(*given) for given in (("policy", policy), ("cache", cache))]
    return Result(json.loads(watched(_outgrow.simulate, folder_of(source), *lists, texts_of(options), progress=progress)))


def generate(out, *, progress=False, **options):
    """Write a synthetic dataset into the new folder `out`; returns its `info`. Options are those of
    `outgrow generate`: model="planted", nodes=100000, degree=15, dim=128, classes=16, dtype="f32",
    train_fraction=0.1, homophily=0.8, seed=1, memory, threads."""
    watched(_outgrow.generate, folder_of(out, "out"), texts_of(options), progress=progress)
    return info(out)


def convert(format, src, out, *, progress=False, **options):
    """What `outgrow import` does with a format of the library."""
    watched(_outgrow.import_, format, folder_of(src, "src"), folder_of(out, "out"), texts_of(options), progress=progress)
    return info(out)
