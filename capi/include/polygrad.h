/* polygrad in C: programs, their values and derivatives.
 *
 * A function is loaded from a saved program or from StableHLO. Its derivatives are functions again, and every call below
 * applies to them, too: the Hessian of a gradient's output is one more call.
 *
 *     pg_function *f, *slope;
 *     if (pg_function_from_stablehlo(text, strlen(text), &f) != PG_OK) return fail(pg_last_error());
 *     if (pg_function_value_and_grad(f, NULL, 0, &slope) != PG_OK) return fail(pg_last_error());
 *     if (pg_function_run_f64(slope, x, n, y, 1 + n) != PG_OK) return fail(pg_last_error());
 *     pg_function_free(slope);
 *     pg_function_free(f);
 *
 * Errors: each function returns PG_OK or a code; pg_last_error() has the text. Its other results are then unchanged, but
 * for places of pointers, which hold null. No call ends the process, and nothing is thrown.
 *
 * Threads: a function is not changed after it is made. Several threads may use one at once, and free it after the last use.
 * The text of an error belongs to the thread.
 *
 * Memory: what a call makes is freed by pg_function_free and pg_string_free. Both take null. A derivative does not need the
 * function that it was made from. What a pg_slot or pg_pattern points to lives as long as its function. Arrays are lent for
 * a call alone; nothing is copied in a run.
 *
 * Addresses are trusted: null and wrong alignment are errors, but other wrong addresses, and handles that were freed, are not
 * seen.
 */
#ifndef POLYGRAD_H
#define POLYGRAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The codes. */
typedef int32_t pg_status;
#define PG_OK 0
/* An argument is null, of a wrong length or type, not UTF-8, or out of range. */
#define PG_ARGUMENT 1
/* A text or a saved program is not read. */
#define PG_PROGRAM 2
/* The library refuses: a derivative that does not exist, an operation that is not written, a check that fails, no memory. */
#define PG_REFUSED 3

/* The element types. A program of StableHLO holds integers of all widths as i64, f16 and bf16 as f32, and complex numbers
 * as two inputs, their real and imaginary parts. */
#define PG_F64 0
#define PG_F32 1
#define PG_I64 2
/* Bytes that are 0 or 1. */
#define PG_BOOL 3

/* A function: a program with named inputs and outputs of fixed types and shapes. */
typedef struct pg_function pg_function;

/* Elements of the caller, row by row. */
typedef struct pg_array {
    int32_t type;
    /* The number of elements, not of bytes. */
    size_t size;
    /* The first element, aligned; null only without elements. */
    void *data;
} pg_array;

/* An input or output. */
typedef struct pg_slot {
    /* UTF-8; empty without a name. */
    const char *name;
    int32_t type;
    size_t rank;
    const size_t *shape;
    /* The number of elements, the product of the shape. */
    size_t size;
} pg_slot;

/* A sparse matrix in compressed rows: element k of row i lies in column column_indices[k], for
 * row_pointers[i] <= k < row_pointers[i + 1]. */
typedef struct pg_pattern {
    size_t rows;
    size_t columns;
    size_t nonzeros;
    const size_t *row_pointers;
    const size_t *column_indices;
} pg_pattern;

/* The text of the last error of this thread, empty before the first; it lives until the next error of the thread. */
const char *pg_last_error(void);

/* The version of the library. */
const char *pg_version(void);

void pg_string_free(char *text);
void pg_function_free(pg_function *function);

/* ---- Functions ---- */

/* Loads a saved program: JSON, as pg_function_save and the Rust library with serde_json write it. */
pg_status pg_function_load(const char *saved, size_t len, pg_function **out);

/* Reads a module of StableHLO as text: what `jax.export(..).mlir_module()` prints. All sizes must be known. */
pg_status pg_function_from_stablehlo(const char *module, size_t len, pg_function **out);

/* Writes a text that pg_function_load reads. The pattern of a sparse matrix is not part of it. */
pg_status pg_function_save(const pg_function *function, char **out);

pg_status pg_function_input_count(const pg_function *function, size_t *count_out);
pg_status pg_function_output_count(const pg_function *function, size_t *count_out);
pg_status pg_function_input(const pg_function *function, size_t position, pg_slot *out);
pg_status pg_function_output(const pg_function *function, size_t position, pg_slot *out);

