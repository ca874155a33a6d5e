/* iostrata's kernel side: programs on tracepoints, and on functions where there are none, each
 * loadable without the others. */
#include "calls.h"
#include "page_cache.h"
#include "block.h"
#include "tasks.h"
#include "commits.h"
#ifndef TOP /* operations of io_uring are decoded with the history only */
#include "ring.h"
#endif
#include "functions.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
