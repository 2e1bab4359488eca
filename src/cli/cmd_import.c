#include "cli.h"

#include <stdlib.h>

static const struct own_option own[] = {
    {"symmetrize", NULL, "add the reverse of every edge; duplicates are dropped"},
    {"drop-self-loops", NULL, "leave out edges from a node to itself"},
    {"drop-duplicates", NULL, "of equal edges keep the first"},
    {"row-normalize", NULL, "scale the features of each node to sum 1"},
    {"reverse", NULL, "the source lists edges as dst,src"},
    {"link", NULL, "leave the features in the source's file and use them in place"},
    {"keep-ids", NULL, "edgelist: node ids are rows already; do not number them anew"},
    {"labels", "FILE", "igb: which of its label files [node_label_19.npy]"},
    {"weight-column", "N",
     "edgelist: the column, from 1, that holds edge weights; 0 = leave further columns out"},
    {"feature-dtype", "TYPE",
     "how to store features: f32, f16, bf16, u8; unless given, floats as they are, integers as u8 "
     "where that is exact, else f32"},
    {"memory", "SIZE", "bound on what the import holds; unless given, 90% of what is free"},
    {"threads", "N", "processor threads; 0 = all [0]"},
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    struct og_import opt;
    char *text = NULL;
    og_import_init(&opt);
    opt.symmetrize = own_flag(in, "symmetrize");
    opt.drop_self_loops = own_flag(in, "drop-self-loops");
    opt.row_normalize = own_flag(in, "row-normalize");
    opt.reverse = own_flag(in, "reverse");
    opt.drop_duplicates = own_flag(in, "drop-duplicates");
    opt.link = own_flag(in, "link");
    opt.labels = own_text(in, "labels");
    opt.keep_ids = own_flag(in, "keep-ids");
    int rc = own_choice(in, "feature-dtype", dtype_names, &opt.feature_dtype, err);
    if (rc == 0)
        rc = own_amount(in, "memory", &opt.memory, err);
    if (rc == 0)
        rc = own_int(in, "weight-column", 0, 1024, &opt.weight_column, err);
    if (rc == 0 && (opt.weight_column == 1 || opt.weight_column == 2))
        rc = usage_error(err, NULL, "--weight-column: columns 1 and 2 are the edge's ends");
    if (rc == 0)
        rc = own_int(in, "threads", 0, 1024, &opt.threads, err);
    if (rc == 0)
        rc = og_import(in->arg[0], in->arg[1], in->arg[2], &opt, screen_observer(in->screen, 0),
                       err);
    if (rc == 0)
        rc = og_info(in->arg[2], &text, err);
    return rc == 0 ? deliver(in, text, show_dataset, err) : rc;
}

const struct command cmd_import = {
    .name = "import",
    .args = "FORMAT SRC OUT",
    .min_args = 3,
    .max_args = 3,
    .summary = "make a dataset from files in another format",
    .text =
        "Edges are sorted on disk, so the graph may be larger than memory; OUT appears when it is "
        "complete. FORMAT is one of: "
        "npy: SRC holds edges.npy (integers [E,2], src,dst, or [2,E] as PyTorch Geometric's "
        "edge_index; [2,2] is [E,2]), feat.npy ([N,F]) or "
        "feat_indptr.npy, feat_indices.npy and feat_data.npy (CSR), label.npy, train.npy, "
        "valid.npy and test.npy, and optionally edge_weight.npy, meta.json and, for --task link, "
        "train_edges.npy, valid_edges.npy and test_edges.npy. "
        "edgelist: SRC is a text file, gzipped or not, with an edge a line as SNAP publishes "
        "them, or CSV; ids may be sparse: nodes are numbered in the order of their ids, and "
        "node_ids.npy keeps these. Or SRC is a folder with edges.txt (.tsv, .csv, .el, .gz) and "
        "node arrays as for npy, of which ids are the rows. "
        "mtx: SRC is a coordinate matrix in Matrix Market format, or a folder with graph.mtx(.gz) "
        "and node arrays. "
        "ogb: SRC is an unpacked node dataset of the Open Graph Benchmark, ogbn-papers100M and the "
        "papers of MAG240M among them. "
        "igb: SRC is one size of the Illinois Graph Benchmark, with .npy or headerless files. "
        "graphbolt: SRC holds metadata.yaml and the csv and numpy files it names. "
        "DGL and PyTorch Geometric: examples/export_dgl.py and export_pyg.py write npy. "
        "docs/formats.md has the details.",
    .own = own,
    .run = run,
};