/* ---- Runs ---- */

/* Writes the results, one array for each output, for one array for each input. Outputs overlap no other array. */
pg_status pg_function_run(const pg_function *function, const pg_array *inputs, size_t input_count,
                          const pg_array *outputs, size_t output_count);

/* The same where all elements have one type: those of all inputs one after the other, and those of all outputs. */
pg_status pg_function_run_f64(const pg_function *function, const double *inputs, size_t input_len,
                              double *outputs, size_t output_len);
pg_status pg_function_run_f32(const pg_function *function, const float *inputs, size_t input_len,
                              float *outputs, size_t output_len);

/* Writes bounds of the results that hold for all inputs from `lower` to `upper`. */
pg_status pg_function_bounds(const pg_function *function, const pg_array *lower, const pg_array *upper,
                             size_t input_count, const pg_array *lower_outputs, const pg_array *upper_outputs,
                             size_t output_count);

/* ---- Derivatives ----
 *
 * `wrt` has the positions of the inputs that are differentiated, in any order, each once; null and 0 stand for all inputs of
 * floats. A derivative takes the inputs of the function, in their order, and directions after them. In the table x stands for
 * an input in `wrt` and y for an output.
 *
 *                     directions          outputs
 *     grad                                dy/dx of one number y, for each x
 *     value_and_grad                      y, then dy/dx for each x
 *     jvp             x_dot for each x    each y, then each y_dot
 *     vjp             y_bar for each y    each y, then x_bar for each x
 *     hvp             v for each x        the Hessian of one number y times v, for each x
 *     jacobian                            one f64 matrix: rows are elements of all y, columns those of all x
 *     hessian                             one f64 matrix over the elements of all x, of one number y
 *     sparse_..                           one f64 vector: the elements of the matrix that may not be 0, see pg_function_pattern
 *
 * Of a sparse matrix, inputs of integers and truth values must be known before: pg_function_bind.
 */
pg_status pg_function_grad(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_value_and_grad(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_jvp(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_vjp(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_hvp(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_jacobian(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_hessian(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_sparse_jacobian(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);
pg_status pg_function_sparse_hessian(const pg_function *function, const size_t *wrt, size_t wrt_len, pg_function **out);

/* The positions of the elements of a function of sparse_jacobian or sparse_hessian. They hold for all inputs. */
pg_status pg_function_pattern(const pg_function *function, pg_pattern *out);

/* The function with an input that is known, which then is not an input: what depends on it alone is computed once. */
pg_status pg_function_bind(const pg_function *function, size_t position, const pg_array *known, pg_function **out);

/* ---- Texts ---- */

/* The program, optimized. */
pg_status pg_function_text(const pg_function *function, char **out);

/* How the function runs: modes of derivatives, passes, steps, memory. */
pg_status pg_function_explain(const pg_function *function, char **out);

/* The function as source code: a file of C with its header `function_name.h`, a module of Rust, a module of StableHLO. */
pg_status pg_function_to_c(const pg_function *function, const char *function_name, char **code, char **header);
pg_status pg_function_to_rust(const pg_function *function, const char *function_name, char **code);
pg_status pg_function_to_stablehlo(const pg_function *function, const char *function_name, char **module);

/* The function as a file of C for CasADi's `external`: `function_name`, with 1 derivative jac_.., with 2 jac_jac_.., too. All
 * elements must be f64, and all shapes of rank 2 or less. */
pg_status pg_function_to_casadi(const pg_function *function, const char *function_name, size_t derivatives, char **code);

/* The function as an FMU of FMI 3.0 for Model Exchange, with directional and adjoint derivatives: the texts of
 * modelDescription.xml, of sources/buildDescription.xml, and of the file of C sources/model_name.c. `roles` has a letter for
 * each input: t the time, x states, p parameters, u inputs. The first results are the derivatives of the states in their order,
 * and the others are outputs. `starts` has the start values of all inputs one after the other; null and 0 stand for zeros. All
 * elements must be f64. */
pg_status pg_function_to_fmi(const pg_function *function, const char *model_name, const char *roles, const double *starts,
                             size_t starts_len, char **description, char **build, char **code);

#ifdef __cplusplus
}
#endif

#endif
