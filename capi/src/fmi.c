/* ---- The functions of FMI 3.0 for Model Exchange, over what stands above. No header of FMI is needed. ---- */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define EXPORT __attribute__((visibility("default")))
#elif defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif
#ifdef FMI3_FUNCTION_PREFIX
#define PREFIXED(prefix, name) prefix##name
#define WITH_PREFIX(prefix, name) PREFIXED(prefix, name)
#define FMI(name) WITH_PREFIX(FMI3_FUNCTION_PREFIX, fmi3##name)
#else
#define FMI(name) fmi3##name
#endif

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;
typedef enum { INSTANTIATED = 1, INITIALIZATION = 2, EVENT = 4, CONTINUOUS = 8, TERMINATED = 16 } Mode;
typedef void Log(void *environment, Status status, const char *category, const char *message);
typedef uint32_t Reference;

/* What a saved instance has: its mode, and all inputs, with the time after them where the model does not take it. */
typedef struct {
    Mode mode;
    double inputs[INPUTS + 1];
} State;

typedef struct {
    State now;
    double outputs[OUTPUTS], other_inputs[INPUTS + 1], other_outputs[OUTPUTS], discarded[OUTPUTS];
    bool known, logging; /* whether `outputs` are those of the inputs, and whether `log` hears of errors */
    Memory memory;
    Log *log;
    void *environment;
} Model;

static Status said(const Model *m, Status status, const char *message) {
    if (m && m->log && m->logging) m->log(m->environment, status, status == ERROR ? "logStatusError" : "logStatusDiscard", message);
    return status;
}

#define NEEDS(fact, message) if (!(fact)) return said(m, ERROR, message)
#define IN(modes) NEEDS(m && (m->now.mode & (modes)), "the function must be called in another mode of the instance")
#define ALWAYS (INSTANTIATED | INITIALIZED)
#define INITIALIZED (INITIALIZATION | EVENT | CONTINUOUS | TERMINATED)
#define FUNCTION(name, parameters, modes, ...) EXPORT Status FMI(name) parameters { IN(modes); __VA_ARGS__; return OK; }

/* Moves the elements of variables, which must have one of these roles: from `inputs` and `outputs` to `out`, or from `in` to
 * them. Elements of a variable that is named twice are `added`. */
static Status moved(Model *m, const char *roles, const Reference *names, size_t n, double *inputs, double *outputs, double *out,
                    const double *in, bool added, size_t count) {
    size_t needed = 0, at = 0;
    NEEDS(!n || names, "the references must have an address, but it is null");
    for (size_t k = 0; k < n; needed += variables[names[k++]].size) {
        NEEDS(names[k] < VARIABLES, "references must be those of the description, but one is not");
        NEEDS(strchr(roles, variables[names[k]].role), "the variable must be one that the function takes in this mode, but it is not");
    }
    NEEDS(needed == count, "there must be a value for each element of the variables, but there is another number");
    NEEDS(!count || out || in, "the values must have an address, but it is null");
    for (size_t k = 0; k < n; k++) {
        const Variable *v = &variables[names[k]];
        double *side = v->role == 'd' || v->role == 'y' ? outputs : inputs;
        for (size_t j = v->start; j < v->start + v->size; j++, at++) {
            if (out) out[at] = side[j];
            else side[j] = added ? side[j] + in[at] : in[at];
        }
    }
    return OK;
}
/* The same for all variables of a role. */
static Status of_role(Model *m, char role, double *out, const double *in, size_t count) {
    Reference names[VARIABLES];
    size_t n = 0;
    for (Reference k = 0; k < VARIABLES; k++)
        if (variables[k].role == role) names[n++] = k;
    return moved(m, "xd", names, n, m->now.inputs, m->outputs, out, in, false, count);
}

static void compute(Model *m) {
    if (!m->known) VALUES(m->now.inputs, m->outputs, &m->memory);
    m->known = true;
}

static void reset(Model *m) {
    memset(&m->now, 0, sizeof m->now);
    memcpy(m->now.inputs, starts, sizeof starts);
    m->now.mode = INSTANTIATED, m->known = false;
}

EXPORT const char *FMI(GetVersion)(void) { return "3.0"; }

EXPORT void *FMI(InstantiateModelExchange)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                    void *environment, Log *log) {
    Model *m = token && !strcmp(token, TOKEN) ? calloc(1, sizeof(Model)) : NULL;
    if (!m && log && logging) log(environment, ERROR, "logStatusError", "the token must be that of the description, and there must be memory");
    if (m) m->log = log, m->logging = logging, m->environment = environment, reset(m);
    return m;
}
EXPORT void FMI(FreeInstance)(Model *m) { free(m); }
FUNCTION(Reset, (Model *m), ALWAYS, reset(m))
FUNCTION(SetDebugLogging, (Model *m, bool logging, size_t n, const char *const *categories), ALWAYS, m->logging = logging)

