/* Answers the ioctls of smartctl and nvme-cli for a made-up drive, to record what these tools print.
 *
 *   cc -shared -fPIC -o made_up_drives.so made_up_drives.c -ldl
 *   LD_PRELOAD=./made_up_drives.so DRIVE=nvme smartctl ... /dev/nvme90n1
 *
 * DRIVE: nvme, nvme-later (after some writes), ata, ata-asleep, ata-plain (no Device Statistics), sas.
 * The device need not exist: /dev/nvme90n1, /dev/nvme90 and /dev/sdzz are opened as /dev/null. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int faked[1024];
static const char *drive(void) { return DRIVE; }
static int is(const char *start) { return !strncmp(drive(), start, strlen(start)); }
static int is_fake(const char *path) { return !strncmp(path, "/dev/nvme90", 11) || !strcmp(path, "/dev/sdzz"); }
static void put(uint8_t *at, uint64_t value, int bytes) { for (int i = 0; i < bytes; i++) at[i] = value >> (8 * i); }
static void put_be(uint8_t *at, uint64_t value, int bytes) { for (int i = 0; i < bytes; i++) at[bytes - 1 - i] = value >> (8 * i); }
static void text(uint8_t *at, const char *s, int bytes) { memset(at, ' ', bytes); memcpy(at, s, strlen(s)); }

int open(const char *path, int flags, ...)
{
    va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list);
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int fd = real(is_fake(path) ? "/dev/null" : path, flags, mode);
    if (is_fake(path) && fd >= 0 && fd < 1024) faked[fd] = 1;
    return fd;
}
int open64(const char *path, int flags, ...) { va_list l; va_start(l, flags); int m = va_arg(l, int); va_end(l); return open(path, flags, m); }
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open(path, flags); }
int access(const char *path, int mode)
{
    int (*real)(const char *, int) = dlsym(RTLD_NEXT, "access");
    return real(is_fake(path) ? "/dev/null" : path, mode);
}
int stat(const char *path, struct stat *s)
{
    int (*real)(const char *, struct stat *) = dlsym(RTLD_NEXT, "stat");
    return real(is_fake(path) ? "/dev/null" : path, s);
}
int stat64(const char *path, struct stat64 *s) { return stat(path, (struct stat *)s); }
int close(int fd)
{
    int (*real)(int) = dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd < 1024) faked[fd] = 0;
    return real(fd);
}

/* ---- NVMe -------------------------------------------------------------------------------------------------- */
static int nvme_log(int id, uint8_t *d)
{
    int later = is("nvme-later");
    if (id == 0x02) {
        put(d + 1, 273 + (later ? 71 : 38), 2); d[3] = 98; d[4] = 10; d[5] = 12;
        put(d + 32, 98765432, 8); put(d + 48, 140625000 + (later ? 23438 : 0), 8);  /* 72 TB; 12 GB more */
        put(d + 64, 1600000000, 8); put(d + 80, 2500000000 + (later ? 91553 : 0), 8); put(d + 96, 5100, 8);
        put(d + 112, 87, 8); put(d + 128, 9123, 8); put(d + 144, 14, 8); put(d + 160, 0, 8); put(d + 176, 5, 8);
        put(d + 192, later ? 2 : 0, 4); put(d + 200, 273 + 38, 2);
        put(d + 216, later ? 3 : 0, 4); put(d + 224, later ? 41 : 0, 4);
    } else if (id == 0x09) {
        d[3] = 98; d[4] = 10; d[5] = 12; put(d + 32, 600000, 8);  /* 600 TB */
        put(d + 48, 50568, 8); put(d + 64, 72000 + (later ? 12 : 0), 8); put(d + 80, 151200 + (later ? 27 : 0), 8);
    } else if (id == 0xC0) {
        static const uint8_t guid[16] = {0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF};
        put(d, 151200000000000 + (later ? 26400000000 : 0), 8); put(d + 16, 60000000000000, 8);
        d[80] = 3; d[96] = later ? 3 : 0; d[97] = later ? 1 : 0; put(d + 104, 2, 8); d[120] = 40; put(d + 128, 100, 2);
        put(d + 176, 600000000000000, 8); put(d + 494, 3, 2); memcpy(d + 496, guid, 16);
    } else return 0x4109;  /* Invalid Log Page, do not retry */
    return 0;
}
static int nvme_admin(int opcode, unsigned cdw10, uint8_t *d, unsigned length)
{
    uint8_t page[4096] = {0};
    int status = 0;
    if (opcode == 0x06 && (cdw10 & 0xff) == 1) {
        put(page, 0x1dd1, 2); text(page + 4, "LAB-N1", 20); text(page + 24, "Drivelab Made-up NVMe 960GB", 40); text(page + 64, "1.0", 8);
        put(page + 78, 1, 2); put(page + 80, 0x10400, 4); put(page + 96, 1 << 4, 4); put(page + 256, 0, 2);
        page[260] = 2; page[261] = 0x06; page[262] = 63; put(page + 266, 273 + 70, 2); put(page + 268, 273 + 85, 2);
        put(page + 340, 1, 2); put(page + 516, 1, 4);
    } else if (opcode == 0x06 && (cdw10 & 0xff) == 0) {
        uint64_t blocks = 1875385008;
        put(page, blocks, 8); put(page + 8, blocks, 8); put(page + 16, blocks, 8); put(page + 102, 1, 2); page[130] = 9;
    } else if (opcode == 0x02) status = nvme_log(cdw10 & 0xff, page);
    else status = 0x4001;
    if (!status && d) memcpy(d, page, length < 4096 ? length : 4096);
    return status;
}

