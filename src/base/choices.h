/* Values of options with a fixed set of words. Their order is that of the option tables
 * (options/options.c, dataset/import/options.c, dataset/generate/options.c). Programs use only the
 * words, so values may change between versions. */
#ifndef OG_CHOICES_H
#define OG_CHOICES_H

enum og_model_kind {
    OG_MODEL_GCN,
    OG_MODEL_SAGE,
    OG_MODEL_GAT,
    OG_MODEL_GIN,
    OG_MODEL_PINSAGE,
    OG_MODEL_RGCN,
    OG_MODEL_GATV2,
    OG_MODEL_GINE,
    OG_MODEL_TRANSFORMER,
    OG_MODEL_MLP,
};
enum og_aggregator_kind { OG_AGGREGATOR_MEAN, OG_AGGREGATOR_MAX, OG_AGGREGATOR_GCN };
/* Use of edge weights in convolutions: none, factors along an edge, weights of a mean. AUTO becomes
 * one of the first two when the dataset is known. */
enum og_edge_weights_kind {
    OG_EDGE_WEIGHTS_OFF,
    OG_EDGE_WEIGHTS_MULTIPLY,
    OG_EDGE_WEIGHTS_MEAN,
    OG_EDGE_WEIGHTS_AUTO
};
/* Use of features of edges in convolutions. AUTO becomes one of the others when the dataset is
 * known. */
enum og_edge_features_kind { OG_EDGE_FEATURES_OFF, OG_EDGE_FEATURES_ON, OG_EDGE_FEATURES_AUTO };
enum og_norm_kind { OG_NORM_NONE, OG_NORM_BATCH, OG_NORM_LAYER };
enum og_compute_kind { OG_COMPUTE_F32, OG_COMPUTE_BF16, OG_COMPUTE_TF32 };
enum og_sampler_kind {
    OG_SAMPLER_UNIFORM,
    OG_SAMPLER_WEIGHTED,
    OG_SAMPLER_WALK,
    OG_SAMPLER_LABOR,
    OG_SAMPLER_LADIES,
    OG_SAMPLER_DISJOINT,
};
/* Whose times edges have; and which of the allowed ones are sampled. */
enum og_times_kind { OG_TIMES_OFF, OG_TIMES_NODE, OG_TIMES_EDGE };
enum og_time_strategy_kind { OG_TIME_STRATEGY_UNIFORM, OG_TIME_STRATEGY_LAST };
/* EACH: a node samples its neighbours in every hop in which it is a destination (DGL's blocks).
 * ONCE: it samples in the first such hop and reuses these neighbours later (PyTorch Geometric's
 * NeighborLoader). The edges of a hop are then the first ones of the next, in the same order. */
