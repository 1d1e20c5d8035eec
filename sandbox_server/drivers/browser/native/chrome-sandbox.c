// chrome-sandbox PROGRAM ARGUMENTS...: starts Chromium's zygote where the host refuses user namespaces.
//
// Chromium looks for a program of this name beside its own, and takes it only if it is root's and set-user-id. It needs no right of
// root's and gives it up first. Once the zygote has loaded all that it needs, it asks a process that shares its root directory to take the
// files away: the library that this program preloads does so by Landlock. The process here only answers. Chromium checks that the files are
// gone before it goes on (sandbox/linux/suid in its source).
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FENCE "/usr/lib/chromium/zygote-fence.so"
#define API "1"

static void put_number(const char *name, long number) {
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    if (setenv(name, text, 1)) _exit(1);
}

// Answer the one request that comes, and end.
static void answer(int socket) {
    char message;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (read(socket, &message, 1) != 1 || message != 'C') _exit(1);
    _exit(write(socket, "O", 1) != 1);
}

int main(int count, char **arguments) {
    if (setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid())) return 1;
    if (count < 2) return 1;
    if (!strcmp(arguments[1], "--get-api")) return printf(API "\n") < 0;
    if (!strcmp(arguments[1], "--adjust-oom-score")) return 0;  // needs a right of root's
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    pid_t helper = fork();
    if (helper < 0) return 1;
    if (!helper) {
        close(ends[1]);
        answer(ends[0]);
    }
    close(ends[0]);
    put_number("SBX_D", ends[1]);
    put_number("SBX_HELPER_PID", helper);
    if (setenv("SBX_CHROME_API_PRV", API, 1) || setenv("LD_PRELOAD", FENCE, 1)) return 1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    execv(arguments[1], arguments + 1);
    return 1;
}
