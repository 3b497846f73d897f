#include "Process.h"

#include <sys/prctl.h>

void linux_set_undumpable(void) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