enum og_draw_kind { OG_DRAW_EACH, OG_DRAW_ONCE };
enum og_task_kind {
    OG_TASK_NODE,
    OG_TASK_LINK,
    OG_TASK_REGRESSION,
    OG_TASK_EDGE,
    OG_TASK_EDGE_REGRESSION,
};
enum og_decoder_kind {
    OG_DECODER_DOT,
    OG_DECODER_MLP,
    OG_DECODER_DISTMULT,
    OG_DECODER_COMPLEX,
    OG_DECODER_TRANSE,
};
enum og_loss_kind {
    OG_LOSS_AUTO,
    OG_LOSS_BCE,
    OG_LOSS_MARGIN,
    OG_LOSS_MSE,
    OG_LOSS_MAE,
    OG_LOSS_HUBER,
    OG_LOSS_FOCAL,
    OG_LOSS_CROSS_ENTROPY,
};
/* The validation metric that selects the best epoch; auto: the task's own. */
enum og_best_kind {
    OG_BEST_AUTO,
    OG_BEST_LOSS,
    OG_BEST_ACC,
    OG_BEST_F1,
    OG_BEST_MACRO_F1,
    OG_BEST_MICRO_F1,
    OG_BEST_WEIGHTED_F1,
    OG_BEST_AUC,
    OG_BEST_AP,
    OG_BEST_MACRO_AUC,
    OG_BEST_MACRO_AP,
    OG_BEST_MRR,
    OG_BEST_HITS_1,
    OG_BEST_HITS_3,
    OG_BEST_HITS_10,
    OG_BEST_HITS_20,
    OG_BEST_HITS_50,
    OG_BEST_HITS_100,
    OG_BEST_MSE,
    OG_BEST_MAE,
    OG_BEST_R2,
    OG_BEST_NDCG_10,
};
enum og_oversample_kind { OG_OVERSAMPLE_NONE, OG_OVERSAMPLE_BALANCED };
enum og_negative_kind { OG_NEGATIVE_UNIFORM, OG_NEGATIVE_BATCH, OG_NEGATIVE_GIVEN };
enum og_optimizer_kind { OG_OPTIMIZER_ADAM, OG_OPTIMIZER_SGD, OG_OPTIMIZER_ADAMW };
/* Optimizer of learnable embeddings. */
enum og_row_optimizer_kind {
    OG_ROWS_DENSE,
    OG_ROWS_SPARSE_ADAM,
    OG_ROWS_ADAGRAD,
    OG_ROWS_ROW_ADAGRAD,
};
enum og_rate_kind { OG_RATE_CONSTANT, OG_RATE_COSINE, OG_RATE_STEP, OG_RATE_PLATEAU };
enum og_device_kind { OG_DEVICE_CPU, OG_DEVICE_VIRTUAL, OG_DEVICE_CUDA };
enum og_policy_kind {
    OG_POLICY_NONE,
    OG_POLICY_RANDOM,
    OG_POLICY_DEGREE,
    OG_POLICY_PRESC,
    OG_POLICY_PAGERANK,
    OG_POLICY_FREQUENCY,
    OG_POLICY_LRU,
    OG_POLICY_RR,
    OG_POLICY_BELADY,
    OG_POLICY_HYBRID,
    OG_POLICY_SWEEP,
    OG_POLICY_FILE,
    OG_POLICY_SIEVE,
    OG_POLICY_S3FIFO,
    OG_POLICY_CLOCK,
    OG_POLICY_TINYLFU,
    OG_POLICY_AUTO,
};
enum og_evict_kind { OG_EVICT_HYBRID, OG_EVICT_STATIC, OG_EVICT_DYNAMIC };
enum og_pack_dtype_kind {
    OG_PACK_STORED,
    OG_PACK_F32,
    OG_PACK_F16,
    OG_PACK_BF16,
    OG_PACK_I8,
    OG_PACK_E4M3
};
enum og_layout_kind { OG_LAYOUT_RAW, OG_LAYOUT_PACKED, OG_LAYOUT_SEGMENTED, OG_LAYOUT_AUTO };
enum og_topology_kind { OG_TOPOLOGY_MEMORY, OG_TOPOLOGY_DISK, OG_TOPOLOGY_AUTO };
enum { OG_SUPERBATCH_AUTO = 0, OG_SUPERBATCH_ALL = -1 };
enum { OG_TOGETHER_AUTO = 0 };
enum og_sample_on_kind { OG_SAMPLE_ON_HOST, OG_SAMPLE_ON_DEVICE, OG_SAMPLE_ON_PINNED };
enum og_pipeline_kind { OG_PIPELINE_NONE, OG_PIPELINE_BATCHES };
/* I/O engines, each a file in io/ and a row here. */
#define OG__IO_ENGINES(row)     row(URING, uring) row(PREAD, pread) row(MMAP, mmap)
#define OG__IO_KIND(NAME, name) OG_IO_##NAME,
enum og_io_kind { OG__IO_ENGINES(OG__IO_KIND) OG_IO_AUTO };
enum og_preset_kind {
    OG_PRESET_NONE,
    OG_PRESET_PYG_PLUS,
    OG_PRESET_ALI_PG,
    OG_PRESET_GINEX,
    OG_PRESET_DISKGNN,
    OG_PRESET_FGNN,
    OG_PRESET_LSM_GNN,
    OG_PRESET_HELIOS,
    OG_PRESET_MEMORY,
    OG_PRESET_AUTO,
};

/* Element type of stored rows in generate, import and files; the first four match those of
 * enum og_element. I8 and E4M3 have a scale per column (dataset/features.h). ONE is of sparse rows
 * alone: every entry is 1 (dataset/sparse_rows.h). */
enum og_dtype { OG_F32, OG_F16, OG_BF16, OG_U8, OG_I8, OG_E4M3, OG_ONE, OG_DTYPES };
/* How import stores feature rows (dataset/sparse_rows.h). */
enum og_feature_layout { OG_FEATURES_DENSE, OG_FEATURES_SPARSE };
enum og_generator { OG_PLANTED, OG_RMAT };
extern const char *const og__dtype_words[];       /* NULL ends */
extern const char *const og__plain_dtype_words[]; /* those without scales */

#endif
