/* The operators of devices: tests of the cpu backend, against plain loops in double, finite
 * differences and PyTorch. They run once more with every operator a virtual device's, in each order
 * of threads and at each pace of streams. With "models" as argument: whole models, in one order.
 * With OUTGROW_TEST_DEVICE once, on that device (tools/gpu-bundle); a GPU reads the operands in
 * place, in this program's memory, to all of which it has access. */
#include "support/testing.h"

#include "device/lent_memory.h"
#include "device/mains.h"
#include "device/ops_on_virtual.h"
#include "device/tested_device.h"
#include "device/virtual.h"

static int (*const operators[])(void) = {main_of_test_nn_ops,       main_of_test_nn_products,
                                         main_of_test_nn_attention, main_of_test_nn_graph_ops,
                                         main_of_test_nn_losses,    main_of_test_share_losses,
                                         main_of_test_nn_compute,   main_of_test_link_scores};

static int run_once(void)
{
    struct og_virtual v = og__virtual_usual;
    int failed = 0;
    v.glass = true;
    og__virtual_become(&v);
    for (size_t i = 0; i < OG_COUNT(operators); i++)
        failed += operators[i]() != 0;
    if (!on_gpu()) /* the host looks into the model's parameters */
        failed += (main_of_test_nn_golden() != 0) + (main_of_test_nn_typed() != 0);
    og__ops_on_virtual_end();
    return failed > 0;
}

int main(int argc, char **argv)
{
    static const enum og__pace pace[OG__ORDERS] = {OG__EAGER, OG__LAZY, OG__SEEDED};
    const bool models = argc > 1 && strcmp(argv[1], "models") == 0;
    int failed = 0;
    cmocka_set_skip_filter("same_bits_for_any_number_of_threads"); /* a device has none */
    if (on_gpu())
        og__lent_memory_prepare();
    if (getenv("OUTGROW_TEST_DEVICE"))
        return run_once();
    for (int order = 0; order < (models ? OG__FORWARDS + 1 : OG__ORDERS); order++) {
        struct og_virtual v = og__virtual_usual;
        v.order = (enum og__order)order;
        v.pace = pace[order];
        v.seed = 5;
        v.glass = true;
        og__virtual_become(&v);
        if (models) /* in other orders: test_device_models.c */
            failed += (main_of_test_nn_golden() != 0) + (main_of_test_nn_typed() != 0);
        for (size_t i = 0; !models && i < OG_COUNT(operators); i++)
            failed += operators[i]() != 0;
        og__ops_on_virtual_end();
    }
    return failed > 0;
}