/* ---- ATA --------------------------------------------------------------------------------------------------- */
static void checksum(uint8_t *d) { uint8_t s = 0; for (int i = 0; i < 511; i++) s += d[i]; d[511] = -s; }
static void swapped(uint8_t *at, const char *s, int bytes) { text(at, s, bytes); for (int i = 0; i < bytes; i += 2) { uint8_t t = at[i]; at[i] = at[i + 1]; at[i + 1] = t; } }
static const struct attribute { uint8_t id, value, worst; uint64_t raw; } plain[] = {
    {5, 100, 100, 0}, {9, 98, 98, 9123}, {12, 99, 99, 87}, {170, 100, 100, 0}, {174, 100, 100, 14}, {187, 100, 100, 0},
    {190, 66, 60, 34}, {192, 100, 100, 14}, {194, 100, 100, 34}, {197, 100, 100, 0}, {199, 100, 100, 3},
    {225, 100, 100, 2145767}, {232, 99, 99, 0}, {233, 88, 88, 0}, {241, 100, 100, 2145767}, {242, 100, 100, 1507328}, {243, 100, 100, 4505600}, {0, 0, 0, 0}},
  samsung[] = {
    {5, 100, 100, 2}, {9, 98, 98, 9123}, {12, 99, 99, 87}, {177, 81, 81, 217}, {179, 100, 100, 2}, {187, 100, 100, 0},
    {190, 64, 47, 36}, {199, 99, 99, 7}, {235, 99, 99, 14}, {241, 99, 99, 64800000000}, {0, 0, 0, 0}};
