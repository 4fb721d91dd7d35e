/* A simulator's side of what pg_function_to_fmi writes: the calls of FMI 3.0 as this file declares them. The model has the time t,
 * states x of two elements, a parameter k, an input u, x' = (x1, u cos t - sin(k x0)), and the output k (x0^2 + x1^2). It prints
 * `done`. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *fmi3Instance, *fmi3FMUState;
typedef uint32_t Ref;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*Callback)(void *environment, fmi3Status status, const char *category, const char *message);

const char *fmi3GetVersion(void);
fmi3Instance fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                          void *environment, Callback log);
fmi3Instance fmi3InstantiateCoSimulation(const char *, const char *, const char *, bool, bool, bool, bool, const Ref *, size_t,
                                         void *, Callback, void *);
void fmi3FreeInstance(fmi3Instance m);
fmi3Status fmi3Reset(fmi3Instance m);
fmi3Status fmi3SetDebugLogging(fmi3Instance m, bool on, size_t n, const char *const *categories);
fmi3Status fmi3EnterInitializationMode(fmi3Instance m, bool, double, double start, bool, double);
fmi3Status fmi3ExitInitializationMode(fmi3Instance m);
fmi3Status fmi3EnterEventMode(fmi3Instance m);
fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance m);
fmi3Status fmi3EnterConfigurationMode(fmi3Instance m);
fmi3Status fmi3Terminate(fmi3Instance m);
fmi3Status fmi3UpdateDiscreteStates(fmi3Instance m, bool *, bool *, bool *, bool *, bool *, double *);
fmi3Status fmi3CompletedIntegratorStep(fmi3Instance m, bool, bool *, bool *);
fmi3Status fmi3GetFloat64(fmi3Instance m, const Ref *refs, size_t n, double *values, size_t count);
fmi3Status fmi3SetFloat64(fmi3Instance m, const Ref *refs, size_t n, const double *values, size_t count);
fmi3Status fmi3GetFloat32(fmi3Instance m, const Ref *refs, size_t n, float *values, size_t count);
fmi3Status fmi3SetTime(fmi3Instance m, double t);
fmi3Status fmi3SetContinuousStates(fmi3Instance m, const double *x, size_t n);
fmi3Status fmi3GetContinuousStates(fmi3Instance m, double *x, size_t n);
fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance m, double *dx, size_t n);
fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance m, double *x, size_t n);
fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance m, size_t *n);
fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance m, size_t *n);
fmi3Status fmi3GetEventIndicators(fmi3Instance m, double *z, size_t n);
fmi3Status fmi3GetDirectionalDerivative(fmi3Instance m, const Ref *unknowns, size_t, const Ref *knowns, size_t, const double *seed,
                                        size_t, double *sensitivity, size_t);
fmi3Status fmi3GetAdjointDerivative(fmi3Instance m, const Ref *unknowns, size_t, const Ref *knowns, size_t, const double *seed,
                                    size_t, double *sensitivity, size_t);
fmi3Status fmi3GetFMUState(fmi3Instance m, fmi3FMUState *state);
fmi3Status fmi3SetFMUState(fmi3Instance m, fmi3FMUState state);
fmi3Status fmi3FreeFMUState(fmi3Instance m, fmi3FMUState *state);
fmi3Status fmi3SerializedFMUStateSize(fmi3Instance m, fmi3FMUState state, size_t *n);
fmi3Status fmi3SerializeFMUState(fmi3Instance m, fmi3FMUState state, uint8_t *bytes, size_t n);
fmi3Status fmi3DeserializeFMUState(fmi3Instance m, const uint8_t *bytes, size_t n, fmi3FMUState *state);

#define CHECK(what)                                                                                                            \
    do {                                                                                                                       \
        if (!(what)) {                                                                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                                         \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)
/* An error that is said once, with these words. */
#define REFUSED(call, words)                                                                                                   \
    do {                                                                                                                       \
        said = 0;                                                                                                              \
        CHECK((call) == fmi3Error && said == 1 && strstr(last, words));                                                        \
    } while (0)

