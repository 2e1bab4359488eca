#!/usr/bin/env python3
"""Edges of batches: e_id is the place of each edge in the dataset's arrays. By every sampler, with the topology in memory and on disk, sampled ahead or not.
And features of edges in datasets that outgrow.write makes."""
import os
import warnings

from support import NODES, arrays_of_a_graph, command, main, np, outgrow, raises, same, warned

COMMON = {"batch": 200, "epochs": 2, "seed": 5, "threads": 2, "form": "arrays", "e_id": True, "split": "train"}
SAMPLERS = {"uniform": {"fanout": [7, 3]}, "replace": {"fanout": [7, 3], "replace": True}, "all": {"fanout": [-1, 3]}, "labor": {"sampler": "labor", "fanout": [4, 3]}, "ladies": {"sampler": "ladies", "fanout": [2, 2]},
            "weighted": {"sampler": "weighted", "fanout": [4, 3]}}
RNG = np.random.default_rng(3)
ROWS = RNG.standard_normal((16000, 3)).astype(np.float32)


class Lists:
    def __init__(self, prefix=""):
        self.indptr, self.indices = np.load(f"{prefix}indptr.npy"), np.load(f"{prefix}indices.npy")
        self.dst = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def check(self, hop, source, destination, once=True):
        """Each edge is one between its ends, and none is twice in a list. once=False: some are."""
        place = np.asarray(hop.e_id)
        same("src", self.indices[place].astype(np.int64), source[hop.src])
        same("dst", self.dst[place], destination[hop.dst])
        assert place.dtype == np.int64
        assert not once or len(np.unique(np.stack([place, hop.dst]), axis=1)[0]) == len(place)


def make_graphs():
    given = arrays_of_a_graph()
    outgrow.write("graph", **given, edge_attr=ROWS)
    n, src, dst = NODES, *given["edge_index"]
    x = given["x"]
    third = len(src) // 3
    outgrow.write("typed", edge_index={("a", "to", "a"): given["edge_index"][:, :third], ("b", "of", "a"): np.stack([src[third:] % 50, dst[third:]])},
                  x={"a": x, "b": x[:50]}, y={"a": given["y"]}, train={"a": given["train"]}, edge_attr={("b", "of", "a"): ROWS[third:, :2]})


def batches(dataset, **options):
    with outgrow.Loader(dataset, **COMMON | options) as loader:
        for _ in range(2):
            yield from loader


def of_plain(lists, **options):
    out = []
    for batch in batches("graph", **options):
        for hop in batch.hops:
            lists.check(hop, batch.ids, batch.ids, "replace" not in options)
            out.append(np.array(hop.e_id))
    return out


def test_places_are_those_of_the_edges():
    make_graphs()
    lists = Lists("graph/")
    for name, how in SAMPLERS.items():
        for draw in ("each", "once") if name not in ("ladies",) else ("each",):
            want = of_plain(lists, **how, draw=draw)
            assert len(want) > 0
            for other in {"topology": "disk"}, {"topology": "disk", "sample_group": 1, "policy": "lru", "cache": "5%"}, \
                    {"policy": "belady", "cache": "5%", "superbatch": 3}, {"topology": "disk", "policy": "belady", "cache": "5%", "superbatch": 100, "memory": "64M"}:
                got = of_plain(lists, **how, draw=draw, **other)
                assert len(got) == len(want) and all(np.array_equal(a, b) for a, b in zip(got, want)), (name, draw, other)


def test_types():
    lists = {("a", "to", "a"): Lists("typed/rel0_"), ("b", "of", "a"): Lists("typed/rel1_")}
    for name, how in SAMPLERS.items():
        if "weighted" in how.values():
            continue
        for draw in ("each", "once") if name not in ("ladies",) else ("each",):
            for other in {}, {"topology": "disk", "policy": "belady", "cache": "5%", "superbatch": 3}:
                for batch in batches("typed", **how, draw=draw, **other):
                    for relation, edges in batch.relations.items():
                        for hop in edges.hops:
                            lists[relation].check(hop, batch.types[relation[0]].ids, batch.types[relation[2]].ids, "replace" not in how)


def test_repeated_seeds():
    lists = Lists("graph/")
    seeds = np.repeat(np.arange(0, 600, 3), 2)
    with outgrow.Loader("graph", **{key: value for key, value in COMMON.items() if key != "split"}, seeds=seeds, fanout=[5, 3]) as loader:
        for batch in loader:
            for hop in batch.hops:
                lists.check(hop, batch.ids, batch.ids)


def test_links():
    lists = Lists("graph/")
    command("import", "npy", written_links(), "links")
    for batch in batches("links", task="link", edge_split="dataset", fanout=[5, 3]):
        for hop in batch.hops:
            Lists("links/").check(hop, batch.ids, batch.ids)
    with raises(outgrow.OptionError, "places of edges", "held-out edges"):
        next(batches("graph", task="link", fanout=[5, 3]))
    assert lists.dst.size == 16000


def written_links():
    given = arrays_of_a_graph()
    os.mkdir("links-source")
    edges = given["edge_index"].T
    for name, array in {"edges": edges, "feat": given["x"], "train_edges": edges[:900], "valid_edges": edges[900:950]}.items():
        np.save(f"links-source/{name}.npy", array)
    return "links-source"


