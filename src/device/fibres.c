#include "device/fibres.h"

#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { LANES = 32, PAGE = 4096, STACK = 64 * 1024, STEP = PAGE + STACK };
#define STACKS ((size_t)OG__MOST_THREADS * STEP) /* a guard page below each */

/* The next state of a thread of the block. */
enum state { RUNS, MEETS_BLOCK, MEETS_WARP, ENDED };

/* ==== stack switch ====
 *
 * swapcontext makes a system call for the signal mask at each switch. Most kernels take less time
 * between two synchronizations. */
#if defined(__x86_64__)
struct fibre {
    void *stack; /* saved stack pointer */
};

/* Saves callee-saved registers, and continues at the saved state of `to`. */
void og__fibre_switch(void **from, void *to);
__asm__(".text\n"
        ".globl og__fibre_switch\n"
        ".hidden og__fibre_switch\n"
        ".type og__fibre_switch, @function\n"
        "og__fibre_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size og__fibre_switch, .-og__fibre_switch\n");

/* As the switch would have left it: six registers, and where to return to. */
static void start_fibre(struct fibre *f, char *stack, void (*entry)(void))
{
    void **top = (void **)(void *)(stack + STACK);
    *--top = NULL; /* entry finds its stack aligned as after a call */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--top = NULL;
    f->stack = (void *)top;
}

static void change(struct fibre *from, struct fibre *to)
{
    og__fibre_switch(&from->stack, to->stack);
}
#else
#include <ucontext.h>

struct fibre {
    ucontext_t context;
};

static void start_fibre(struct fibre *f, char *stack, void (*entry)(void))
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, entry, 0);
}

static void change(struct fibre *from, struct fibre *to)
{
    swapcontext(&from->context, &to->context);
}
#endif

/* ==== a block ==== */

/* Fibres, reused by every block. */
struct og_crew {
    char *stacks;
    struct fibre scheduler, fibre[OG__MOST_THREADS];
    const struct og_launch *launch;
    uint32_t running, block;
    uint8_t state[OG__MOST_THREADS];
    float value[OG__MOST_THREADS], sum[OG__MOST_THREADS / LANES]; /* of og__fibre_warp_sum */
};
static _Thread_local struct og_crew *at_work_here;

/* The crew may move to another thread, so each access must look up the thread-local variable again.
 * Compilers would not do so within a function. */
static __attribute__((noinline)) struct og_crew **at_work(void)
{
    __asm__ volatile("");
    return &at_work_here;
}

static void pause_as(enum state state)
{
    struct og_crew *c = *at_work();
    c->state[c->running] = (uint8_t)state;
    change(&c->fibre[c->running], &c->scheduler);
}

void og__fibre_synchronize(void)
{
    pause_as(MEETS_BLOCK);
}

float og__fibre_warp_sum(const struct og__here *here, float x)
{
    (*at_work())->value[here->thread] = x;
    pause_as(MEETS_WARP);
    return (*at_work())->sum[here->thread / LANES];
}

static void fibre(void)
{
    for (;;) {
        struct og_crew *c = *at_work();
        const struct og__here here = {c->running, c->block};
        c->launch->kernel->body(c->launch->args, &here);
        pause_as(ENDED);
    }
}

/* Adds as the lanes of a GPU do: each to the one at half the previous distance. */
static float sum_of_lanes(const float *value)
{
    float x[LANES];
    memcpy(x, value, sizeof(x));
    for (int step = LANES / 2; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            x[i] += x[i + step];
    return x[0];
}

static uint32_t count_in(const struct og_crew *c, uint32_t first, uint32_t n, enum state state)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < first + n; i++)
        count += c->state[i] == state;
    return count;
}

/* Let those go on that have all met. Returns how many threads may run, and none where all wait. */
static uint32_t let_go(struct og_crew *c, uint32_t threads)
{
    uint32_t runnable = 0;
    if (count_in(c, 0, threads, MEETS_BLOCK) == threads) {
        memset(c->state, RUNS, threads);
        return threads;
    }
    for (uint32_t warp = 0; warp < threads; warp += LANES) {
        if (count_in(c, warp, LANES, MEETS_WARP) != LANES)
            continue;
        c->sum[warp / LANES] = sum_of_lanes(c->value + warp);
        memset(c->state + warp, RUNS, LANES);
        runnable += LANES;
    }
    return runnable;
}

/* The i-th to run: any odd step visits each thread of a power of two once. */
static uint32_t in_order(enum og__order order, uint32_t i, uint32_t n)
{
    switch (order) {
    case OG__REVERSED:
        return n - 1 - i;
    case OG__SHUFFLED:
        return n & (n - 1) ? (i + n / 2) % n : (i * 2654435761u + 7) & (n - 1);
    default:
        return i;
    }
}

static int run_block(struct og_crew *c, uint32_t block, enum og__order order, struct og_err *err)
{
    const uint32_t threads = c->launch->threads;
    c->block = block;
    memset(c->state, RUNS, threads);
    do {
        for (uint32_t i = 0; i < threads; i++) {
            c->running = in_order(order, i, threads);
            if (c->state[c->running] == RUNS)
                change(&c->scheduler, &c->fibre[c->running]);
        }
        if (count_in(c, 0, threads, ENDED) == threads)
            return 0;
    } while (let_go(c, threads) > 0);
    return og__fail(err, -EDEADLK, NULL, "kernel %s: %u of %u threads wait for the others",
                    c->launch->kernel->name, threads - count_in(c, 0, threads, ENDED), threads);
}

/* ==== a launch ==== */

void og__crew_close(struct og_crew *c)
{
    if (c && c->stacks) {
        for (size_t i = 0; i < OG__MOST_THREADS; i++)
            og__memory_open(c->stacks + i * STEP + PAGE, STACK);
        munmap(c->stacks, STACKS);
    }
    free(c);
}

static struct og_crew *open_crew(void)
{
    struct og_crew *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    char *p = mmap(NULL, STACKS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    c->stacks = p == MAP_FAILED ? NULL : p;
    bool opened = c->stacks;
    for (size_t i = 0; opened && i < OG__MOST_THREADS; i++) {
        char *stack = c->stacks + i * STEP + PAGE;
        opened = mprotect(stack, STACK, PROT_READ | PROT_WRITE) == 0;
        if (opened)
            start_fibre(&c->fibre[i], stack, fibre);
    }
    if (opened)
        return c;
    og__crew_close(c);
    return NULL;
}

static int run_meeting(struct og_crew **crew, const struct og_launch *l, enum og__order order,
                       struct og_err *err)
{
    int rc = 0;
    struct og_crew *c = *crew ? *crew : open_crew();
    *crew = c;
    if (!c)
        return og__fail_errno(err, -ENOMEM, NULL, "virtual device");
    c->launch = l;
    *at_work() = c;
    for (uint32_t b = 0; b < l->blocks && rc == 0; b++)
        rc = run_block(c, in_order(order, b, l->blocks), order, err);
    *at_work() = NULL;
    if (rc < 0) { /* some fibres have not finished */
        og__crew_close(c);
        *crew = NULL;
    }
    return rc;
}

int og__fibres_run(struct og_crew **crew, const struct og_launch *l, enum og__order order,
                   struct og_err *err)
{
    if (l->kernel->meets)
        return run_meeting(crew, l, order, err);
    for (uint32_t b = 0; b < l->blocks; b++) {
        struct og__here here = {.block = in_order(order, b, l->blocks)};
        for (uint32_t i = 0; i < l->threads; i++) {
            here.thread = in_order(order, i, l->threads);
            l->kernel->body(l->args, &here);
        }
    }
    return 0;
}
