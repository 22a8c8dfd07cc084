/* kernel_elf.c -- see kernel_elf.h.
 *
 * Reads the file's header and its table of segments; those of this machine's kind alone,
 * since the loader refuses others by itself.
 *
 * Reference: System V ABI, "ELF Header", "Program Header".
 */
#include "verify/host/kernel_elf.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static vt_status cut_off(const char *path, uint64_t need, uint64_t has, vt_error *err)
{
    return fail(err, VT_BAD_INPUT, "%s: cannot be loaded: is cut off: its header says %llu bytes at "
                "least, it has %llu", path, (unsigned long long)need, (unsigned long long)has);
}

static vt_status check_segments(const char *path, int file, const ElfW(Ehdr) *h, uint64_t size,
                                vt_error *err)
{
    if (h->e_phentsize != sizeof(ElfW(Phdr))) return VT_OK;
    const uint64_t table = (uint64_t)h->e_phnum * sizeof(ElfW(Phdr));
    if (h->e_phoff > size || table > size - h->e_phoff)
        return h->e_phoff > UINT64_MAX - table ? VT_OK : cut_off(path, h->e_phoff + table, size, err);
    for (size_t i = 0; i < h->e_phnum; i++) {
        ElfW(Phdr) p;
        const off_t at = (off_t)(h->e_phoff + i * sizeof p);
        if (pread(file, &p, sizeof p, at) != (ssize_t)sizeof p)
            return fail(err, status_of(errno), "%s: cannot read: %s", path, strerror(errno));
        if (p.p_type == PT_LOAD && p.p_offset <= UINT64_MAX - p.p_filesz &&
            p.p_offset + p.p_filesz > size)
            return cut_off(path, p.p_offset + p.p_filesz, size, err);
    }
    return VT_OK;
}

vt_status kernel_elf_check(const char *path, vt_error *err)
{
    ElfW(Ehdr) h;
    struct stat info;
    vt_status status = VT_OK;
    memset(&h, 0, sizeof h);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return fail(err, status_of(errno), "%s: cannot open: %s", path, strerror(errno));
    const ssize_t n = pread(file, &h, sizeof h, 0);
    if (n < 0 || fstat(file, &info) != 0)
        status = fail(err, status_of(errno), "%s: cannot read: %s", path, strerror(errno));
    else if (n < SELFMAG || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        status = fail(err, VT_BAD_INPUT, "%s: cannot be loaded: it is no shared library, and no C "
                      "source (its name does not end in .c)", path);
    else if ((size_t)n < sizeof h)
        status = cut_off(path, sizeof h, (uint64_t)n, err);
    else if (h.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        status = check_segments(path, file, &h, (uint64_t)info.st_size, err);
    (void)close(file);
    return status;
}