def test_what_is_refused():
    with raises(outgrow.OptionError, "places of edges", "walk"):
        next(batches("graph", sampler="walk", fanout=[3, 3]))
    with raises(outgrow.OptionError, "places of edges", "device"):
        next(batches("graph", sample_on="device", device="virtual", fanout=[3, 3]))
    command("sample", "graph", "--out", "samples", "--fanout", "3,3", "--epochs", "1", "--quiet")
    with raises(outgrow.OptionError, "places of edges", "from samples"):
        next(batches("graph", samples="samples", fanout=[3, 3], epochs=1))
    assert all(hop.e_id is None for batch in batches("graph", fanout=[3, 3], e_id=False) for hop in batch.hops)


def test_written_features():
    src, dst = arrays_of_a_graph()["edge_index"]
    order = np.lexsort((np.arange(len(src)), src, dst))
    same("rows", np.load("graph/edge_features.npy"), ROWS[order])
    same("ids", np.load("graph/edge_ids.npy"), order)
    outgrow.write("pieces", **arrays_of_a_graph(), edge_attr=iter(np.array_split(ROWS, 7)), symmetrize=True)
    same("rows of both directions", np.load("pieces/edge_features.npy"), ROWS[np.load("pieces/edge_ids.npy")])
    with raises(outgrow.OptionError, "edge_attr: 15999 rows, for 16000 edges"):
        outgrow.write("refused", **arrays_of_a_graph(), edge_attr=ROWS[1:])
    bad = ROWS.copy()
    bad[70, 1] = np.nan
    with raises(outgrow.OptionError, "edge_attr: row 70, column 1: not a finite number"):
        outgrow.write("refused", **arrays_of_a_graph(), edge_attr=bad)
    with raises(outgrow.OptionError, "edge_attr: ('x', 'of', 'a') is no relation"):
        outgrow.write("refused", edge_index={("a", "to", "a"): np.stack([src, dst]), ("b", "of", "a"): np.stack([src % 9, dst])},
                      x={"a": arrays_of_a_graph()["x"]}, num_nodes={"b": 9}, edge_attr={("x", "of", "a"): ROWS})
    said = warned(lambda: outgrow.write("rounded", **arrays_of_a_graph(), edge_attr=ROWS.astype(np.float64) + 1e-12))
    assert len(said) == 1 and "edge_attr" in said[0] and "float32" in said[0], said
    with raises(outgrow.OptionError, "edge_feat", "edge_attr"):
        outgrow.write("refused", **arrays_of_a_graph(), edge_feat=ROWS)


def test_data_and_neighbor_loader():
    try:
        import torch
        from torch_geometric.data import Data, HeteroData
    except ImportError:
        return
    given = {name: torch.from_numpy(array) for name, array in arrays_of_a_graph().items()}
    for kind in torch.float32, torch.float16, torch.float64:
        data = Data(x=given["x"], y=given["y"], edge_index=given["edge_index"], edge_attr=torch.from_numpy(ROWS).to(kind))
        name = f"data-{str(kind)[6:]}"
        said = warned(lambda: outgrow.write(name, data))
        assert said == ["data: outgrow.write stores edge_attr for batches, not for training" if kind == torch.float64 else
                        "edge_attr: stored as features of edges, which the models gat, gatv2, gine and transformer use"], said
        assert os.path.exists(f"{name}/edge_features.npy") == (kind != torch.float64)
        loader = outgrow.NeighborLoader(name, [6, 3], input_nodes=torch.arange(300), batch_size=100)
        for batch in loader:
            assert batch.edge_attr.dtype == kind and torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])
            assert torch.equal(data.edge_index[:, batch.e_id], batch.n_id[batch.edge_index])
    features, graph = outgrow.stores("data-float16")
    got = features.get_tensor(group_name=("node", "to", "node"), attr_name="edge_attr", index=torch.tensor([5, 7]))
    assert torch.equal(got, torch.from_numpy(np.load("data-float16/edge_features.npy")[[5, 7]])) and graph is not None
    hetero = HeteroData()
    hetero["a"].x, hetero["a"].y, hetero["b"].num_nodes = given["x"], given["y"], 50
    hetero["b", "of", "a"].edge_index = torch.stack([given["edge_index"][0] % 50, given["edge_index"][1]])
    hetero["a", "to", "a"].edge_index = given["edge_index"][:, :500]
    hetero["b", "of", "a"].edge_attr, hetero["a", "to", "a"].edge_attr = torch.from_numpy(ROWS), torch.arange(500)
    said, = (one for one in warned(lambda: outgrow.write("hetero", hetero)) if not one.startswith("edge_attr: stored"))
    assert "edge_attr" in said and said.endswith(" for batches, not for training"), said
    for batch in outgrow.NeighborLoader("hetero", [4, 2], input_nodes=("a", torch.arange(200)), batch_size=100):
        for relation in hetero.edge_types:
            assert torch.equal(batch[relation].edge_attr, hetero[relation].edge_attr[batch[relation].e_id]), relation
    loader = outgrow.Loader("graph", fanout=[5, 3], split="train", e_id=True)
    rows = torch.from_numpy(np.load("graph/edge_features.npy"))
    for batch in loader:
        assert rows[batch.e_id].shape == (batch.edge_index.shape[1], 3)
    adjs = next(iter(outgrow.Loader("graph", fanout=[5, 3], split="train", e_id=True, form="adjs")))
    assert all(adj.e_id.shape[0] == adj.edge_index.shape[1] for adj in adjs.adjs)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(globals())
