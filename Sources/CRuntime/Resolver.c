#include "CRuntime.h"

#include <netinet/in.h>
#include <resolv.h>

void crt_resolve_whole_names(int seconds) {
    // resolver(3): `_res` is per thread; res_init reads resolv.conf(5) into it.
    if (res_init() != 0) return;
    // Without RES_NORELOAD values that a former call on this thread has set alike count as none of
    // ours, and are replaced by those of the file.
    const unsigned long searches = RES_DEFNAMES | RES_DNSRCH;
    _res.options = (_res.options & ~searches) | RES_NORELOAD;
    // Half of it for a first packet, which may be lost.
    _res.retry = seconds > 1 ? 2 : 1;
    _res.retrans = seconds / _res.retry;
}
