/* peer.h -- how bench/peers/run talks to a program that it measures; for those in C.
 *
 * The program is started with the number of threads as its argument, and answers each line
 * on its standard input with one on its standard output:
 *
 *     (at the start)                 its version
 *     make KIND NUMBER... IN OUT     made, or: absent WHY
 *     time REPEATS                   the seconds that so many calls took, and those of all its
 *                                    threads on a processor
 *     free                           freed
 *
 * make reads its input from the folder IN, makes one call, and writes what that computed to
 * the folder OUT: the driver compares it before it asks for a time.  Files hold numbers as
 * they lie in memory, float unless it says otherwise:
 *
 *     gemm N                  x, w (N, N)                                    y (N, N)
 *     attention B T NH HS     qkv (B, T, 3 NH HS)                            out (B, T, NH HS)
 *     attention-both ...      the same, and dout (B, T, NH HS)               out, d (B, T, 3 NH HS)
 *     step L C NH FF T V TIED B SEQ vB vT
 *                             weights (in the order of model/tensors.def),   loss (one double),
 *                             ids (B SEQ + 1 ints)                           gradient
 *
 * A step's result is of its first vB x vT tokens, and makes no update; a call that is timed
 * is a whole step of B x SEQ: forward, backward, norm, clipping at 1, AdamW.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PEER_NUMBERS = 12 };

typedef struct peer_item {
    char kind[32], in[1024], out[1024];
    int  n[PEER_NUMBERS];
    bool known;                     /* make() takes this kind */
} peer_item;

static inline _Noreturn void peer_end(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", name, what);
    exit(4);
}

/* Aligned, in huge pages where the system has them: the same for all programs in C. */
static inline void *peer_memory(size_t bytes)
{
    const size_t huge = (size_t)2 << 20, align = bytes < huge ? 64 : huge;
    const size_t all = (bytes + align - 1) / align * align;
    void *p = aligned_alloc(align, all);
    if (!p) peer_end("no memory", "peer");
    if (align == huge) (void)madvise(p, all, MADV_HUGEPAGE);
    return p;
}

static inline FILE *peer_open(const char *folder, const char *name, const char *mode, char path[1100])
{
    snprintf(path, 1100, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    if (!f) peer_end("cannot be opened", path);
    return f;
}

static inline void *peer_read(const char *folder, const char *name, size_t bytes)
{
    char path[1100];
    void *p = peer_memory(bytes);
    FILE *f = peer_open(folder, name, "rb", path);
    if (fread(p, 1, bytes, f) != bytes) peer_end("is too short", path);
    fclose(f);
    return p;
}

static inline void peer_write(const char *folder, const char *name, const void *p, size_t bytes)
{
    char path[1100];
    FILE *f = peer_open(folder, name, "wb", path);
    if (fwrite(p, 1, bytes, f) != bytes || fclose(f)) peer_end("cannot be written", path);
}

static inline double peer_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void peer_item_read(peer_item *item, char *words)
{
    char *word[PEER_NUMBERS + 3];
    int count = 0;
    for (char *w = strtok(words, " \n"); w && count < PEER_NUMBERS + 3; w = strtok(NULL, " \n"))
        word[count++] = w;
    if (count < 3) peer_end("make: expected KIND NUMBER... IN OUT", "peer");
    *item = (peer_item){ .known = true };
    snprintf(item->kind, sizeof item->kind, "%s", word[0]);
    snprintf(item->in, sizeof item->in, "%s", word[count - 2]);
    snprintf(item->out, sizeof item->out, "%s", word[count - 1]);
    for (int i = 1; i < count - 2; i++) item->n[i - 1] = atoi(word[i]);
}

/* Answers until its input ends. */
static inline int peer_answer(const char *version, void make(peer_item *), void call(void), void drop(void))
{
    char line[4096];
    peer_item item;
    printf("%s\n", version);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "make ", 5) == 0) {
            peer_item_read(&item, line + 5);
            make(&item);
            puts(item.known ? "made" : "absent it has no such work");
        } else if (strncmp(line, "time ", 5) == 0) {
            const int repeats = atoi(line + 5);
            const double start = peer_seconds(CLOCK_MONOTONIC), cpu = peer_seconds(CLOCK_PROCESS_CPUTIME_ID);
            for (int i = 0; i < repeats; i++) call();
            const double seconds = peer_seconds(CLOCK_MONOTONIC) - start;
            printf("%.9g %.9g\n", seconds, peer_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        } else {
            drop();
            puts("freed");
        }
        fflush(stdout);
    }
    return 0;
}

/* ---- those that only multiply ---------------------------------------------------- */
#ifndef PEER_NO_GEMM

static float *peer_x, *peer_w, *peer_y;
static int peer_n;
static void product(int n, const float *x, const float *w, float *y);   /* the program's own */

static inline void peer_gemm_call(void) { product(peer_n, peer_x, peer_w, peer_y); }

static inline void peer_gemm_make(peer_item *item)
{
    const size_t n = (size_t)(peer_n = item->n[0]), bytes = n * n * sizeof(float);
    if (strcmp(item->kind, "gemm") != 0) {
        item->known = false;
        return;
    }
    peer_x = peer_read(item->in, "x", bytes);
    peer_w = peer_read(item->in, "w", bytes);
    peer_y = peer_memory(bytes);
    memset(peer_y, 0xff, bytes);                    /* NaN: what is not written is seen */
    peer_gemm_call();
    peer_write(item->out, "y", peer_y, bytes);
}

static inline void peer_gemm_drop(void)
{
    free(peer_x);
    free(peer_w);
    free(peer_y);
    peer_x = peer_w = peer_y = NULL;
}

static inline int peer_gemm_answer(const char *version)
{
    return peer_answer(version, peer_gemm_make, peer_gemm_call, peer_gemm_drop);
}
#endif

#endif
