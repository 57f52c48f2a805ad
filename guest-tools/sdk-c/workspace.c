/* The first directory that the host granted. */
#include <unistd.h>
#include <wasi/api.h>

#include "agent_tool.h"

bool at_enter_workspace(void) {
    /* Granted directories are the open descriptors from 3 on. */
    __wasi_prestat_t directory;
    if (__wasi_fd_prestat_get(3, &directory) != 0 || directory.tag != __WASI_PREOPENTYPE_DIR) {
        return false;
    }
    size_t len = directory.u.dir.pr_name_len;
    uint8_t *name = at_alloc(len + 1, 1);
    return __wasi_fd_prestat_dir_name(3, name, len) == 0 && chdir((const char *)name) == 0;
}
