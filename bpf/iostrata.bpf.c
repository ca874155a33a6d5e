/* iostrata's kernel side: BTF tracepoints only, each program loadable without the others. */
#include "calls.h"
#include "page_cache.h"
#include "block.h"
#include "tasks.h"
#include "ring.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
