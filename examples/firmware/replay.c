/* The same filter in C: runs a log of `simulate` again, and compares. With -DREAL=double for the feature `double`.

       replay LOG [TIMES]

   prints the largest difference of a state and of the last covariance; with TIMES, the time of each step, too. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "predict.h"
#include "update_field.h"
#include "update_position.h"

#ifndef REAL
#define REAL float
#endif

enum { STATE = 16, ERROR = 15, RECORD = 24 };

static REAL state[2][STATE], covariance[2][ERROR * ERROR];
static predict_work of_predict;
static update_position_work of_position;
static update_field_work of_field;

/* Runs a record from the estimate `now`; gives the index of the estimate that holds after it. */
static int step(const REAL *record, int now) {
    const int next = 1 - now;
    REAL distance;
    if (record[0] == 0) {
        predict(state[now], covariance[now], record + 1, record + 4, record[7], state[next], covariance[next],
                &of_predict);
        return next;
    }
    if (record[0] == 1) {
        update_position(state[now], covariance[now], record + 1, state[next], covariance[next], &distance,
                        &of_position);
    } else {
        update_field(state[now], covariance[now], record + 1, state[next], covariance[next], &distance, &of_field);
    }
    return distance < (REAL)16.27 ? next : now;
}

static double largest(const REAL *a, const REAL *b, int n, double most) {
    for (int i = 0; i < n; i++) {
        const double apart = fabs((double)a[i] - (double)b[i]);
        if (!(apart <= most)) {
            most = apart;
        }
    }
    return most;
}

int main(int n, char **args) {
    FILE *file = n > 1 ? fopen(args[1], "rb") : NULL;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "replay LOG [TIMES]\n");
        return 2;
    }
    const size_t numbers = (size_t)ftell(file) / sizeof(REAL);
    const size_t head = STATE + ERROR, tail = ERROR * ERROR, records = (numbers - head - tail) / RECORD;
    REAL *log = malloc(numbers * sizeof(REAL));
    rewind(file);
    if (log == NULL || fread(log, sizeof(REAL), numbers, file) != numbers) {
        return 2;
    }
    memcpy(state[0], log, sizeof state[0]);
    for (int i = 0; i < ERROR; i++) {
        covariance[0][(ERROR + 1) * i] = log[STATE + i] * log[STATE + i];
    }
    double apart = 0;
    int now = 0;
    for (size_t k = 0; k < records; k++) {
        const REAL *record = log + head + RECORD * k;
        now = step(record, now);
        apart = largest(state[now], record + 8, STATE, apart);
    }
    const double last = largest(covariance[now], log + head + RECORD * records, ERROR * ERROR, 0);
    printf("C: states differ by at most %g, the last covariance by %g\n", apart, last);
    const int times = n > 2 ? atoi(args[2]) : 0;
    const char *names[] = {"predict", "update_position", "update_field"};
    for (int kind = 0; kind < 3 && times > 0; kind++) {
        size_t k = 0;
        while (log[head + RECORD * k] != (REAL)kind) {
            k++;
        }
        double least = 1e9;
        for (int sample = 0; sample < 20; sample++) {
            const clock_t start = clock();
            for (int i = 0; i < times; i++) {
                step(log + head + RECORD * k, now);
            }
            const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC / times;
            least = seconds < least ? seconds : least;
        }
        printf("C: %-16s %8.0f ns\n", names[kind], 1e9 * least);
    }
    free(log);
    /* Fused operations and the functions of the C library may differ in the last digits. */
    const double tolerance = sizeof(REAL) == 4 ? 1e-3 : 1e-10;
    return apart <= tolerance && last <= tolerance ? 0 : 1;
}
