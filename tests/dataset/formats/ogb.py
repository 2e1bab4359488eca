"""What OGB publishes, and IGB."""
import io
import os
import shutil
import warnings

import numpy as np

from formats.support import csc, csv, graph, imported, refused, rng, run, same_graph, same_nodes, save, write


def ogbn(root, g, split="time"):
    csv(f"{root}/raw/edge.csv.gz", np.stack([g["src"], g["dst"]], 1))
    csv(f"{root}/raw/num-node-list.csv.gz", [g["n"]])
    csv(f"{root}/raw/num-edge-list.csv.gz", [len(g["src"])])
    csv(f"{root}/raw/node-feat.csv.gz", g["feat"], "%.9g")
    csv(f"{root}/raw/node-label.csv.gz", g["label"])
    csv(f"{root}/raw/node_year.csv.gz", np.full(g["n"], 2015))
    for name in "train", "valid", "test":
        csv(f"{root}/split/{split}/{name}.csv.gz", g[name])
    write(f"{root}/RELEASE_v1.txt", "")


def test_ogb():
    g = graph()
    ogbn("ogbn_arxiv", g)
    got = imported("ogb", "ogbn_arxiv")
    same_graph(got, csc(g["src"], g["dst"], g["n"]))
    same_nodes(got, g, g["label"])
    assert got["meta"]["num_classes"] == 7
    got = imported("ogb", "ogbn_arxiv", "--symmetrize", "--feature-dtype", "f16")
    same_graph(got, csc(g["src"], g["dst"], g["n"], both=True, once=True))
    np.testing.assert_array_equal(got["features"], g["feat"].astype(np.float16))
    # products lists an edge once for both directions; its loader adds the other
    ogbn("ogbn_products", g, "sales_ranking")
    got = imported("ogb", "ogbn_products/")
    same_graph(got, csc(g["src"], g["dst"], g["n"], both=True))
    assert got["meta"]["symmetric"]
    # so do these, whatever the folder is called
    for name, both in ("ogbl-collab", True), ("ddi", True), ("ogbl_ppa_v2", True), ("ppassoc", True), ("additions", False):
        ogbn(name, g)
        same_graph(imported("ogb", name), csc(g["src"], g["dst"], g["n"], both=both))
        said = run("import", "ogb", name, "said").stderr
        assert ("added in both directions" in said) == both and ("--symmetrize adds" in said) != both, said
        shutil.rmtree("said")
        shutil.rmtree(name)
    # labels that are missing, as floats; a hundred tasks; no features
    label = np.where(rng.random(g["n"]) < 0.3, np.nan, g["label"])
    csv("ogbn_arxiv/raw/node-label.csv.gz", label, "%.1f")
    same_nodes(imported("ogb", "ogbn_arxiv"), g, np.where(np.isnan(label), -1, label))
    tasks = rng.integers(0, 2, (g["n"], 112))
    csv("ogbn_arxiv/raw/node-label.csv.gz", tasks)
    os.remove("ogbn_arxiv/raw/node-feat.csv.gz")
    got = imported("ogb", "ogbn_arxiv")
    np.testing.assert_array_equal(got["labels"], tasks)
    assert got["meta"]["multi_label"] and got["features"].shape == (g["n"], 1)
    # wrong
    csv("ogbn_arxiv/raw/num-edge-list.csv.gz", [3999])
    refused("ogb", "ogbn_arxiv", "4000 edges", "3999")
    csv("ogbn_arxiv/raw/num-edge-list.csv.gz", [4000])
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [100])
    refused("ogb", "ogbn_arxiv", "500 labels, the graph has 100 nodes")
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [g["n"]])
    whole = open("ogbn_arxiv/raw/edge.csv.gz", "rb").read()
    write("ogbn_arxiv/raw/edge.csv.gz", "0,1\n3,500\n")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz: row 1: node 500")
    open("ogbn_arxiv/raw/edge.csv.gz", "wb").write(whole)
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [g["n"], 4])
    refused("ogb", "ogbn_arxiv", "one number expected")
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [501])
    refused("ogb", "ogbn_arxiv", "500 labels, the graph has 501 nodes")
    csv("ogbn_arxiv/raw/num-node-list.csv.gz", [500])
    write("ogbn_arxiv/raw/edge.csv.gz", "0,1\n2,3,4\n")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz: line 2: more columns")
    write("ogbn_arxiv/raw/edge.csv.gz", "src,dst\n2,3\n")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz: line 1: no whole number")
    os.remove("ogbn_arxiv/raw/edge.csv.gz")
    refused("ogb", "ogbn_arxiv", "edge.csv.gz")


