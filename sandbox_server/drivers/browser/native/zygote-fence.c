// Preloaded into Chromium's zygote by chrome-sandbox.c: at the zygote's request to lose the file system, gives up by Landlock every right
// that it restricts, for the zygote and all renderers that it forks. It ends the zygote where that fails.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The same numbers on every architecture.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, VERSION = 1, PATH_BENEATH = 1, READ_DIR = 1 << 3 };

struct ruleset {
    uint64_t files, network, scopes;
};

struct beneath {
    uint64_t allowed;
    int32_t directory;
} __attribute__((packed));

static void stop(const char *message) {
    syscall(SYS_write, 2, message, strlen(message));
    _exit(1);
}

// Every right that a version of Landlock restricts, and how much of the structure it knows.
static size_t all_rights(long version, struct ruleset *rights) {
    rights->files = (1ULL << 13) - 1;
    if (version >= 2) rights->files |= 1ULL << 13;  // linking and renaming between directories
    if (version >= 3) rights->files |= 1ULL << 14;  // truncating
    if (version >= 5) rights->files |= 1ULL << 15;  // commands to devices
    if (version >= 4) rights->network = 3;          // binding and connecting TCP
    if (version >= 6) rights->scopes = 3;           // abstract Unix sockets and signals
    return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

static void fence(void) {
    struct ruleset rights = {0};
    long version = syscall(CREATE_RULESET, NULL, 0, VERSION);
    if (version < 1) stop("zygote-fence: there is no Landlock\n");
    size_t size = all_rights(version, &rights);
    int set = (int)syscall(CREATE_RULESET, &rights, size, 0);
    // The zygote counts its threads and open files in /proc, and reads no file there.
    struct beneath proc = {READ_DIR, open("/proc", O_PATH | O_CLOEXEC)};
    if (set < 0 || proc.directory < 0 || syscall(ADD_RULE, set, PATH_BENEATH, &proc, 0)) stop("zygote-fence: no rules can be made\n");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(RESTRICT_SELF, set, 0)) stop("zygote-fence: Landlock is refused\n");
    close(proc.directory);
    close(set);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Chromium writes the request to the socket SBX_D, by the C library's function.
ssize_t write(int target, const void *data, size_t size) {
    static int asked = -2;
    if (asked == -2) {
        const char *number = getenv("SBX_D");
        asked = number ? atoi(number) : -1;
    }
    if (target == asked && size == 1 && *(const char *)data == 'C') {
        asked = -1;
        fence();
    }
    return syscall(SYS_write, target, data, size);
}
