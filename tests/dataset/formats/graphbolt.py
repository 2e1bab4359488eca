"""GraphBolt's folders."""
import os

import numpy as np

from formats.support import csc, csv, graph, imported, refused, same_graph, same_nodes, save, write


YAML = """
dataset_name: tiny_bolt
graph:
  nodes:
    - num: 500
  edges:
    - format: {fmt}
      path: {edges}
feature_data:
  - domain: node
    type: null
    name: year
    format: numpy
    in_memory: true
    path: data/year.npy
  - domain: node
    name: feat
    format: numpy
    in_memory: false
    path: data/feat.npy
tasks:
  - name: node_classification
    num_classes: 11
    train_set:
      - data:
          - {{name: seeds, format: numpy, in_memory: true, path: set/train.npy}}
          - {{name: labels, format: numpy, path: set/train_label.npy}}
    validation_set:
      - data:
          - {{name: seeds, format: numpy, path: set/valid.npy}}
          - {{name: labels, format: numpy, path: set/valid_label.npy}}
    test_set:
      - data:
          - {{name: seeds, format: csv, path: set/test.csv}}
          - {{name: labels, format: csv, path: set/test_label.csv}}
"""


def bolt(g, label):
    save("bolt/data/feat.npy", g["feat"])
    save("bolt/data/year.npy", np.zeros((g["n"], 1), np.float32))
    save("bolt/edges/edges.npy", np.stack([g["src"], g["dst"]]))
    csv("bolt/edges/edges.csv", np.stack([g["src"], g["dst"]], 1))
    for split in "train", "valid", "test":
        save(f"bolt/set/{split}.npy", g[split])
        save(f"bolt/set/{split}_label.npy", label[g[split]])
    csv("bolt/set/test.csv", g["test"])
    csv("bolt/set/test_label.csv", label[g["test"]])


def test_graphbolt():
    g = graph()
    bolt(g, g["label"])
    label = np.full(g["n"], -1)
    for split in "train", "valid", "test":
        label[g[split]] = g["label"][g[split]]
    for fmt, edges in ("numpy", "edges/edges.npy"), ("csv", "edges/edges.csv"):
        write("bolt/metadata.yaml", YAML.format(fmt=fmt, edges=edges))
        for flags in [], ["--in-place"]:
            got = imported("graphbolt", "bolt", *flags)
            same_graph(got, csc(g["src"], g["dst"], g["n"]))
            same_nodes(got, g, label)
            assert got["meta"]["num_classes"] == 11 and got["meta"]["name"] == "tiny_bolt"
    good = YAML.format(fmt="numpy", edges="edges/edges.npy")
    write("bolt/metadata.yaml", good.replace("    name: year", "    num: many\n    name: year"))  # a key of another's
    same_nodes(imported("graphbolt", "bolt"), g, label)
    save("beyond.npy", np.stack([g["src"], g["dst"]]))
    os.symlink("/etc", "bolt/etc")
    os.symlink("../beyond.npy", "bolt/link.npy")  # out of the folder, and within it
    os.symlink("edges/edges.npy", "bolt/near.npy")
    write("bolt/metadata.yaml", good.replace("edges/edges.npy", "near.npy"))
    same_graph(imported("graphbolt", "bolt"), csc(g["src"], g["dst"], g["n"]))
    for old, new, words in [
            ("edges/edges.npy", "../beyond.npy", ["leaves the source"]),
            ("edges/edges.npy", os.path.abspath("beyond.npy"), ["leaves the source"]),
            ("edges/edges.npy", "link.npy", ["leaves the source"]),
            ("edges/edges.npy", "etc/passwd", ["leaves the source"]),
            ("edges/edges.npy", "etc/../edges/edges.npy", ["leaves the source"]),
            ("edges/edges.npy", "edges/../../beyond.npy", ["leaves the source"]),
            ("format: numpy\n      path", "format: torch\n      path", ["torch"]),
            ("num: 500", "num: 50", ["500 rows", "50 nodes"]),
            ("num: 500", "num: 3000000000", ["500 rows", "3000000000 nodes"]),
            ("num: 500", "num: many", ["metadata.yaml", "num", "many"]),
            ("num: 500", "num: 5e2", ["num", "5e2"]),  # 5 where a reader stops at the e
            ("num: 500", "num: 0764", ["num", "0764"]),  # octal in YAML 1.1
            ("num: 500", "num: 500\n      num: 500", ["num", "twice"]),
            ("tasks:", "feature_data:", ["feature_data", "twice"]),
            ("name: tiny_bolt", "name: " + "[" * 200000, ["brackets"]),  # hours of libyaml
            ("name: tiny_bolt", 'name: x\nother: "' + "a\\n[" * 2000 + '"', ["brackets"]),
            ("num: 500", "num: 500\n    - num: 3", ["nodes without a type"]),
            ("num: 500", "type: user\n      num: 500", ["edges of type"]),
            ("graph:", "graf:", ["metadata.yaml", "graph"]),
            ("tasks:", "tasks: [", ["metadata.yaml"]),
            ("name: tiny_bolt", "name: &a tiny_bolt\nother: *a", ["metadata.yaml"]),
            ("num_classes: 11", "num_classes: 2", ["of 2"]),
            ("set/valid_label.npy", "set/train_label.npy", ["200", "100 seeds"]),
            ("set/train.npy", "nowhere.npy", ["nowhere.npy"]),
    ]:
        assert old in good, old
        write("bolt/metadata.yaml", good.replace(old, new, 1))
        refused("graphbolt", "bolt", *words)
    # more labels than seeds, and a seed twice
    write("bolt/metadata.yaml", good)
    csv("bolt/set/test_label.csv", np.r_[g["label"][g["test"]], 1])
    refused("graphbolt", "bolt", "test_label.csv", "has more rows")
    csv("bolt/set/test_label.csv", g["label"][g["test"]])
    twice = g["test"].copy()
    twice[3] = twice[1]
    csv("bolt/set/test.csv", twice)
    refused("graphbolt", "bolt", "test.csv", "row 3", "listed twice")
    csv("bolt/set/test.csv", g["test"])
    # a mere number of nodes, which only the edges speak for
    alone = good[:good.index("feature_data")]
    write("bolt/metadata.yaml", alone.replace("num: 500", "num: 4000000000"))
    refused("graphbolt", "bolt", "4000000000 nodes", "4000 edges")
    os.remove("bolt/metadata.yaml")
    refused("graphbolt", "bolt", "metadata.yaml")
    os.mkfifo("bolt/metadata.yaml")
    refused("graphbolt", "bolt", "not a plain file")
