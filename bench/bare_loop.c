/* The least that can be done: one call per I/O, nothing timed, nothing counted.
 *
 * bare_loop append1 FILE COUNT   write one byte and fdatasync
 * bare_loop odsync FILE COUNT    write 512 bytes with O_DIRECT|O_SYNC, each behind the last
 * bare_loop read4k FILE COUNT    read 4 KiB with O_DIRECT at the next offset
 *
 * Prints the mean time of one operation in nanoseconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int count_of_words, char **words)
{
    if (count_of_words != 4)
        return 2;
    int appends = !strcmp(words[1], "append1");
    int reads = !strcmp(words[1], "read4k");
    long count = atol(words[3]);
    int flags = appends ? O_RDWR | O_CREAT : reads ? O_RDONLY | O_DIRECT : O_RDWR | O_CREAT | O_DIRECT | O_SYNC;
    int fd = open(words[2], flags, 0644);
    char *data = NULL;
    if (fd < 0 || posix_memalign((void **)&data, 4096, 4096))
        return 1;
    memset(data, 'x', 4096);
    size_t size = appends ? 1 : reads ? 4096 : 512;
    off_t end = lseek(fd, 0, SEEK_END);
    off_t offset = reads ? 0 : end;
    double start = now_ns();
    for (long i = 0; i < count; i++) {
        if (reads && offset + (off_t)size > end)
            offset = 0;
        ssize_t moved = reads ? pread(fd, data, size, offset) : pwrite(fd, data, size, offset);
        if (moved != (ssize_t)size || (appends && fdatasync(fd)))
            return 1;
        offset += size;
    }
    printf("%.1f\n", (now_ns() - start) / count);
    return 0;
}