static void statistic(uint8_t *page, int offset, uint64_t value, int bytes) { put(page + offset, value, bytes); page[offset + 7] = 0xc0; }
static int ata_log(int address, int page, uint8_t *d)
{
    int has_statistics = !is("ata-plain");
    if (address == 0) { put(d, 1, 2); put(d + 2, 1, 2); if (has_statistics) put(d + 8, 8, 2); put(d + 2 * 0xe0, 1, 2); put(d + 2 * 0xe1, 1, 2); }
    else if (address == 1) { d[0] = 1; put(d + 452, 4, 2); checksum(d); }
    else if (address == 0xe0) { put(d, 3, 2); put(d + 4, 1, 2); d[200] = 36; d[201] = 22; d[202] = 53; d[203] = 20; d[204] = 53; d[205] = 70; }
    else if (address == 4 && has_statistics) {
        put(d, 1, 2); d[2] = page;
        if (page == 0) { d[8] = 6; static const uint8_t have[] = {0, 1, 4, 5, 6, 7}; memcpy(d + 9, have, 6); }
        else if (page == 1) { statistic(d, 8, 87, 4); statistic(d, 16, 9123, 4); statistic(d, 24, 64812345678, 6); statistic(d, 32, 1400000000, 6); statistic(d, 40, 35000000000, 6); statistic(d, 48, 900000000, 6); }
        else if (page == 4) { statistic(d, 8, 1, 4); statistic(d, 16, 0, 4); }
        else if (page == 5) { statistic(d, 8, 36, 1); statistic(d, 0x50, 5, 4); statistic(d, 0x58, 70, 1); statistic(d, 0x20, 53, 1); }
        else if (page == 6) { statistic(d, 8, 30, 4); statistic(d, 0x18, 7, 4); }
        else if (page == 7) { statistic(d, 8, 19, 1); d[15] |= 0x20; }
        else return -1;
    } else return -1;
    return 0;
}
static int ata(int command, int features, int count, int log, int page, uint8_t *d)
{
    if (command == 0xec) {
        uint16_t w[256] = {0};
        w[0] = 0x40; w[49] = 0x0f00; w[53] = 7; w[80] = 0x07f0; w[82] = 0x21; w[83] = 0x4400; w[84] = 0x4023; w[85] = 0x21; w[86] = 0x0400; w[87] = 0x4023;
        w[106] = 0x4000; w[206] = 1; w[217] = 1; w[222] = 0x107f; w[76] = 0x0e; w[77] = 6;
        uint64_t sectors = is("ata-plain") ? 468862128 : 976773168; for (int i = 0; i < 4; i++) w[100 + i] = sectors >> (16 * i);
        w[60] = sectors & 0xffff; w[61] = sectors >> 16;
        for (int i = 0; i < 256; i++) put(d + 2 * i, w[i], 2);
        swapped(d + 20, "LAB-A1", 20); swapped(d + 46, "RVT02B6Q", 8); swapped(d + 54, is("ata-plain") ? "INTEL SSDSC2BB240G6" : "Samsung SSD 860 EVO 500GB", 40);
        return 0;
    }
    if (command == 0x2f) { for (int i = 0; i < count; i++) if (ata_log(log, page + i, d + 512 * i)) return -1; return 0; }
    if (command == 0xb0 && features == 0xd5) return ata_log(log, 0, d);
    if (command == 0xb0 && (features == 0xd0 || features == 0xd1)) {
        const struct attribute *a = is("ata-plain") ? plain : samsung;
        d[0] = 1; d[367] = 0x51; d[368] = 3; d[370] = 1;
        for (int i = 0; a[i].id; i++) {
            uint8_t *at = d + 2 + 12 * i;
            at[0] = a[i].id;
            if (features == 0xd0) { at[1] = 0x32; at[3] = a[i].value; at[4] = a[i].worst; put(at + 5, a[i].raw, 6); }
        }
        checksum(d);
        return 0;
    }
    return command == 0xe5 || (command == 0xb0 && features == 0xda) ? 0 : -1;
}