/* ---- Modes ---- */
FUNCTION(EnterInitializationMode, (Model *m, bool has_tolerance, double tolerance, double start, bool has_stop, double stop), INSTANTIATED,
         m->now.inputs[TIME] = start; m->known = false; m->now.mode = INITIALIZATION)
FUNCTION(ExitInitializationMode, (Model *m), INITIALIZATION, m->now.mode = EVENT)
FUNCTION(EnterContinuousTimeMode, (Model *m), EVENT, m->now.mode = CONTINUOUS)
FUNCTION(EnterEventMode, (Model *m), CONTINUOUS, m->now.mode = EVENT)
FUNCTION(Terminate, (Model *m), EVENT | CONTINUOUS, m->now.mode = TERMINATED)
FUNCTION(EnterConfigurationMode, (Model *m), 0, )
FUNCTION(ExitConfigurationMode, (Model *m), 0, )
FUNCTION(EvaluateDiscreteStates, (Model *m), INITIALIZATION | EVENT, )
FUNCTION(UpdateDiscreteStates, (Model *m, bool *again, bool *end, bool *nominals, bool *states, bool *has_next, double *next), EVENT,
         NEEDS(again && end && nominals && states && has_next && next, "results must have addresses");
         *again = *end = *nominals = *states = *has_next = false)
FUNCTION(CompletedIntegratorStep, (Model *m, bool is_final, bool *enter_event_mode, bool *end), CONTINUOUS,
         NEEDS(enter_event_mode && end, "results must have addresses"); *enter_event_mode = *end = false)

/* ---- Values ---- */
FUNCTION(GetFloat64, (Model *m, const Reference *names, size_t n, double *values, size_t count), ALWAYS, compute(m);
         return moved(m, "txpudy", names, n, m->now.inputs, m->outputs, values, NULL, false, count))
FUNCTION(SetFloat64, (Model *m, const Reference *names, size_t n, const double *values, size_t count), ALWAYS & ~TERMINATED, m->known = false;
         const char *roles = m->now.mode == CONTINUOUS ? "u" : m->now.mode == EVENT ? "pu" : "xpu";
         return moved(m, roles, names, n, m->now.inputs, NULL, NULL, values, false, count))
FUNCTION(SetTime, (Model *m, double time), EVENT | CONTINUOUS, m->now.inputs[TIME] = time; m->known = false)
FUNCTION(SetContinuousStates, (Model *m, const double *x, size_t n), CONTINUOUS, m->known = false; return of_role(m, 'x', NULL, x, n))
FUNCTION(GetContinuousStates, (Model *m, double *x, size_t n), INITIALIZED, return of_role(m, 'x', x, NULL, n))
FUNCTION(GetNumberOfContinuousStates, (Model *m, size_t *n), ALWAYS, NEEDS(n, "the result must have an address"); *n = STATES)
FUNCTION(GetNominalsOfContinuousStates, (Model *m, double *nominals, size_t n), INITIALIZED,
         NEEDS(n == STATES && (nominals || !n), "there must be a place for each state");
         for (size_t k = 0; k < n; k++) nominals[k] = 1)
FUNCTION(GetContinuousStateDerivatives, (Model *m, double *dx, size_t n), INITIALIZED, compute(m);
         Status status = of_role(m, 'd', dx, NULL, n); if (status != OK) return status;
         /* Of numbers that are not finite the difference is not 0: the step was too long. */
         for (size_t k = 0; k < n; k++) if (!(dx[k] - dx[k] == 0)) return said(m, DISCARD, "derivatives must be finite, but one is not"))
FUNCTION(GetNumberOfEventIndicators, (Model *m, size_t *n), ALWAYS, NEEDS(n, "the result must have an address"); *n = 0)
FUNCTION(GetEventIndicators, (Model *m, double *indicators, size_t n), INITIALIZED, NEEDS(!n, "the model has no event indicators"))