def papers(root, g, label, savez):
    csv(f"{root}/split/time/train.csv.gz", g["train"])
    csv(f"{root}/split/time/valid.csv.gz", g["valid"])
    csv(f"{root}/split/time/test.csv.gz", g["test"])
    os.makedirs(f"{root}/raw")
    savez(f"{root}/raw/data.npz", edge_index=np.stack([g["src"], g["dst"]]), node_feat=g["feat"],
          node_year=np.zeros((g["n"], 1), np.int64), num_nodes_list=np.array([g["n"]]),
          num_edges_list=np.array([len(g["src"])]))
    savez(f"{root}/raw/node-label.npz", node_label=label)


def test_papers():
    g = graph(3000, 200000)
    label = np.where(rng.random((g["n"], 1)) < 0.9, np.nan, g["label"][:, None]).astype(np.float32)
    expect = np.where(np.isnan(label), -1, label)[:, 0]
    for root, savez in ("stored", np.savez), ("deflated", np.savez_compressed):
        papers(root, g, label, savez)
        got = imported("ogb", root)
        same_graph(got, csc(g["src"], g["dst"], g["n"]))
        same_nodes(got, g, expect)
    # members whose sizes stand in ZIP64 records, as in the archive that is larger than 4 GB
    import zipfile
    with zipfile.ZipFile("stored/raw/data.npz") as old, zipfile.ZipFile("big.npz", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            with new.open(name, "w", force_zip64=True) as member:
                member.write(old.read(name))
    os.replace("big.npz", "stored/raw/data.npz")
    same_graph(imported("ogb", "stored"), csc(g["src"], g["dst"], g["n"]))
    refused("ogb", "stored", "--in-place", flags=["--in-place"])
    # cut short, damaged, or promising what is not there
    whole = open("deflated/raw/data.npz", "rb").read()
    open("deflated/raw/data.npz", "wb").write(whole[:len(whole) // 2])
    refused("ogb", "deflated", "data.npz")
    at = whole.find(b"node_feat.npy") + 3000
    open("deflated/raw/data.npz", "wb").write(whole[:at] + bytes(200) + whole[at + 200:])
    refused("ogb", "deflated", "data.npz:node_feat.npy")
    with zipfile.ZipFile("deflated/raw/data.npz", "w") as z:
        z.writestr("num_nodes_list.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, "
                   b"'shape': (99999999999,), }" + b" " * 40 + b"\n")
    refused("ogb", "deflated", "data.npz:num_nodes_list.npy")
    np.savez("deflated/raw/data.npz", num_nodes_list=np.array([3000]), edge_index=np.zeros((3, 4), np.int64))
    refused("ogb", "deflated", "expected [2, E]")
    # three damaged archives. A member twice: each program takes the one it likes. A header with a smaller size than the array, whose
    # checksum nobody would see. Another number of edges than num_edges_list says
    arrays = {"edge_index": np.stack([g["src"], g["dst"]]), "node_feat": g["feat"],
              "num_nodes_list": np.array([g["n"]]), "num_edges_list": np.array([len(g["src"])])}
    def archive(**changed):
        with zipfile.ZipFile("deflated/raw/data.npz", "w", zipfile.ZIP_DEFLATED) as z:
            for name, array in {**arrays, **changed}.items():
                f = io.BytesIO()
                np.save(f, array)
                z.writestr(name + ".npy", f.getvalue())
    archive()
    with zipfile.ZipFile("deflated/raw/data.npz", "a") as z, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z.writestr("node_feat.npy", b"another")
    refused("ogb", "deflated", "data.npz:node_feat.npy: 2 members")
    archive()
    with zipfile.ZipFile("deflated/raw/data.npz") as old:
        kept = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile("deflated/raw/data.npz", "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in kept.items():
            z.writestr(name, data + bytes(10**6) if name == "node_feat.npy" else data)
    refused("ogb", "deflated", "data.npz:node_feat.npy", "its header promises")
    archive(num_edges_list=np.array([len(g["src"]) + 1]))
    refused("ogb", "deflated", "200000 edges", "200001")
    os.remove("deflated/raw/data.npz")
    os.mkfifo("deflated/raw/data.npz")
    refused("ogb", "deflated", "not a plain file")


def test_mag240m():
    g = graph(400, 3000, 768)
    g["feat"] = g["feat"].astype(np.float16)
    label = np.where(rng.random(g["n"]) < 0.9, np.nan, g["label"]).astype(np.float32)
    root = "mag240m_kddcup2021"
    save(f"{root}/processed/paper/node_feat.npy", g["feat"])
    save(f"{root}/processed/paper/node_label.npy", label)
    save(f"{root}/processed/paper/node_year.npy", np.zeros(g["n"], np.int16))
    save(f"{root}/processed/paper___cites___paper/edge_index.npy", np.stack([g["src"], g["dst"]]))
    assert "mag240m_splits.py" in run("import", "ogb", root, "out").stderr
    shutil.rmtree("out")
    save(f"{root}/processed/author___writes___paper/edge_index.npy", np.stack([g["src"], g["dst"]]))
    for split in "train", "valid", "test":
        save(f"{root}/{split}.npy", g[split])
    for flags in [], ["--in-place"]:
        got = imported("ogb", root, "--drop-types", *flags)
        same_graph(got, csc(g["src"], g["dst"], g["n"]))
        same_nodes(got, g, np.where(np.isnan(label), -1, label))
        assert got["meta"]["feature_dtype"] == "f16"


def test_igb():
    g = graph(1000, 5000, 1024)
    label19, label2k = rng.integers(0, 19, 1000), rng.integers(0, 2983, 700)
    folder = "tiny/processed/paper"
    save("tiny/processed/paper__cites__paper/edge_index.npy", np.stack([g["src"], g["dst"]], 1))
    save(f"{folder}/node_feat.npy", g["feat"])
    save(f"{folder}/node_label_19.npy", label19.astype(np.float32))
    save(f"{folder}/node_label_2K.npy", label2k.astype(np.float32))
    for split, ids in ("train", np.arange(600)), ("valid", np.arange(600, 800)), ("test", np.arange(800, 1000)):
        g[split] = ids
    for headerless in False, True:
        if headerless:  # as the large and the full set are published
            g["feat"].tofile(f"{folder}/node_feat.npy")
            label19.astype(np.float32).tofile(f"{folder}/node_label_19.npy")
            label2k.astype(np.float32).tofile(f"{folder}/node_label_2K.npy")
        for flags in [], ["--in-place"]:
            got = imported("igb", "tiny", *flags)
            same_graph(got, csc(g["src"], g["dst"], g["n"]))
            same_nodes(got, g, label19)
            assert ("features" in got["meta"].get("files", {})) == bool(flags)
        got = imported("igb", "tiny", "--labels", "node_label_2K.npy")
        np.testing.assert_array_equal(got["labels"], np.r_[label2k, np.full(300, -1)])
        np.testing.assert_array_equal(got["valid"], np.arange(420, 560))
    # what is linked can be trained on
    run("import", "igb", "tiny", "linked", "--quiet", "--in-place")
    assert not os.path.exists("linked/features.npy")
    run("train", "linked", "--epochs", "1", "--hidden", "8", "--fanout", "3,3", "--run", "r", "--quiet", "--memory", "200M")
    shutil.rmtree("linked")
    refused("igb", "tiny", "--in-place", flags=["--in-place", "--feature-dtype", "f16"])
    refused("igb", "tiny", "leaves the source", flags=["--labels", "../../../x.npy"])
    np.zeros(1001, np.float32).tofile(f"{folder}/node_label_19.npy")
    refused("igb", "tiny", "1001 labels", "1000 nodes")
    label19.astype(np.float32).tofile(f"{folder}/node_label_19.npy")
    open(f"{folder}/node_feat.npy", "ab").write(b"123")
    refused("igb", "tiny", "node_feat.npy", "no whole number of rows")
    save("tiny/train.npy", np.arange(3))
    save("tiny/test.npy", np.arange(3, 9))
    g["feat"].tofile(f"{folder}/node_feat.npy")
    got = imported("igb", "tiny")
    assert list(got["train"]) == [0, 1, 2] and "valid" not in got