/* ---- SCSI -------------------------------------------------------------------------------------------------- */
static int parameter(uint8_t *at, int code, uint64_t value, int bytes) { put_be(at, code, 2); at[2] = 3; at[3] = bytes; put_be(at + 4, value, bytes); return 4 + bytes; }
static int sas_log(int page, uint8_t *d)
{
    uint8_t *at = d + 4;
    if (page == 0) { static const uint8_t have[] = {0, 2, 3, 5, 0x0d, 0x0e, 0x11, 0x2f}; memcpy(at, have, sizeof have); at += sizeof have; }
    else if (page == 2 || page == 3 || page == 5) {
        uint64_t bytes = page == 2 ? 72123456789012 : page == 3 ? 150000000000000 : 0;
        for (int i = 0; i < 5; i++) at += parameter(at, i, i == 3 ? 12 : 0, 4);
        at += parameter(at, 5, bytes, 8); at += parameter(at, 6, page == 3 ? 1 : 0, 4);
    } else if (page == 0x0d) { at += parameter(at, 0, 41, 2); at += parameter(at, 1, 70, 2); }
    else if (page == 0x0e) { at += parameter(at, 3, 50000, 4); at += parameter(at, 4, 87, 4); }
    else if (page == 0x11) at += parameter(at, 1, 9, 4);
    else if (page == 0x2f) { put_be(at, 0, 2); at[2] = 3; at[3] = 4; at[6] = 41; at += 8; }
    else return -1;
    d[0] = page; put_be(d + 2, at - d - 4, 2);
    return 0;
}
static void sense(sg_io_hdr_t *h, int key, int asc)
{
    static const int n = 18;
    h->status = 2; h->masked_status = 1; h->driver_status = 8; h->sb_len_wr = n; h->info = SG_INFO_CHECK;
    if (h->sbp) { memset(h->sbp, 0, n); h->sbp[0] = 0x70; h->sbp[2] = key; h->sbp[7] = 10; h->sbp[12] = asc; }
}
static void ata_result(sg_io_hdr_t *h, int count, int mid, int high)
{
    h->status = 2; h->masked_status = 1; h->driver_status = 8; h->sb_len_wr = 22; h->info = SG_INFO_CHECK;
    memset(h->sbp, 0, 22); h->sbp[0] = 0x72; h->sbp[1] = 1; h->sbp[3] = 0x1d; h->sbp[7] = 14;
    h->sbp[8] = 9; h->sbp[9] = 12; h->sbp[13] = count; h->sbp[17] = mid; h->sbp[19] = high; h->sbp[21] = 0x50;
}
static void scsi(sg_io_hdr_t *h)
{
    uint8_t d[8192] = {0}, *c = h->cmdp;
    unsigned length = sizeof d;
    h->status = h->masked_status = h->driver_status = h->host_status = h->sb_len_wr = 0; h->info = 0; h->resid = 0;
    int is_ata = is("ata");
    if (c[0] == 0x12 && !(c[1] & 1)) {
        d[2] = 6; d[3] = 2; d[4] = 91; text(d + 8, is_ata ? "ATA" : "DRIVELAB", 8); text(d + 16, is_ata ? "Samsung SSD 860" : "MADE-UP SAS SSD", 16); text(d + 32, "1.0", 4);
    } else if (c[0] == 0x12 && c[2] == 0x80 && !is_ata) { d[1] = 0x80; d[3] = 6; memcpy(d + 4, "LAB-S1", 6); }
    else if (c[0] == 0x12 && c[2] == 0xb1 && !is_ata) { d[1] = 0xb1; d[3] = 60; d[5] = 1; }
    else if (c[0] == 0x12) { sense(h, 5, 0x24); return; }
    else if (c[0] == 0x25) { put_be(d, 937703087, 4); put_be(d + 4, 512, 4); }
    else if (c[0] == 0x9e) { put_be(d, 937703087, 8); put_be(d + 8, 512, 4); d[13] = 3; }
    else if (c[0] == 0x00 || c[0] == 0x03) { d[0] = 0x70; d[7] = 10; }
    else if (is_ata && (c[0] == 0x85 || c[0] == 0xa1)) {
        int w = c[0] == 0x85, command = w ? c[14] : c[9], features = w ? c[4] : c[3], count = w ? c[6] : c[4];
        int log = w ? c[8] : c[5], page = w ? c[10] : c[6];
        if (ata(command, features, count, log, command == 0x2f ? page : 0, d)) { sense(h, 0xb, 0); return; }
        if (command == 0xe5) { ata_result(h, is("ata-asleep") ? 0 : 0xff, 0, 0); return; }
        if (command == 0xb0 && features == 0xda) { ata_result(h, 0, 0x4f, 0xc2); return; }
    } else if (is("sas") && c[0] == 0x4d && !sas_log(c[2] & 0x3f, d)) {}
    else if (is("sas") && (c[0] == 0x1a || c[0] == 0x5a)) {
        int six = c[0] == 0x1a, page = c[2] & 0x3f, header = six ? 4 : 8;
        if (page != 0x1c && page != 8 && page != 0x3f) { sense(h, 5, 0x24); return; }
        d[header] = page == 8 ? 8 : 0x1c; d[header + 1] = page == 8 ? 18 : 10; d[header + 3] = page == 8 ? 0 : 4;
        if (six) d[0] = header + d[header + 1] + 1; else put_be(d, header + d[header + 1], 2);
    } else if (is("sas") && c[0] == 0x37) { d[1] = 0x0d; put_be(d + 2, 5 * 8, 2); }
    else if (is("sas") && c[0] == 0xb7) { d[1] = 0x0d; put_be(d + 4, 5 * 8, 4); }
    else { sense(h, 5, 0x20); return; }
    if (h->dxfer_direction == SG_DXFER_FROM_DEV && h->dxferp) memcpy(h->dxferp, d, h->dxfer_len < length ? h->dxfer_len : length);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list list; va_start(list, request); void *arg = va_arg(list, void *); va_end(list);
    int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
    if (fd < 0 || fd >= 1024 || !faked[fd]) return real(fd, request, arg);
    if (request == NVME_IOCTL_ID) return 1;
    if (request == NVME_IOCTL_ADMIN_CMD) { struct nvme_admin_cmd *c = arg; return nvme_admin(c->opcode, c->cdw10, (uint8_t *)(uintptr_t)c->addr, c->data_len); }
    if (request == NVME_IOCTL_ADMIN64_CMD) { struct nvme_passthru_cmd64 *c = arg; return nvme_admin(c->opcode, c->cdw10, (uint8_t *)(uintptr_t)c->addr, c->data_len); }
    if (request == SG_IO) { scsi(arg); return 0; }
    errno = ENOTTY;
    return -1;
}
