/*
 * Drives the unmodified limit_req module through its request handler, with a request that has
 * just what the handler touches. Its functions are static, so the module is included.
 */

#include "ngx_http_limit_req_module.c"
#include "shim.h"

#include <sys/mman.h>

struct stock_zone {
    ngx_shm_zone_t            shm;
    ngx_http_limit_req_ctx_t  ctx;
    char                      name[24];
    size_t                    size;
};

static ngx_log_t    log_sink;
static ngx_cycle_t  cycle;
static char        *line;

static void
keep_line(ngx_log_t *log, ngx_uint_t level, u_char *buf, size_t len)
{
    len = ngx_min(len, 511);
    ngx_memcpy(line, buf, len);
    line[len] = '\0';
}

static void
keep_status(ngx_http_request_t *r, char *status)
{
    ngx_http_variable_value_t  v;

    ngx_memzero(&v, sizeof(v));
    ngx_http_limit_req_status_variable(r, &v, 0);
    ngx_memcpy(status, v.data, v.len);
    status[v.len] = '\0';
}

void
stock_init(void)
{
    log_sink.log_level = NGX_LOG_INFO;
    log_sink.writer = keep_line;
    cycle.log = &log_sink;
    ngx_cycle = &cycle;
    ngx_pagesize = 4096;
    ngx_pagesize_shift = 12;
    ngx_cacheline_size = 64;
    ngx_ncpu = 1;
    ngx_use_stderr = 0;
    ngx_pid = ngx_getpid();
    ngx_queue_init(&ngx_posted_events);
    ngx_event_timer_init(&log_sink);
    ngx_slab_sizes_init();
    ngx_crc32_table_init();
}

/* Shared with children, as a zone is. */
stock_zone_t *
stock_zone_new(uintptr_t number, uintptr_t rate, size_t size)
{
    stock_zone_t     *zone = calloc(1, sizeof(stock_zone_t));
    ngx_slab_pool_t  *pool = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (pool == MAP_FAILED) {
        abort();
    }
    zone->size = size;
    pool->end = (u_char *) pool + size;
    pool->min_shift = 3;
    pool->addr = (u_char *) pool;
    ngx_shmtx_create(&pool->mutex, &pool->lock, NULL);
    ngx_slab_init(pool);

    zone->ctx.rate = rate;
    zone->shm.data = &zone->ctx;
    zone->shm.shm.addr = (u_char *) pool;
    zone->shm.shm.log = &log_sink;
    zone->shm.shm.name.data = (u_char *) zone->name;
    zone->shm.shm.name.len = sprintf(zone->name, "%lu", (unsigned long) number);
    if (ngx_http_limit_req_init_zone(&zone->shm, NULL) != NGX_OK) {
        abort();
    }
    return zone;
}

void
stock_zone_free(stock_zone_t *zone)
{
    munmap(zone->shm.shm.addr, zone->size);
    free(zone);
}

void
stock_after_fork(uintptr_t processors)
{
    ngx_pid = ngx_getpid();
    ngx_ncpu = processors;
}

/*
 * One decision as the handler takes it, without the request around it: the same key in each zone,
 * nothing held back. Whether it is admitted.
 */
int
stock_take(stock_zone_t *const *zones, size_t n, uintptr_t burst, const uint8_t *key, size_t len,
    uintptr_t now)
{
    ngx_int_t                    rc = NGX_DECLINED;
    ngx_str_t                    text = { len, (u_char *) key };
    ngx_uint_t                   i, hash, excess;
    ngx_http_limit_req_ctx_t    *ctx;
    ngx_http_limit_req_limit_t   limits[4], *limit = NULL;

    ngx_current_msec = now;
    for (i = 0; i < n; i++) {
        limits[i].shm_zone = &zones[i]->shm;
        limits[i].burst = burst;
        limits[i].delay = NGX_MAX_INT_T_VALUE / 1000 * 1000;
    }
    for (i = 0; i < n; i++) {
        limit = &limits[i];
        ctx = limit->shm_zone->data;
        hash = ngx_crc32_short(text.data, text.len);
        ngx_shmtx_lock(&ctx->shpool->mutex);
        rc = ngx_http_limit_req_lookup(limit, hash, &text, &excess, i == n - 1);
        ngx_shmtx_unlock(&ctx->shpool->mutex);
        if (rc != NGX_AGAIN) {
            break;
        }
    }
    if (rc == NGX_OK) {
        return ngx_http_limit_req_account(limits, i, &excess, &limit) == 0;
    }
    while (i--) {
        ctx = limits[i].shm_zone->data;
        if (ctx->node) {
            ctx->node->count--;
            ctx->node = NULL;
        }
    }
    return 0;
}

/* By the queue of all nodes: the search of the tree is part of what is tested. */
int
stock_zone_state(stock_zone_t *zone, const uint8_t *key, size_t len,
    stock_state_t *state)
{
    ngx_queue_t                *q, *queue = &zone->ctx.sh->queue;
    ngx_http_limit_req_node_t  *node;

    for (q = ngx_queue_head(queue); q != ngx_queue_sentinel(queue); q = ngx_queue_next(q)) {
        node = ngx_queue_data(q, ngx_http_limit_req_node_t, queue);
        if (node->len == len && ngx_memcmp(node->data, key, len) == 0) {
            state->excess = node->excess;
            state->last = node->last;
            return 1;
        }
    }
    return 0;
}

void
stock_decide(const stock_limit_t *given, size_t n, int dry_run, uintptr_t now,
    stock_outcome_t *outcome)
{
    ngx_uint_t                  i;
    ngx_event_t                 rev, wev;
    ngx_connection_t            c;
    ngx_http_request_t          r;
    ngx_http_limit_req_conf_t   conf;
    ngx_http_limit_req_limit_t  limits[3];
    void                       *loc_conf[1] = { &conf };

    ngx_memzero(&rev, sizeof(rev));
    ngx_memzero(&wev, sizeof(wev));
    ngx_memzero(&c, sizeof(c));
    ngx_memzero(&r, sizeof(r));
    ngx_memzero(&conf, sizeof(conf));
    for (i = 0; i < n; i++) {
        given[i].zone->ctx.key.value.data = (u_char *) given[i].key;
        given[i].zone->ctx.key.value.len = given[i].key_len;
        limits[i].shm_zone = &given[i].zone->shm;
        limits[i].burst = given[i].burst;
        limits[i].delay = given[i].delay;
    }
    conf.limits.elts = limits;
    conf.limits.nelts = n;
    conf.limit_log_level = NGX_LOG_ERR;
    conf.delay_log_level = NGX_LOG_WARN;
    conf.status_code = 503;
    conf.dry_run = dry_run;
    rev.ready = 1;
    rev.log = wev.log = c.log = &log_sink;
    rev.data = wev.data = &c;
    c.read = &rev;
    c.write = &wev;
    r.connection = &c;
    r.main = &r;
    r.loc_conf = loc_conf;
    ngx_http_limit_req_module.ctx_index = 0;
    ngx_current_msec = now;

    line = outcome->line;
    line[0] = '\0';
    outcome->wait = 0;
    outcome->rc = ngx_http_limit_req_handler(&r);
    keep_status(&r, outcome->status);
    if (outcome->rc == NGX_AGAIN) {
        outcome->wait = wev.timer.key - now;
        ngx_del_timer(&wev);
        ngx_delete_posted_event(&rev);
    }
}
