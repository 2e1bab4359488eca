#!/usr/bin/env python3
"""Features of edges in datasets that outgrow.write makes: each edge keeps its row."""
import os
import warnings

from support import arrays_of_a_graph, main, np, outgrow, raises, same, warned

RNG = np.random.default_rng(3)
ROWS = RNG.standard_normal((16000, 3)).astype(np.float32)


def test_written_features():
    outgrow.write("graph", **arrays_of_a_graph(), edge_attr=ROWS)
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
        assert warned(lambda: outgrow.write(name, data)) == []
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
    assert warned(lambda: outgrow.write("hetero", hetero)) == []
    for batch in outgrow.NeighborLoader("hetero", [4, 2], input_nodes=("a", torch.arange(200)), batch_size=100):
        for relation in hetero.edge_types:
            assert torch.equal(batch[relation].edge_attr, hetero[relation].edge_attr[batch[relation].e_id]), relation


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(globals())