enum { T, X, K, U, DX, Y };
static int said;
static char last[256];

static void hear(void *environment, fmi3Status status, const char *category, const char *message) {
    CHECK(environment == &said && (status == fmi3Error || status == fmi3Discard) && !strncmp(category, "logStatus", 9));
    said++;
    snprintf(last, sizeof last, "%s", message);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-13 * (1 + fabs(b)); }

/* All derivatives of the model by all variables t, x0, x1, k, u: those of x0', x1' and y. */
static void jacobian(double t, const double *x, double k, double u, double j[3][5]) {
    double c = cos(k * x[0]);
    double known[3][5] = {{0, 0, 1, 0, 0},
                          {-u * sin(t), -k * c, 0, -x[0] * c, cos(t)},
                          {0, 2 * k * x[0], 2 * k * x[1], x[0] * x[0] + x[1] * x[1], 0}};
    memcpy(j, known, sizeof known);
}

static void derivatives(fmi3Instance m, double t, const double *x, double k, double u) {
    const Ref knowns[] = {T, X, K, U}, unknowns[] = {DX, Y}, backwards[] = {U, X}, y[] = {Y}, twice[] = {K, K}, dx[] = {DX};
    const double seed[5] = {0.3, -1.5, 0.7, 2, -0.4}, bar[3] = {1.25, -0.5, 0.8};
    double j[3][5], forward[3], reverse[5], s[3], inner = 0;
    jacobian(t, x, k, u, j);
    CHECK(fmi3GetDirectionalDerivative(m, unknowns, 2, knowns, 4, seed, 5, forward, 3) == fmi3OK);
    CHECK(fmi3GetAdjointDerivative(m, unknowns, 2, knowns, 4, bar, 3, reverse, 5) == fmi3OK);
    for (int r = 0; r < 3; r++) {
        double sum = 0;
        for (int c = 0; c < 5; c++) sum += j[r][c] * seed[c];
        CHECK(near(forward[r], sum));
        inner += forward[r] * bar[r];
    }
    for (int c = 0; c < 5; c++) {
        CHECK(near(reverse[c], j[0][c] * bar[0] + j[1][c] * bar[1] + j[2][c] * bar[2]));
        inner -= reverse[c] * seed[c];
    }
    CHECK(fabs(inner) < 1e-13);
    /* Some variables, in another order; what is not named does not move, and seeds of one variable are added. */
    CHECK(fmi3GetDirectionalDerivative(m, y, 1, backwards, 2, seed, 3, s, 1) == fmi3OK);
    CHECK(near(s[0], j[2][4] * seed[0] + j[2][1] * seed[1] + j[2][2] * seed[2]));
    CHECK(fmi3GetDirectionalDerivative(m, y, 1, twice, 2, seed, 2, s, 1) == fmi3OK && near(s[0], j[2][3] * (seed[0] + seed[1])));
    CHECK(fmi3GetAdjointDerivative(m, dx, 1, backwards, 2, bar, 2, s, 3) == fmi3OK && near(s[0], j[1][4] * bar[1]));
    CHECK(near(s[1], j[1][1] * bar[1]) && near(s[2], bar[0]));
    CHECK(fmi3GetDirectionalDerivative(m, unknowns, 2, knowns, 0, NULL, 0, forward, 3) == fmi3OK && forward[1] == 0);
    REFUSED(fmi3GetDirectionalDerivative(m, knowns, 1, knowns, 1, seed, 1, s, 1), "takes in this mode");
    REFUSED(fmi3GetAdjointDerivative(m, unknowns, 2, unknowns, 2, bar, 3, s, 3), "takes in this mode");
    REFUSED(fmi3GetDirectionalDerivative(m, unknowns, 2, knowns, 4, seed, 4, s, 3), "a value for each element");
    REFUSED(fmi3GetAdjointDerivative(m, unknowns, 2, knowns, 4, bar, 3, NULL, 5), "must have an address");
}

