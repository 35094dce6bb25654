/* Fails the n-th write, sync or rename in a folder: preloaded into a command and all that it starts (`failing.py`).

   What is done and what shall fail lies in a file that all of these processes share. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

struct plan {
    _Atomic int64_t done; /* writes, syncs and renames so far */
    int64_t nth;          /* the one that fails, from 1; 0: none */
    int64_t error;        /* its errno */
    char folder[4096];
    char failed[4096]; /* what failed, in words */
};

static struct plan *plan;

__attribute__((constructor)) static void open_plan(void) {
    const char *path = getenv("TENGEN_FAILING");
    int handle = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (handle < 0) return;
    void *found = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    if (found != MAP_FAILED) plan = found;
    close(handle);
}

static int fails_at(const char *what, const char *path) {
    size_t length = strlen(plan->folder);
    if (!length || strncmp(path, plan->folder, length) || (path[length] && path[length] != '/')) return 0;
    if (atomic_fetch_add(&plan->done, 1) + 1 != plan->nth) return 0;
    snprintf(plan->failed, sizeof plan->failed, "%s %s", what, path[length] ? path + length + 1 : ".");
    errno = (int)plan->error;
    return 1;
}

static int fails(const char *what, int handle) {
    if (!plan) return 0;
    int before = errno;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return fails_at(what, path);
}

static int fails_named(const char *what, const char *name) {
    char path[PATH_MAX];
    if (!plan) return 0;
    if (name[0] == '/') return fails_at(what, name);
    if (!getcwd(path, sizeof path)) return 0;
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "/%s", name);
    return fails_at(what, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define OF_HANDLE(type, name, given, handle, ...) \
    type name given { return fails(#name, handle) ? -1 : REAL(name)(__VA_ARGS__); }
#define OF_NAMES(name, given, target, ...) \
    int name given { return fails_named(#name, target) ? -1 : REAL(name)(__VA_ARGS__); }

OF_HANDLE(ssize_t, write, (int handle, const void *data, size_t size), handle, handle, data, size)
OF_HANDLE(ssize_t, pwrite, (int handle, const void *data, size_t size, off_t at), handle, handle, data, size, at)
OF_HANDLE(ssize_t, pwrite64, (int handle, const void *data, size_t size, off64_t at), handle, handle, data, size, at)
OF_HANDLE(ssize_t, writev, (int handle, const struct iovec *parts, int count), handle, handle, parts, count)
OF_HANDLE(int, fsync, (int handle), handle, handle)
OF_HANDLE(int, fdatasync, (int handle), handle, handle)
OF_NAMES(rename, (const char *from, const char *to), to, from, to)
OF_NAMES(renameat, (int a, const char *from, int b, const char *to), to, a, from, b, to)
OF_NAMES(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), to, a, from, b, to, flags)
