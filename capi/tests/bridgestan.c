/* BridgeStan's interface as its clients declare it, for the library of the example eight_schools. It prints `done`. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bs_model bs_model;
typedef struct bs_rng bs_rng;
extern const int bs_major_version, bs_minor_version, bs_patch_version;
bs_model *bs_model_construct(const char *data, unsigned int seed, char **error);
void bs_model_destruct(bs_model *m);
void bs_free_error_msg(char *error);
const char *bs_name(const bs_model *m);
const char *bs_model_info(const bs_model *m);
const char *bs_param_names(const bs_model *m, bool include_tp, bool include_gq);
const char *bs_param_unc_names(const bs_model *m);
int bs_param_num(const bs_model *m, bool include_tp, bool include_gq);
int bs_param_unc_num(const bs_model *m);
int bs_param_constrain(const bs_model *m, bool include_tp, bool include_gq, const double *theta_unc, double *theta,
                       bs_rng *rng, char **error);
int bs_param_unconstrain(const bs_model *m, const double *theta, double *theta_unc, char **error);
int bs_param_unconstrain_json(const bs_model *m, const char *json, double *theta_unc, char **error);
int bs_param_initialize(const bs_model *m, const char *json, bs_rng *rng, double radius, int tries, bool jacobian,
                        double *theta_unc, char **error);
int bs_log_density(const bs_model *m, bool propto, bool jacobian, const double *theta_unc, double *lp, char **error);
int bs_log_density_gradient(const bs_model *m, bool propto, bool jacobian, const double *theta_unc, double *val,
                            double *grad, char **error);
int bs_log_density_hessian(const bs_model *m, bool propto, bool jacobian, const double *theta_unc, double *val,
                           double *grad, double *hessian, char **error);
int bs_log_density_hessian_vector_product(const bs_model *m, bool propto, bool jacobian, const double *theta_unc,
                                          const double *vector, double *val, double *hvp, char **error);
bs_rng *bs_rng_construct(unsigned int seed, char **error);
void bs_rng_destruct(bs_rng *rng);
int bs_set_print_callback(void (*callback)(const char *data, size_t size), char **error);

#define CHECK(what)                                                                                                            \
    do {                                                                                                                       \
        if (!(what)) {                                                                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                                         \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

static void print(const char *data, size_t size) { fwrite(data, 1, size, stdout); }

int main(void) {
    char *error = NULL;
    double u[10], x[10], back[10], grad[10], hessian[100], hvp[10], lp, with, without;
    CHECK(bs_major_version == 2 && bs_minor_version == 9 && bs_patch_version == 0);
    CHECK(!bs_model_construct("{\"y\": [1], \"sigma\": [1, 2]}", 1, &error) && strstr(error, "one length"));
    bs_free_error_msg(error);
    bs_model *m = bs_model_construct(NULL, 1, &error);
    CHECK(m && !strcmp(bs_name(m), "eight_schools") && strstr(bs_model_info(m), "STAN_THREADS=true"));
    CHECK(!strncmp(bs_param_names(m, false, false), "mu,tau,eta.1", 12) && strstr(bs_param_unc_names(m), "eta.8"));
    CHECK(bs_param_num(m, false, false) == 10 && bs_param_unc_num(m) == 10);
    CHECK(bs_set_print_callback(print, &error) == 0);

    bs_rng *rng = bs_rng_construct(5, &error);
    CHECK(rng && bs_param_initialize(m, NULL, rng, 2.0, 100, true, u, &error) == 0);
    CHECK(bs_param_constrain(m, false, false, u, x, rng, &error) == 0 && x[1] == exp(u[1]));
    CHECK(bs_param_unconstrain(m, x, back, &error) == 0);
    for (int k = 0; k < 10; k++) CHECK(fabs(back[k] - u[k]) < 1e-14);
    CHECK(bs_param_unconstrain_json(m, "{\"mu\": 1}", back, &error) == -1 && strstr(error, "tau"));
    bs_free_error_msg(error);

    /* The flags are told apart: the logarithm of the Jacobian is that of tau. */
    CHECK(bs_log_density(m, true, true, u, &with, &error) == 0 && bs_log_density(m, true, false, u, &without, &error) == 0);
    CHECK(fabs(with - without - u[1]) < 1e-13 && with != without);
    CHECK(bs_log_density_gradient(m, false, true, u, &lp, grad, &error) == 0 && fabs(lp - with) < 1e-12);
    CHECK(bs_log_density_hessian(m, false, true, u, &lp, grad, hessian, &error) == 0 && fabs(lp - with) < 1e-12);
    CHECK(bs_log_density_hessian_vector_product(m, false, true, u, u, &lp, hvp, &error) == 0);
    for (int i = 0; i < 10; i++) {
        double sum = 0;
        for (int j = 0; j < 10; j++) sum += hessian[10 * i + j] * u[j];
        CHECK(fabs(sum - hvp[i]) < 1e-11 * (1 + fabs(sum)));
    }
    CHECK(bs_log_density(m, true, true, NULL, &lp, &error) == -1 && strstr(error, "theta_unc"));
    bs_free_error_msg(error);
    bs_rng_destruct(rng);
    bs_model_destruct(m);
    puts("done");
    return 0;
}