int main(int n, char **arguments) {
    const Ref all[] = {T, X, K, U, DX, Y}, x_ref[] = {X}, k_ref[] = {K}, u_ref[] = {U}, t_ref[] = {T}, none[] = {6}, *null = NULL;
    double v[8], x[2] = {1, 0.5}, dx[2], t = 0.25, k = 4, u = 2;
    bool a, b, c, d, e;
    size_t count;
    CHECK(n == 2 && !strcmp(fmi3GetVersion(), "3.0"));
    CHECK(!fmi3InstantiateModelExchange("m", "another", "", false, true, &said, hear) && said == 1 && strstr(last, "token"));
    CHECK(!fmi3InstantiateCoSimulation("m", arguments[1], "", false, true, false, false, NULL, 0, &said, hear, NULL));
    CHECK(fmi3Reset(NULL) == fmi3Error && fmi3GetFloat64(NULL, all, 1, v, 1) == fmi3Error);
    fmi3Instance m = fmi3InstantiateModelExchange("m", arguments[1], "", false, true, &said, hear);
    CHECK(m && fmi3GetFloat64(m, all, 6, v, 8) == fmi3OK && v[1] == 1 && v[2] == 0.5 && v[3] == 4 && v[4] == 2);

    /* Before the initialization. */
    REFUSED(fmi3SetContinuousStates(m, x, 2), "another mode");
    REFUSED(fmi3GetContinuousStateDerivatives(m, dx, 2), "another mode");
    REFUSED(fmi3EnterContinuousTimeMode(m), "another mode");
    REFUSED(fmi3SetTime(m, 1), "another mode");
    REFUSED(fmi3EnterConfigurationMode(m), "another mode");
    REFUSED(fmi3SetFloat64(m, t_ref, 1, &t, 1), "takes in this mode");
    REFUSED(fmi3SetFloat64(m, none, 1, &t, 1), "those of the description");
    REFUSED(fmi3SetFloat64(m, x_ref, 1, x, 1), "a value for each element");
    REFUSED(fmi3SetFloat64(m, null, 1, x, 2), "must have an address");
    REFUSED(fmi3SetFloat64(m, x_ref, 1, NULL, 2), "must have an address");
    REFUSED(fmi3GetFloat32(m, x_ref, 1, NULL, 2), "the type Float64");
    CHECK(fmi3GetFloat32(m, NULL, 0, NULL, 0) == fmi3OK && fmi3SetDebugLogging(m, false, 0, NULL) == fmi3OK);
    said = 0;
    CHECK(fmi3SetTime(m, 1) == fmi3Error && said == 0 && fmi3SetDebugLogging(m, true, 0, NULL) == fmi3OK);
    x[0] = 0.75;
    CHECK(fmi3SetFloat64(m, x_ref, 1, x, 2) == fmi3OK);
    CHECK(fmi3GetFloat64(m, (const Ref[]){DX}, 1, dx, 2) == fmi3OK);
    CHECK(fmi3EnterInitializationMode(m, false, 0, t, false, 0) == fmi3OK);
    CHECK(fmi3GetContinuousStateDerivatives(m, dx, 2) == fmi3OK && near(dx[1], u * cos(t) - sin(k * x[0])));
    k = 3;
    CHECK(fmi3SetFloat64(m, k_ref, 1, &k, 1) == fmi3OK && fmi3GetContinuousStateDerivatives(m, dx, 2) == fmi3OK);
    CHECK(dx[0] == 0.5 && near(dx[1], u * cos(t) - sin(k * x[0])));
    derivatives(m, t, x, k, u);
    CHECK(fmi3ExitInitializationMode(m) == fmi3OK);

    /* Events, and the continuous time. */
    CHECK(fmi3UpdateDiscreteStates(m, &a, &b, &c, &d, &e, v) == fmi3OK && !a && !b && !c && !d && !e);
    REFUSED(fmi3SetFloat64(m, x_ref, 1, x, 2), "takes in this mode");
    CHECK(fmi3EnterContinuousTimeMode(m) == fmi3OK && fmi3GetNumberOfContinuousStates(m, &count) == fmi3OK && count == 2);
    CHECK(fmi3GetNominalsOfContinuousStates(m, v, 2) == fmi3OK && v[0] == 1 && v[1] == 1);
    CHECK(fmi3GetNumberOfEventIndicators(m, &count) == fmi3OK && count == 0 && fmi3GetEventIndicators(m, NULL, 0) == fmi3OK);
    REFUSED(fmi3SetFloat64(m, k_ref, 1, &k, 1), "takes in this mode");
    REFUSED(fmi3SetContinuousStates(m, x, 3), "a value for each element");
    fmi3FMUState state = NULL, copy = NULL;
    CHECK(fmi3GetFMUState(m, &state) == fmi3OK && state);
    t = 1.5, u = -1, x[0] = -2, x[1] = 3;
    CHECK(fmi3SetTime(m, t) == fmi3OK && fmi3SetContinuousStates(m, x, 2) == fmi3OK && fmi3SetFloat64(m, u_ref, 1, &u, 1) == fmi3OK);
    CHECK(fmi3GetFloat64(m, all, 6, v, 8) == fmi3OK && v[0] == t && v[1] == -2 && v[4] == -1 && v[5] == 3);
    CHECK(near(v[6], u * cos(t) - sin(k * x[0])) && near(v[7], k * 13));
    derivatives(m, t, x, k, u);
    /* Each change is seen, of the time and of an input alone. */
    t = -0.5;
    CHECK(fmi3SetTime(m, t) == fmi3OK && fmi3GetContinuousStateDerivatives(m, dx, 2) == fmi3OK);
    CHECK(near(dx[1], u * cos(t) - sin(k * x[0])));
    u = 5;
    CHECK(fmi3SetFloat64(m, u_ref, 1, &u, 1) == fmi3OK && fmi3GetContinuousStateDerivatives(m, dx, 2) == fmi3OK);
    CHECK(near(dx[1], u * cos(t) - sin(k * x[0])));
    CHECK(fmi3CompletedIntegratorStep(m, true, &a, &b) == fmi3OK && !a && !b && fmi3GetContinuousStates(m, v, 2) == fmi3OK && v[1] == 3);
    /* A step into nowhere is discarded, and the next one is not. */
    x[0] = INFINITY, said = 0;
    CHECK(fmi3SetContinuousStates(m, x, 2) == fmi3OK && fmi3GetContinuousStateDerivatives(m, dx, 2) == fmi3Discard && said == 1);

    /* A saved state, as bytes, too. */
    CHECK(fmi3SerializedFMUStateSize(m, state, &count) == fmi3OK);
    uint8_t *bytes = malloc(count);
    CHECK(fmi3SerializeFMUState(m, state, bytes, count) == fmi3OK && fmi3DeserializeFMUState(m, bytes, count, &copy) == fmi3OK);
    REFUSED(fmi3DeserializeFMUState(m, bytes, count - 1, &copy), "as many bytes");
    REFUSED(fmi3SetFMUState(m, NULL), "must have an address");
    free(bytes);
    CHECK(fmi3EnterEventMode(m) == fmi3OK && fmi3SetFMUState(m, copy) == fmi3OK);
    CHECK(fmi3GetFloat64(m, all, 6, v, 8) == fmi3OK && v[0] == 0.25 && v[1] == 0.75 && v[4] == 2 && near(v[7], 3 * (0.75 * 0.75 + 0.25)));
    CHECK(fmi3FreeFMUState(m, &state) == fmi3OK && fmi3FreeFMUState(m, &copy) == fmi3OK && !state && !copy);
    CHECK(fmi3EnterEventMode(m) == fmi3OK && fmi3Terminate(m) == fmi3OK);
    REFUSED(fmi3SetFloat64(m, u_ref, 1, &u, 1), "another mode");
    REFUSED(fmi3EnterEventMode(m), "another mode");
    CHECK(fmi3Reset(m) == fmi3OK && fmi3GetFloat64(m, x_ref, 1, v, 2) == fmi3OK && v[0] == 1);
    fmi3FreeInstance(m);
    fmi3FreeInstance(NULL);
    puts("done");
    return 0;
}
