/* A client in C: each call of the header, with results that are known. It prints the layout of the structs, and `done`. */
#include "polygrad.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                                            \
    do {                                                                                                                       \
        if (!(what)) {                                                                                                         \
            fprintf(stderr, "%s:%d: %s; the last error is: %s\n", __FILE__, __LINE__, #what, pg_last_error());                 \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

/* sum a * x^3 of two vectors of 3 numbers. */
static const char *CUBES =
    "func.func public @main(%x: tensor<3xf64>, %a: tensor<3xf64>) -> (tensor<f64>) {\n"
    "  %cst = stablehlo.constant dense<0.0> : tensor<f64>\n"
    "  %0 = stablehlo.multiply %x, %x : tensor<3xf64>\n"
    "  %1 = stablehlo.multiply %0, %x : tensor<3xf64>\n"
    "  %2 = stablehlo.multiply %1, %a : tensor<3xf64>\n"
    "  %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0]\n"
    "    : (tensor<3xf64>, tensor<f64>) -> tensor<f64>\n"
    "  return %3 : tensor<f64>\n"
    "}\n";

static double X[6] = {1, -2, 3, 1, 10, 100};

static void same(const double *y, const double *known, size_t n) {
    for (size_t k = 0; k < n; k++) CHECK(y[k] == known[k]);
}

static void layouts(void) {
    printf("pg_array %zu %zu %zu %zu\n", sizeof(pg_array), offsetof(pg_array, type), offsetof(pg_array, size),
           offsetof(pg_array, data));
    printf("pg_slot %zu %zu %zu %zu %zu %zu\n", sizeof(pg_slot), offsetof(pg_slot, name), offsetof(pg_slot, type),
           offsetof(pg_slot, rank), offsetof(pg_slot, shape), offsetof(pg_slot, size));
    printf("pg_pattern %zu %zu %zu %zu %zu %zu\n", sizeof(pg_pattern), offsetof(pg_pattern, rows),
           offsetof(pg_pattern, columns), offsetof(pg_pattern, nonzeros), offsetof(pg_pattern, row_pointers),
           offsetof(pg_pattern, column_indices));
    printf("codes %d %d %d %d types %d %d %d %d\n", PG_OK, PG_ARGUMENT, PG_PROGRAM, PG_REFUSED, PG_F64, PG_F32, PG_I64,
           PG_BOOL);
}

static void slots(const pg_function *f) {
    size_t n;
    pg_slot slot;
    CHECK(pg_function_input_count(f, &n) == PG_OK && n == 2);
    CHECK(pg_function_output_count(f, &n) == PG_OK && n == 1);
    CHECK(pg_function_input(f, 1, &slot) == PG_OK);
    CHECK(!strcmp(slot.name, "a") && slot.type == PG_F64 && slot.rank == 1 && slot.shape[0] == 3 && slot.size == 3);
    CHECK(pg_function_output(f, 0, &slot) == PG_OK && slot.rank == 0 && slot.size == 1);
    CHECK(pg_function_input(f, 2, &slot) == PG_ARGUMENT && strstr(pg_last_error(), "count from 0"));
}

static void derivatives(const pg_function *f) {
    const size_t first = 0;
    pg_function *g;
    double y[9], in[9];
    memcpy(in, X, sizeof X);

    CHECK(pg_function_run_f64(f, X, 6, y, 1) == PG_OK);
    same(y, (double[]){2621}, 1);
    CHECK(pg_function_grad(f, NULL, 0, &g) == PG_OK && pg_function_run_f64(g, X, 6, y, 6) == PG_OK);
    same(y, (double[]){3, 120, 2700, 1, -8, 27}, 6);
    pg_function_free(g);
    CHECK(pg_function_value_and_grad(f, &first, 1, &g) == PG_OK && pg_function_run_f64(g, X, 6, y, 4) == PG_OK);
    same(y, (double[]){2621, 3, 120, 2700}, 4);
    pg_function_free(g);
    in[6] = 1, in[7] = 1, in[8] = 2;
    CHECK(pg_function_jvp(f, &first, 1, &g) == PG_OK && pg_function_run_f64(g, in, 9, y, 2) == PG_OK);
    same(y, (double[]){2621, 3 + 120 + 5400}, 2);
    pg_function_free(g);
    in[6] = 2;
    CHECK(pg_function_vjp(f, &first, 1, &g) == PG_OK && pg_function_run_f64(g, in, 7, y, 4) == PG_OK);
    same(y, (double[]){2621, 6, 240, 5400}, 4);
    pg_function_free(g);
    in[6] = 1;
    CHECK(pg_function_hvp(f, &first, 1, &g) == PG_OK && pg_function_run_f64(g, in, 9, y, 3) == PG_OK);
    same(y, (double[]){6, -120, 3600}, 3);
    pg_function_free(g);
    CHECK(pg_function_jacobian(f, &first, 1, &g) == PG_OK && pg_function_run_f64(g, X, 6, y, 3) == PG_OK);
    same(y, (double[]){3, 120, 2700}, 3);
    pg_function_free(g);
    CHECK(pg_function_hessian(f, &first, 1, &g) == PG_OK && pg_function_run_f64(g, X, 6, y, 9) == PG_OK);
    same(y, (double[]){6, 0, 0, 0, -120, 0, 0, 0, 1800}, 9);
    pg_function_free(g);
}

static void sparse(const pg_function *f) {
    const size_t first = 0;
    pg_function *g;
    pg_pattern pattern;
    double y[3];
    CHECK(pg_function_sparse_hessian(f, &first, 1, &g) == PG_OK && pg_function_pattern(g, &pattern) == PG_OK);
    CHECK(pattern.rows == 3 && pattern.columns == 3 && pattern.nonzeros == 3);
    for (size_t k = 0; k < 3; k++) CHECK(pattern.column_indices[k] == k && pattern.row_pointers[k + 1] == k + 1);
    CHECK(pg_function_run_f64(g, X, 6, y, 3) == PG_OK);
    same(y, (double[]){6, -120, 1800}, 3);
    pg_function_free(g);
    CHECK(pg_function_sparse_jacobian(f, &first, 1, &g) == PG_OK && pg_function_pattern(g, &pattern) == PG_OK);
    CHECK(pattern.rows == 1 && pattern.nonzeros == 3);
    pg_function_free(g);
    CHECK(pg_function_pattern(f, &pattern) == PG_ARGUMENT);
}

static void arrays(const pg_function *f) {
    pg_function *g;
    double y = 0, low = 0, high = 0, upper[6];
    pg_array inputs[2] = {{PG_F64, 3, X}, {PG_F64, 3, X + 3}}, output = {PG_F64, 1, &y};
    CHECK(pg_function_run(f, inputs, 2, &output, 1) == PG_OK && y == 2621);
    CHECK(pg_function_bind(f, 1, &inputs[1], &g) == PG_OK);
    y = 0;
    CHECK(pg_function_run(g, inputs, 1, &output, 1) == PG_OK && y == 2621);
    pg_function_free(g);

    for (int k = 0; k < 6; k++) upper[k] = X[k] + (k < 3);
    pg_array most[2] = {{PG_F64, 3, upper}, {PG_F64, 3, upper + 3}};
    pg_array least = {PG_F64, 1, &low}, greatest = {PG_F64, 1, &high};
    CHECK(pg_function_bounds(f, inputs, most, 2, &least, &greatest, 1) == PG_OK);
    CHECK(low <= 2621 && low > 2620.9 && high >= 6398 && high < 6398.1);

    float small = 1;
    pg_array wrong = {PG_F32, 1, &small};
    CHECK(pg_function_run(f, inputs, 2, &wrong, 1) == PG_ARGUMENT && strstr(pg_last_error(), "must have elements f64"));
    CHECK(pg_function_run_f32(f, &small, 1, &small, 1) == PG_ARGUMENT);
    CHECK(pg_function_run(f, inputs, 2, inputs, 1) == PG_ARGUMENT);
}

static void texts(const pg_function *f) {
    char *text = NULL, *header = NULL;
    pg_function *again = NULL;
    double y = 0;
    CHECK(pg_function_save(f, &text) == PG_OK && pg_function_load(text, strlen(text), &again) == PG_OK);
    pg_string_free(text);
    CHECK(pg_function_run_f64(again, X, 6, &y, 1) == PG_OK && y == 2621);
    pg_function_free(again);
    CHECK(pg_function_text(f, &text) == PG_OK && strstr(text, "program(x: f64[3], a: f64[3])"));
    pg_string_free(text);
    CHECK(pg_function_explain(f, &text) == PG_OK && strlen(text) > 20);
    pg_string_free(text);
    CHECK(pg_function_to_c(f, "cubes", &text, &header) == PG_OK && strstr(header, "cubes("));
    pg_string_free(text);
    pg_string_free(header);
    CHECK(pg_function_to_rust(f, "cubes", &text) == PG_OK && strstr(text, "pub fn cubes("));
    pg_string_free(text);
    CHECK(pg_function_to_stablehlo(f, "cubes", &text) == PG_OK && strstr(text, "stablehlo"));
    pg_string_free(text);
}

static void *worker(void *function) {
    for (int k = 0; k < 500; k++) {
        double x[6] = {k, 0, 0, 2, 1, 1}, y[4];
        CHECK(pg_function_run_f64(function, x, 6, y, 4) == PG_OK);
        CHECK(y[0] == 2.0 * k * k * k && y[1] == 6.0 * k * k && y[2] == 0);
        CHECK(pg_function_run_f64(function, x, 5, y, 4) == PG_ARGUMENT && strstr(pg_last_error(), "there are 5"));
    }
    return NULL;
}

static void threads(const pg_function *f) {
    const size_t first = 0;
    pg_function *g;
    pthread_t all[4];
    CHECK(pg_function_value_and_grad(f, &first, 1, &g) == PG_OK);
    for (int k = 0; k < 4; k++) CHECK(pthread_create(&all[k], NULL, worker, g) == 0);
    for (int k = 0; k < 4; k++) CHECK(pthread_join(all[k], NULL) == 0);
    pg_function_free(g);
}

int main(void) {
    pg_function *f = NULL;
    CHECK(!strcmp(pg_last_error(), "") && strlen(pg_version()) > 0);
    CHECK(pg_function_from_stablehlo("nonsense", 8, &f) == PG_PROGRAM && !f && strstr(pg_last_error(), "line 1"));
    CHECK(pg_function_load("{}", 2, &f) == PG_PROGRAM && !f);
    CHECK(pg_function_from_stablehlo(CUBES, strlen(CUBES), &f) == PG_OK);
    layouts();
    slots(f);
    derivatives(f);
    sparse(f);
    arrays(f);
    texts(f);
    threads(f);
    pg_function_free(f);
    pg_function_free(NULL);
    pg_string_free(NULL);
    puts("done");
    return 0;
}
