#!/usr/bin/env python3
"""tools/prose counts what a reader would, fails above its limits, and its limits go down only.

    prose.py OUTGROW PROSE
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("prose", sys.argv[2])
prose = importlib.util.module_from_spec(importlib.util.spec_from_loader("prose", loader))
loader.exec_module(prose)

DOCS = "docs"  # apart from names of pages, which are looked for in this file too
PAGE = """# Title of four words

## What is counted?

One two three. Four `five six` seven,
eight [nine](a/b.md)!

- An item, e.g. this one. It is told `told`.
  Same item.

| a table | counts. As words |

```
code in a fence. Not counted
```

    code by indentation. Not counted

<!-- a comment. Not counted -->
## Not a question
"""


def run(*args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = prose.main(list(args))
    return status, out.getvalue()


def tree(page=PAGE):
    (prose.TOP / "README.md").write_text(f"See {DOCS}/page.md.\n")
    (prose.TOP / DOCS / "page.md").write_text(page)
    (prose.TOP / "src/x.c").write_text('/* "not this one here" */\n#include "no.h"\nf("%s: one two "\n  "three %" PRIu64 " rows");\ng("two words");\n')
    (prose.TOP / "include/x.h").write_text("/* One two\n * three. Rows are dealt. */\nint x; /* 1 */\n")


def test_sentences():
    page = prose.TOP / DOCS / "page.md"
    blocks = [block for _, block in prose.prose_of(PAGE)]
    assert [s for block in blocks for s in prose.sentences(block)] == [
        "One two three.", "Four `five six` seven, eight nine!", "An item, e.g. this one.", "It is told `told`.", "Same item."]
    assert [line for line, _ in prose.prose_of(PAGE)] == [5, 8]
    found = prose.counts("documents", [page])
    assert (found["sentences"], found["mean"], found["own-words"]) == (5, 4.0, 1), found
    assert (found["headings"], found["headings-not-asked"], found["words"]) == (2, 1, len([w for w in PAGE.split() if any(c.isalnum() for c in w)])), found
    long = " ".join(f"W{i}" for i in range(36)) + ".\n"
    page.write_text(long * 2 + long.replace("W35", "").replace("W34", ""))
    found = prose.counts("documents", [page])
    assert (found["over-30"], found["over-35"]) == (3, 2), found
    status, out = run("--long", "35", str(page))
    assert status == 0 and out.count("36: W0") == 2, out
    status, out = run("--own", str(prose.TOP / "README.md"))
    assert (status, out) == (0, "")


def test_messages_and_comments():
    found = prose.counts("messages")
    assert (found["sentences"], found["mean"]) == (1, 5.0), found
    found = prose.counts("comments")
    assert (found["sentences"], found["own-words"], found["of-first"], found["long-firsts"]) == (4, 1, 0, 0), found


def sentences_of(kind):
    return [s for _, _, block in prose.pieces(kind) for s in prose.sentences(block)]


def test_messages_without_code():
    (prose.TOP / "src/x.c").write_text(r'''int quote = '"'; int mark = '\\''; f("one \\"two\\" three four");
__asm__(".text here and there\\n" "  popq %rbp (%rdi)");
g(".TP\\n.I file.json\\nwhat is in it\\n.TP\\n.I other.json\\nand in this\\n.nf\\noutgrow plan graph\\n.fi\\n");
h("a first model:\\n  outgrow train graph --memory 4G  # fits anywhere\\n");
'''.replace("\\\\", "\\"))
    expected = ['one "two" three four', "file.json what is in it", "other.json and in this", "a first model:"]
    assert sentences_of("messages") == expected, sentences_of("messages")


def test_comments_of_all_files():
    (prose.TOP / "tests").mkdir()
    (prose.TOP / "src/x.c").write_text('// Of a line.\nchar *s = "/* no comment */"; /* code   two columns\n * text   more of them\n *\n * A sentence. */\n')
    (prose.TOP / "include/x.h").write_text("")
    (prose.TOP / "tests/x.py").write_text('"""A docstring. Two."""\nx = """no docstring"""  # A remark\n# over\n# two lines\n')
    (prose.TOP / "tests/tool").write_text("#!/usr/bin/env python3\n# Of a tool.\n")
    (prose.TOP / "tests/x.txt").write_text("# not read\n")
    assert sentences_of("comments") == ["Of a line.", "code   two columns", "text   more of them", "A sentence.", "Of a tool.",
                                        "A docstring.", "Two.", "A remark", "over two lines"], sentences_of("comments")
    status, out = run("--of", "comments")
    assert status == 0 and out.count("Of a") == 2, out


def test_changelog_is_counted():
    (prose.TOP / "CHANGELOG.md").write_text("- " + " ".join(["word"] * 36) + ".\n- It is told.\n")
    found = prose.counts("changelog")
    assert (found["over-35"], found["own-words"]) == (1, 1), found


def test_limits_only_go_down():
    prose.LIMITS.write_text("# head\n")
    assert run("--check")[0] == 1
    assert run("--write")[0] == 0 and run("--check") == (0, "")
    first = prose.LIMITS.read_text()
    tree(PAGE + "\nOne more sentence of words that are told.\n")
    status, out = run("--check")
    assert status == 1 and "documents own-words: 2, at most 1" in out and "documents words" in out, out
    assert run("--write")[0] == 0 and prose.LIMITS.read_text() == first
    tree(PAGE.replace("It is told `told`.", "It is."))
    assert run("--write")[0] == 0 and "documents own-words 0" in prose.LIMITS.read_text() and prose.LIMITS.read_text() != first
    assert run("--check") == (0, "")


def test_pages_that_are_not_there():
    (prose.TOP / "src/x.c").write_text(f"/* {DOCS}/page.md and {DOCS}/folder/none.md */\n")
    assert list(prose.missing_pages()) == [f"src/x.c:1: names {DOCS}/folder/none.md, which is not there"]


def test_sources_that_are_not_there():
    tree(PAGE + "\nSee `x.h`, `src/x.c`, x.c/y and `learn/none.c` here.\n")
    line = PAGE.count("\n") + 2
    assert list(prose.missing_sources()) == [f"{DOCS}/page.md:{line}: names learn/none.c, which is not there"]


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as folder:
            prose.TOP = pathlib.Path(folder)
            prose.LIMITS = prose.TOP / "prose.limits"
            for made in DOCS, "src", "include":
                (prose.TOP / made).mkdir()
            tree()
            test()
        print(name)
