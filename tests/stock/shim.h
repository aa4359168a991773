/* Stock limit_req for the differential test, through its own handler, and for the bench. */

#include <stddef.h>
#include <stdint.h>

typedef struct stock_zone stock_zone_t;

typedef struct {
    stock_zone_t   *zone;
    uintptr_t       burst;    /* in 1/1000 request */
    uintptr_t       delay;    /* in 1/1000 request */
    const uint8_t  *key;
    size_t          key_len;
} stock_limit_t;

typedef struct {
    intptr_t   rc;           /* what the handler returned */
    uintptr_t  wait;         /* in ms */
    char       status[32];   /* $limit_req_status, empty if not found */
    char       line[512];    /* the line it logged, if any */
} stock_outcome_t;

typedef struct {
    uintptr_t  excess;   /* in 1/1000 request */
    uintptr_t  last;     /* in ms; 0 for a node that nothing was charged to */
} stock_state_t;

void stock_init(void);
/* A child and its number of processors; waiters spin only if there are two. */
void stock_after_fork(uintptr_t processors);
stock_zone_t *stock_zone_new(uintptr_t number, uintptr_t rate, size_t size);
void stock_zone_free(stock_zone_t *zone);
/* Whether there is a node for a key, and what it holds. */
int stock_zone_state(stock_zone_t *zone, const uint8_t *key, size_t len,
    stock_state_t *state);
void stock_decide(const stock_limit_t *limits, size_t n, int dry_run,
    uintptr_t now, stock_outcome_t *outcome);
int stock_take(stock_zone_t *const *zones, size_t n, uintptr_t burst, const uint8_t *key,
    size_t len, uintptr_t now);
