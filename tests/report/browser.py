#!/usr/bin/env python3
"""A report in a real browser: it renders, and its console stays empty.

    tests/report/browser.py OUTGROW [--picture FILE.png]

Trains two small runs, makes their pages and opens them in chromium, headless. Checked in the browser's view of the page: every figure has a size and a text,
nothing was fetched, nothing was logged. With --picture the page of both runs is drawn into a file. 77 = skipped: there is no chromium.
"""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


class Page(html.parser.HTMLParser):
    """Counts tags, and keeps the text of titles and descriptions of figures."""

    def __init__(self):
        super().__init__()
        self.count = {}
        self.inside = None
        self.text = {"title": [], "desc": []}
        self.links = []

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.inside = tag if tag in self.text else None
        self.links += [v for k, v in attrs if k in ("src", "href") and v != "data:,"]

    def handle_data(self, data):
        if self.inside:
            self.text[self.inside].append(data)
            self.inside = None


def browse(chromium, folder, page, *more):
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
               f"--user-data-dir={folder}/profile", *more, page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    logged = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert done.returncode == 0, done.stderr
    assert not logged, logged
    return done.stdout


def main():
    outgrow = os.path.abspath(sys.argv[1])
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*words):
            subprocess.run([outgrow, *words, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        run("generate", "graph", "--nodes", "20000", "--dim", "64")
        common = ["--memory", "256M", "--epochs", "5", "--hidden", "64"]
        run("train", "graph", "--run", "degree", "--policy", "degree", "--layout", "raw", "--cache", "10%", *common)
        run("train", "graph", "--run", "belady", "--policy", "belady", "--layout", "raw", "--cache", "10%",
            "--trace-timeline", "timeline.json", *common)
        run("report", "degree")
        run("report", "degree", "belady", "--out", "both.html")
        for path in folder / "degree" / "report.html", folder / "both.html":
            page = Page()
            text = browse(chromium, folder, path, "--dump-dom")
            page.feed(text)
            assert not re.search(r'="[^"]*\b-?(nan|inf)\b', text), "a number that is none"
            figures = page.count["figure"]
            assert figures >= 7 and page.count["svg"] == figures == len(page.text["desc"]), page.count
            assert all(len(text) > 10 for text in page.text["desc"]), page.text
            assert len(page.text["title"]) == figures + 1
            assert not page.links, page.links
        if len(sys.argv) > 3:
            browse(chromium, folder, folder / "both.html", "--window-size=900,2000", "--force-device-scale-factor=0.8",
                   f"--screenshot={os.path.abspath(sys.argv[3])}")


if __name__ == "__main__":
    main()
