/* kernel_exports.c -- which functions a loaded library exports, for a message, and whether
 * a name is one.
 *
 * Reads the dynamic symbol table where the loader has put it.  Its length stands nowhere:
 * the GNU hash table knows the last symbol that it holds.  Only 64-bit tables of the GNU
 * kind are read; elsewhere nothing is listed.
 *
 * References: System V ABI, "Dynamic Section"; U. Drepper, "How to write shared
 * libraries", 1.5.3, for the hash table.
 */
#define _GNU_SOURCE             /* dlinfo */
#include "verify/host/kernel_child.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* Symbols in the table: one behind the last of the longest chain. */
static size_t count_symbols(const uint32_t *hash)
{
    const uint32_t buckets = hash[0], first = hash[1], bloom = hash[2];
    const uint32_t *bucket = hash + 4 + bloom * (sizeof(ElfW(Addr)) / sizeof *hash);
    const uint32_t *chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last) last = bucket[i];
    if (last < first) return 0;
    while (!(chain[last - first] & 1)) last++;      /* the lowest bit ends a chain */
    return (size_t)last + 1;
}

static bool is_function(const ElfW(Sym) *s, const char *name)
{
    return (s->st_info & 15) == STT_FUNC && s->st_info >> 4 != STB_LOCAL &&
           s->st_shndx != SHN_UNDEF && strcmp(name, "_init") != 0 && strcmp(name, "_fini") != 0;
}

typedef struct symbol_table { const ElfW(Sym) *symbols; const char *names; size_t n; } symbol_table;

/* Of the library itself, not of those that it needs; n = 0: cannot be read. */
static symbol_table table_of(void *library)
{
    const struct link_map *map = NULL;
    symbol_table t = { .n = 0 };
    const uint32_t *hash = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return t;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)(uintptr_t)d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB) t.symbols = at;
        if (d->d_tag == DT_STRTAB) t.names = at;
        if (d->d_tag == DT_GNU_HASH) hash = at;
    }
    if (t.symbols && t.names && hash) t.n = count_symbols(hash);
    return t;
}

static const ElfW(Sym) *find(void *library, const char *name)
{
    const symbol_table t = table_of(library);
    for (size_t i = 0; i < t.n; i++)
        if (t.symbols[i].st_shndx != SHN_UNDEF && t.symbols[i].st_info >> 4 != STB_LOCAL &&
            strcmp(t.names + t.symbols[i].st_name, name) == 0)
            return &t.symbols[i];
    return NULL;
}

/* An assembler's label has no type. */
bool child_is_function(void *library, const char *name)
{
    const ElfW(Sym) *s = find(library, name);
    const int type = s ? s->st_info & 15 : STT_FUNC;
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

bool child_is_variable(void *library, const char *name, size_t bytes)
{
    const ElfW(Sym) *s = find(library, name);
    return !s || ((s->st_info & 15) == STT_OBJECT && s->st_size == bytes);
}

void child_exports(void *library, char *text, size_t size)
{
    enum { MOST = 8 };
    size_t used = 0, listed = 0;
    const symbol_table t = table_of(library);
    text[0] = 0;
    for (size_t i = 0; i < t.n; i++) {
        const char *name = t.names + t.symbols[i].st_name;
        if (!is_function(&t.symbols[i], name)) continue;
        const int wrote = snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                   listed == MOST ? "..." : name);
        if (wrote < 0 || (size_t)wrote >= size - used || listed++ == MOST) return;
        used += (size_t)wrote;
    }
}
