#include "CRuntime.h"

#include <netinet/in.h>
#include <resolv.h>

void crt_resolve_whole_names(void) {
    // resolver(3): `_res` is per thread; res_init reads resolv.conf(5) into it.
    if (res_init() == 0) _res.options &= ~(unsigned long)(RES_DEFNAMES | RES_DNSRCH);
}
