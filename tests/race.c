/* race.c -- two threads add to one number without a lock: what the thread sanitizer
 * has to report, or its silence about our threads means nothing (cli_race.sh). */
#include <pthread.h>
#include <stdio.h>

static long sum;

static void *add(void *nothing)
{
    (void)nothing;
    for (int i = 0; i < 1000; i++) sum += i;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    if (pthread_create(&a, NULL, add, NULL) || pthread_create(&b, NULL, add, NULL)) return 1;
    if (pthread_join(a, NULL) || pthread_join(b, NULL)) return 1;
    printf("%ld\n", sum);
    return 0;
}