/* ---- Derivatives ---- */
#define DERIVATIVE(name, seed_roles, seed_names, products, wanted_roles, wanted_names)                                   \
    FUNCTION(name, (Model *m, const Reference *unknowns, size_t unknowns_count, const Reference *knowns, size_t knowns_count,     \
                    const double *seed, size_t seed_count, double *wanted, size_t wanted_count), INITIALIZED,                     \
             memset(m->other_inputs, 0, sizeof m->other_inputs); memset(m->other_outputs, 0, sizeof m->other_outputs);            \
             Status status = moved(m, seed_roles, seed_names, seed_names##_count, m->other_inputs, m->other_outputs, NULL, seed, true, seed_count); \
             if (status != OK) return status; products;                                                                           \
             return moved(m, wanted_roles, wanted_names, wanted_names##_count, m->other_inputs, m->other_outputs, wanted, NULL, false, wanted_count))
DERIVATIVE(GetDirectionalDerivative, "txpu", knowns,
           TANGENTS(m->now.inputs, m->other_inputs, m->discarded, m->other_outputs, &m->memory), "dy", unknowns)
DERIVATIVE(GetAdjointDerivative, "dy", unknowns,
           COTANGENTS(m->now.inputs, m->other_outputs, m->discarded, m->other_inputs, &m->memory), "txpu", knowns)

/* ---- Saved states ---- */
FUNCTION(GetFMUState, (Model *m, State **state), ALWAYS, NEEDS(state, "the result must have an address");
         NEEDS(*state || (*state = malloc(sizeof(State))), "there must be memory"); **state = m->now)
FUNCTION(SetFMUState, (Model *m, const State *state), ALWAYS, NEEDS(state, "the state must have an address"); m->now = *state; m->known = false)
FUNCTION(FreeFMUState, (Model *m, State **state), ALWAYS, if (state) free(*state), *state = NULL)
FUNCTION(SerializedFMUStateSize, (Model *m, const State *state, size_t *n), ALWAYS, NEEDS(n, "the result must have an address"); *n = sizeof(State))
FUNCTION(SerializeFMUState, (Model *m, const State *state, uint8_t *bytes, size_t n), ALWAYS,
         NEEDS(state && bytes && n == sizeof(State), "there must be a state, and as many bytes as it has"); memcpy(bytes, state, n))
FUNCTION(DeserializeFMUState, (Model *m, const uint8_t *bytes, size_t n, State **state), ALWAYS,
         NEEDS(state && bytes && n == sizeof(State), "there must be as many bytes as a state has, and an address for it");
         NEEDS(*state || (*state = malloc(sizeof(State))), "there must be memory"); memcpy(*state, bytes, n))

/* ---- What the model has not: other types, clocks, dependencies of elements, other kinds of simulation ---- */
#define NONE(name, ...) FUNCTION(name, (Model *m, const Reference *names, size_t n, __VA_ARGS__), ALWAYS, NEEDS(!n, "all variables have the type Float64"))
#define TYPE(name, type) NONE(Get##name, type *values, size_t count) NONE(Set##name, const type *values, size_t count)
TYPE(Float32, float) TYPE(Int8, int8_t) TYPE(UInt8, uint8_t) TYPE(Int16, int16_t) TYPE(UInt16, uint16_t) TYPE(Int32, int32_t)
TYPE(UInt32, uint32_t) TYPE(Int64, int64_t) TYPE(UInt64, uint64_t) TYPE(Boolean, bool) TYPE(String, const char *)
NONE(GetBinary, size_t *sizes, const uint8_t **values, size_t count) NONE(SetBinary, const size_t *sizes, const uint8_t **values, size_t count)
NONE(GetClock, bool *values) NONE(SetClock, const bool *values)
NONE(GetIntervalDecimal, double *intervals, int *qualifiers) NONE(SetIntervalDecimal, const double *intervals)
NONE(GetIntervalFraction, uint64_t *counters, uint64_t *resolutions, int *qualifiers)
NONE(SetIntervalFraction, const uint64_t *counters, const uint64_t *resolutions)
NONE(GetShiftDecimal, double *shifts) NONE(SetShiftDecimal, const double *shifts)
NONE(GetOutputDerivatives, const int32_t *orders, double *values, size_t count)
NONE(GetShiftFraction, uint64_t *counters, uint64_t *resolutions) NONE(SetShiftFraction, const uint64_t *counters, const uint64_t *resolutions)
FUNCTION(EnterStepMode, (Model *m), 0, )
FUNCTION(DoStep, (Model *m, double now, double step, bool no_set, bool *event, bool *end, bool *early, double *last), 0, )
FUNCTION(ActivateModelPartition, (Model *m, Reference clock, double time), 0, )
FUNCTION(GetNumberOfVariableDependencies, (Model *m, Reference name, size_t *n), 0, )
FUNCTION(GetVariableDependencies, (Model *m, Reference name, size_t *elements, Reference *others, size_t *other_elements, int *kinds, size_t n), 0, )
EXPORT void *FMI(InstantiateCoSimulation)(const char *name, const char *token, const char *resources, bool visible, bool logging, bool has_events,
                                   bool early_return, const Reference *required, size_t n, void *environment, Log *log, void *update) { return NULL; }
EXPORT void *FMI(InstantiateScheduledExecution)(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                         void *environment, Log *log, void *update, void *lock, void *unlock) { return NULL; }
