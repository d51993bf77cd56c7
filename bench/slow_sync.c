/* Preloaded into a program, makes each of its syncs sleep first, as on a drive that takes so long.
 *
 * SLOW_SYNC_NS is for how long; into the file SLOW_SYNC_TOLD, of 16 bytes, go the time that was
 * slept in all, in nanoseconds, and how many syncs there were.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    _Atomic long slept_ns, count;
} *told;
static struct timespec asked;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SLOW_SYNC_TOLD"), *length = getenv("SLOW_SYNC_NS");
    int file = path && length ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    asked.tv_nsec = atol(length);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (told == MAP_FAILED)
        told = NULL;
    close(file);
}

static int slow(long call, int file)
{
    if (told) {
        struct timespec from, to;
        prctl(PR_SET_TIMERSLACK, 1);
        clock_gettime(CLOCK_MONOTONIC, &from);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &asked, NULL);
        clock_gettime(CLOCK_MONOTONIC, &to);
        told->slept_ns += (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec;
        told->count += 1;
    }
    return (int)syscall(call, file);
}

int fdatasync(int file)
{
    return slow(SYS_fdatasync, file);
}

int fsync(int file)
{
    return slow(SYS_fsync, file);
}
