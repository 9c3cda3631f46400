/* What posting.rs has the engine do, in C, as a program that links libibverbs would do it. See scripts/bench. */

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEPTH = 128, BATCH = 64, SIZE = 64, REGION = 4096 };

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "posting: %s failed\n", what);
    exit(1);
}

static struct ibv_context *open_device(const char *name)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int index = 0; index < count; index++)
        if (!strcmp(ibv_get_device_name(list[index]), name))
            return ibv_open_device(list[index]);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        fail("usage: posting LIST EVERY TOTAL;");
    unsigned list = (unsigned)atoi(argv[1]);
    unsigned every = (unsigned)atoi(argv[2]);
    uint64_t total = strtoull(argv[3], NULL, 10);
    struct ibv_context *context = open_device("standin_instant0");
    if (!context)
        fail("opening the device");
    struct ibv_pd *domain = ibv_alloc_pd(context);
    char *memory = aligned_alloc(65536, REGION);
    memset(memory, 0, REGION);
    struct ibv_mr *region = ibv_reg_mr_iova2(domain, memory, REGION, (uintptr_t)memory, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_cq *queue = ibv_create_cq(context, 256, NULL, NULL, 0);
    struct ibv_qp_init_attr wanted = {
        .send_cq = queue,
        .recv_cq = queue,
        .cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1,
                 .max_inline_data = 220 },
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp *pair = ibv_create_qp(domain, &wanted);
    if (!region || !queue || !pair || DEPTH % list || DEPTH % every)
        fail("making a queue pair");

    /* As many as may be under way, in lists, posted round and round. */
    static struct ibv_send_wr requests[DEPTH];
    static struct ibv_sge elements[DEPTH];
    for (unsigned index = 0; index < DEPTH; index++) {
        elements[index] = (struct ibv_sge){ (uintptr_t)memory + index * SIZE % REGION, SIZE, region->lkey };
        requests[index].next = (index + 1) % list ? &requests[index + 1] : NULL;
        requests[index].sg_list = &elements[index];
        requests[index].num_sge = 1;
        requests[index].opcode = IBV_WR_RDMA_WRITE;
        requests[index].send_flags = IBV_SEND_INLINE | ((index + 1) % every ? 0 : IBV_SEND_SIGNALED);
        requests[index].wr.rdma.remote_addr = elements[index].addr;
        requests[index].wr.rdma.rkey = region->rkey;
    }

    struct ibv_wc completions[BATCH];
    uint64_t posted = 0, completed = 0;
    unsigned next = 0;
    uint64_t wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    while (completed < total) {
        while (posted < total && posted + list <= completed + DEPTH) {
            struct ibv_send_wr *refused;
            if (ibv_post_send(pair, &requests[next], &refused))
                fail("ibv_post_send");
            next += list;
            if (next == DEPTH)
                next = 0;
            posted += list;
        }
        int count = ibv_poll_cq(queue, BATCH, completions);
        if (count < 0)
            fail("ibv_poll_cq");
        for (int index = 0; index < count; index++) {
            if (completions[index].status != IBV_WC_SUCCESS)
                fail("a work request");
            completed += every;
        }
    }
    processor = now(CLOCK_PROCESS_CPUTIME_ID) - processor;
    wall = now(CLOCK_MONOTONIC) - wall;
    printf("{\"requests\":%llu,\"wall_ns\":%llu,\"processor_ns\":%llu}\n", (unsigned long long)completed,
           (unsigned long long)wall, (unsigned long long)processor);
    return 0;
}
