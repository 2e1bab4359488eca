/* main() of test_<name>.c, compiled with og__ops_on_virtual in place of og__ops_cpu. */
#ifndef OG_DEVICE_MAINS_H
#define OG_DEVICE_MAINS_H

int main_of_test_nn_ops(void);
int main_of_test_nn_products(void);
int main_of_test_nn_attention(void);
int main_of_test_nn_graph_ops(void);
int main_of_test_nn_losses(void);
int main_of_test_share_losses(void);
int main_of_test_nn_golden(void);
int main_of_test_nn_typed(void);
int main_of_test_nn_compute(void);
int main_of_test_link_scores(void);

#endif
