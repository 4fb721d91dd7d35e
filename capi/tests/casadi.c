/* A caller of the functions that pg_function_to_casadi writes, as CasADi calls them. The function takes a matrix of 2 rows and 3
 * columns and a number, and returns the transposed matrix times the number, and the sum of squares. It prints `done`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long long int casadi_int;
#define DECLARE(name)                                                                                                          \
    int name(const double **arg, double **res, casadi_int *iw, double *w, int mem);                                           \
    int name##_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w);                             \
    casadi_int name##_n_in(void), name##_n_out(void);                                                                         \
    const char *name##_name_in(casadi_int i), *name##_name_out(casadi_int i);                                                 \
    const casadi_int *name##_sparsity_in(casadi_int i), *name##_sparsity_out(casadi_int i);
DECLARE(scaled)
DECLARE(jac_scaled)
DECLARE(jac_jac_scaled)

#define CHECK(what)                                                                                                            \
    do {                                                                                                                       \
        if (!(what)) {                                                                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                                         \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

/* Memory of exactly the size that is asked for, so that sanitizers see what is beyond. */
static double *memory(int (*work)(casadi_int *, casadi_int *, casadi_int *, casadi_int *)) {
    casadi_int sizes[4];
    CHECK(work(&sizes[0], &sizes[1], &sizes[2], &sizes[3]) == 0 && work(NULL, NULL, NULL, NULL) == 0);
    return malloc(sizeof(double) * (size_t)(sizes[3] > 0 ? sizes[3] : 1));
}

static void same(const casadi_int *known, const casadi_int *found, size_t n) {
    for (size_t k = 0; k < n; k++) CHECK(known[k] == found[k]);
}

int main(void) {
    const double a[6] = {1, 2, 3, 4, 5, 6}, s = 3;
    const double *arg[16] = {a, &s};
    double y[6], squares, *res[16] = {y, &squares};
    double *w = memory(scaled_work);
    CHECK(scaled_n_in() == 2 && scaled_n_out() == 2 && !strcmp(scaled_name_in(1), "s") && !scaled_name_in(2));
    same((casadi_int[]){2, 3, 1}, scaled_sparsity_in(0), 3);
    same((casadi_int[]){3, 2, 1}, scaled_sparsity_out(0), 3);
    same((casadi_int[]){1, 1, 1}, scaled_sparsity_out(1), 3);
    CHECK(scaled(arg, res, NULL, w, 0) == 0 && squares == 91);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) CHECK(y[i * 3 + j] == 3 * a[j * 2 + i]);
    /* Null stands for zeros, and for a result that nobody wants. */
    const double *none[2] = {NULL, &s};
    double *one[2] = {NULL, &squares};
    CHECK(scaled(none, one, NULL, w, 0) == 0 && squares == 0);
    free(w);

    /* Blocks of results by arguments: in the matrix and in the number. */
    w = memory(jac_scaled_work);
    CHECK(jac_scaled_n_in() == 4 && jac_scaled_n_out() == 4 && !strcmp(jac_scaled_name_out(2), "jac_y1_a"));
    CHECK(!strcmp(jac_scaled_name_in(2), "out_y0"));
    same((casadi_int[]){6, 6, 0, 1, 2, 3, 4, 5, 6, 0, 3, 1, 4, 2, 5}, jac_scaled_sparsity_out(0), 15);
    same((casadi_int[]){6, 1, 1}, jac_scaled_sparsity_out(1), 3);
    same((casadi_int[]){1, 6, 1}, jac_scaled_sparsity_out(2), 3);
    same((casadi_int[]){1, 1, 0, 0}, jac_scaled_sparsity_out(3), 4);
    double by_a[6], by_s[6], of_squares[6];
    double *blocks[4] = {by_a, by_s, of_squares, NULL};
    CHECK(jac_scaled(arg, blocks, NULL, w, 0) == 0);
    for (int k = 0; k < 6; k++) CHECK(by_a[k] == 3 && by_s[k] == y[k] / 3 && of_squares[k] == 2 * a[k]);
    free(w);

    /* The derivative of the third block in the matrix is 2 on the diagonal, and nothing moves with results. */
    w = memory(jac_jac_scaled_work);
    CHECK(jac_jac_scaled_n_in() == 8 && jac_jac_scaled_n_out() == 16);
    same((casadi_int[]){6, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5}, jac_jac_scaled_sparsity_out(8), 15);
    same((casadi_int[]){6, 1, 0, 0}, jac_jac_scaled_sparsity_out(9), 4);
    /* The element of a block in row r and column c is number r + 6 c of its 36. */
    same((casadi_int[]){36, 1, 0, 6, 0, 9, 13, 22, 26, 35}, jac_jac_scaled_sparsity_out(1), 10);
    double twice[6], ones[6];
    double *second[16] = {NULL, ones, NULL, NULL, NULL, NULL, NULL, NULL, twice};
    CHECK(jac_jac_scaled(arg, second, NULL, w, 0) == 0);
    for (int k = 0; k < 6; k++) CHECK(twice[k] == 2 && ones[k] == 1);
    free(w);
    puts("done");
    return 0;
}
