"""The models of `models.rs` in the language of Stan.

Parameters stand in the order of the structs of `models.rs`. `PROGRAMS` has, for each model, its program, and a function
that names the data which the example writes. Priors and transforms are those of the collection posteriordb; where the
example has its data in another form (tables in place of the columns that they are made of), the program takes that form.
"""

import numpy as np

LINE = """
data { int N; int K; matrix[N, K] x; vector[N] y; }
parameters { vector[K] beta; real<lower=0> sigma; }
model { %s y ~ normal(x * beta, sigma); }
"""


def table(a):
    return dict(N=len(a[1]), K=a[0].shape[1], x=a[0], y=a[1])


def centred(a):
    x, y = table(a)["x"], a[1]
    return dict(N=len(y), K=x.shape[1], x=x - x.mean(0), y=y)


EIGHT_SCHOOLS = """
data { int J; vector[J] y; vector[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] effects; }
transformed parameters { vector[J] theta = effects * tau + mu; }
model { effects ~ normal(0, 1); y ~ normal(theta, sigma); mu ~ normal(0, 5); tau ~ cauchy(0, 5); }
"""

NES_LOGIT = """
data { int N; matrix[N, 1] x; array[N] int vote; }
parameters { real alpha; vector[1] beta; }
model { vote ~ bernoulli_logit_glm(x, alpha, beta); }
"""

RADON = """
data { int N; int J; vector[N] u; vector[N] floor; array[N] int county; vector[N] y; }
parameters { vector[J] alpha_raw; real b_uranium; real b_floor; real mu; real<lower=0> tau; real<lower=0> sigma; }
transformed parameters { vector[J] alpha = mu + tau * alpha_raw; }
model {
  sigma ~ normal(0, 1); tau ~ normal(0, 1); mu ~ normal(0, 10); b_uranium ~ normal(0, 10); b_floor ~ normal(0, 10);
  alpha_raw ~ normal(0, 1);
  y ~ normal(alpha[county] + u * b_uranium + floor * b_floor, sigma);
}
"""

GARCH = """
data { int T; vector[T] y; }
parameters { real mu; real<lower=0> alpha0; real<lower=0, upper=1> alpha1; real<lower=0, upper=(1 - alpha1)> beta1; }
model {
  vector[T] sigma;
  sigma[1] = 0.5;
  for (t in 2:T) sigma[t] = sqrt(alpha0 + alpha1 * square(y[t - 1] - mu) + beta1 * square(sigma[t - 1]));
  y ~ normal(mu, sigma);
}
"""

ARMA = """
data { int T; vector[T] y; }
parameters { real mu; real phi; real theta; real<lower=0> sigma; }
model {
  vector[T] err;
  mu ~ normal(0, 10); phi ~ normal(0, 2); theta ~ normal(0, 2); sigma ~ cauchy(0, 2.5);
  err[1] = y[1] - (mu + phi * mu);
  for (t in 2:T) err[t] = y[t] - (mu + phi * y[t - 1] + theta * err[t - 1]);
  err ~ normal(0, sigma);
}
"""

HMM = """
data { int N; vector[N] y; }
parameters { simplex[2] theta1; simplex[2] theta2; positive_ordered[2] mu; }
transformed parameters { array[2] simplex[2] theta; theta[1] = theta1; theta[2] = theta2; }
model {
  array[2] real acc;
  array[N, 2] real gamma;
  target += normal_lpdf(mu[1] | 3, 1) + normal_lpdf(mu[2] | 10, 1);
  for (k in 1:2) gamma[1, k] = normal_lpdf(y[1] | mu[k], 1);
  for (t in 2:N) {
    for (k in 1:2) {
      for (j in 1:2) acc[j] = gamma[t - 1, j] + log(theta[j, k]) + normal_lpdf(y[t] | mu[k], 1);
      gamma[t, k] = log_sum_exp(acc);
    }
  }
  target += log_sum_exp(gamma[N]);
}
"""

MIXTURE = """
data { int N; vector[N] y; }
parameters { ordered[2] mu; array[2] real<lower=0> sigma; real<lower=0, upper=1> theta; }
model {
  sigma ~ normal(0, 2); mu ~ normal(0, 2); theta ~ beta(5, 5);
  for (n in 1:N) target += log_mix(theta, normal_lpdf(y[n] | mu[1], sigma[1]), normal_lpdf(y[n] | mu[2], sigma[2]));
}
"""

PROCESS = """
data { int N; array[N] real x; vector[N] y; }
parameters { real<lower=0> rho; real<lower=0> alpha; real<lower=0> sigma; }
model {
  matrix[N, N] cov = gp_exp_quad_cov(x, alpha, rho) + diag_matrix(rep_vector(sigma, N));
  rho ~ gamma(25, 4); alpha ~ normal(0, 2); sigma ~ normal(0, 1);
  y ~ multi_normal_cholesky(rep_vector(0, N), cholesky_decompose(cov));
}
"""

ITEMS = """
data { int I; int J; array[I, J] int y; }
parameters {
  vector[J] theta; real<lower=0> sigma_theta; vector<lower=0>[I] a; real<lower=0> sigma_a;
  vector[I] b; real mu_b; real<lower=0> sigma_b;
}
model {
  sigma_theta ~ cauchy(0, 2); theta ~ normal(0, sigma_theta);
  sigma_a ~ cauchy(0, 2); a ~ lognormal(0, sigma_a);
  mu_b ~ normal(0, 5); sigma_b ~ cauchy(0, 2); b ~ normal(mu_b, sigma_b);
  for (i in 1:I) y[i] ~ bernoulli_logit(a[i] * (theta - b[i]));
}
"""

RATS = """
data { int N; int T; vector[T] x; array[N] vector[T] y; }
parameters { vector[N] alpha; vector[N] beta; vector[2] mu; vector<lower=0>[3] sigma; }
model {
  mu ~ normal(0, 100); alpha ~ normal(mu[1], sigma[1]); beta ~ normal(mu[2], sigma[2]);
  for (n in 1:N) y[n] ~ normal(alpha[n] + beta[n] * x, sigma[3]);
}
"""

COUNTS = """
data { int n; matrix[n, 3] powers; array[n] int C; }
parameters { real<lower=-20, upper=20> alpha; vector<lower=-10, upper=10>[3] beta; real<lower=0, upper=5> sigma; vector[n] eps; }
model {
  alpha ~ uniform(-20, 20); beta ~ uniform(-10, 10); sigma ~ uniform(0, 5);
  eps ~ normal(0, sigma);
  C ~ poisson_log(alpha + powers * beta + eps);
}
"""

DIAMONDS = """
data { int N; int K; matrix[N, K] x; vector[N] y; }
parameters { vector[K] b; real Intercept; real<lower=0> sigma; }
model {
  b ~ normal(0, 1); Intercept ~ student_t(3, 8, 10); sigma ~ student_t(3, 0, 10);
  y ~ normal_id_glm(x, Intercept, b, sigma);
}
"""

DIAMONDS_REDUCED = DIAMONDS.replace("vector[K] b; real Intercept;", "real Intercept; vector[K] b;")

POOLED = """
data { int N; vector[N] floor; vector[N] y; }
parameters { real alpha; real beta; real<lower=0> sigma; }
model { sigma ~ normal(0, 1); alpha ~ normal(0, 10); beta ~ normal(0, 10); y ~ normal(alpha + beta * floor, sigma); }
"""

DRIVES = """
data { int N; array[N] real u; array[N] real v; }
parameters { simplex[2] theta1; simplex[2] theta2; positive_ordered[2] phi; positive_ordered[2] lambda; }
transformed parameters { array[2] simplex[2] theta; theta[1] = theta1; theta[2] = theta2; }
model {
  array[2] real acc;
  array[N, 2] real gamma;
  for (k in 1:2) target += dirichlet_lpdf(theta[k] | rep_vector(1, 2));
  target += normal_lpdf(phi[1] | 0, 1) + normal_lpdf(phi[2] | 3, 1);
  target += normal_lpdf(lambda[1] | 0, 1) + normal_lpdf(lambda[2] | 3, 1);
  for (k in 1:2) gamma[1, k] = exponential_lpdf(u[1] | phi[k]) + exponential_lpdf(v[1] | lambda[k]);
  for (t in 2:N) {
    for (k in 1:2) {
      for (j in 1:2) {
        acc[j] = gamma[t - 1, j] + log(theta[j, k]) + exponential_lpdf(u[t] | phi[k]) + exponential_lpdf(v[t] | lambda[k]);
      }
      gamma[t, k] = log_sum_exp(acc);
    }
  }
  target += log_sum_exp(gamma[N]);
}
"""

CURVE = """
functions {
  vector sd(real sdgp, real lscale, vector w) {
    real c = square(sdgp) * (sqrt(2 * pi()) * lscale);
    real h = -0.5 * square(lscale);
    vector[num_elements(w)] d;
    for (i in 1:num_elements(w)) d[i] = c * exp(h * square(w[i]));
    return sqrt(d);
  }
}
data { int N; int B; int C; vector[N] Y; matrix[N, B] X; vector[B] l; matrix[N, C] Z; vector[C] m; }
parameters {
  real Intercept; real<lower=0> sdgp_1; real<lower=0> lscale_1; vector[B] zgp_1;
  real<lower=0> sdgp_sigma_1; real<lower=0> lscale_sigma_1; vector[C] zgp_sigma_1; real Intercept_sigma;
}
model {
  vector[N] mu = Intercept + X * (sd(sdgp_1, lscale_1, l) .* zgp_1);
  vector[N] sigma = exp(Intercept_sigma + Z * (sd(sdgp_sigma_1, lscale_sigma_1, m) .* zgp_sigma_1));
  Intercept ~ student_t(3, -13, 36); sdgp_1 ~ student_t(3, 0, 36); zgp_1 ~ normal(0, 1);
  lscale_1 ~ inv_gamma(1.124909, 0.0177); lscale_sigma_1 ~ inv_gamma(1.124909, 0.0177);
  Intercept_sigma ~ student_t(3, 0, 10); sdgp_sigma_1 ~ student_t(3, 0, 36); zgp_sigma_1 ~ normal(0, 1);
  Y ~ normal(mu, sigma);
}
"""

# The tolerance is that of the example.
HARES = """
functions {
  array[] real dz_dt(real t, array[] real z, array[] real theta, array[] real x_r, array[] int x_i) {
    return {(theta[1] - theta[2] * z[2]) * z[1], (-theta[3] + theta[4] * z[1]) * z[2]};
  }
}
data { int N; array[N] real ts; array[2] real y_init; array[N, 2] real y; }
parameters { array[4] real<lower=0> theta; array[2] real<lower=0> z_init; array[2] real<lower=0> sigma; }
transformed parameters {
  array[N, 2] real z = integrate_ode_rk45(dz_dt, z_init, 0, ts, theta, rep_array(0.0, 0), rep_array(0, 0), 1e-8, 1e-8, 1e6);
}
model {
  theta[{1, 3}] ~ normal(1, 0.5); theta[{2, 4}] ~ normal(0.05, 0.05);
  sigma ~ lognormal(-1, 1); z_init ~ lognormal(log(10), 1);
  for (k in 1:2) { y_init[k] ~ lognormal(log(z_init[k]), sigma[k]); y[, k] ~ lognormal(log(z[, k]), sigma[k]); }
}
"""

TOPICS = """
data { int V; int M; int N; array[N] int doc; array[N] int w; }
parameters { array[M] simplex[2] theta; array[2] simplex[V] phi; }
model {
  for (m in 1:M) theta[m] ~ dirichlet(rep_vector(1, 2));
  for (k in 1:2) phi[k] ~ dirichlet(rep_vector(1, V));
  for (n in 1:N) {
    array[2] real gamma;
    for (k in 1:2) gamma[k] = log(theta[doc[n], k]) + log(phi[k, w[n]]);
    target += log_sum_exp(gamma);
  }
}
"""

DOGS = """
data { int J; int T; matrix[J, T] avoided; matrix[J, T] shocked; array[J, T] int y; }
parameters { vector[3] beta; }
model {
  beta ~ normal(0, 100);
  for (j in 1:J) for (t in 1:T) y[j, t] ~ bernoulli_logit(beta[1] + beta[2] * avoided[j, t] + beta[3] * shocked[j, t]);
}
"""

BONES = """
data { int C; int I; array[I] real delta; matrix[C, I] below; matrix[C, I] above; array[C, I] int known; }
parameters { array[C] real theta; }
model {
  theta ~ normal(0, 36);
  for (i in 1:C) for (j in 1:I) if (known[i, j]) {
    target += log(inv_logit(delta[j] * (theta[i] - below[i, j])) - inv_logit(delta[j] * (theta[i] - above[i, j])));
  }
}
"""

CAPTURES = """
data { int M; int T; array[M] int y; }
parameters { real<lower=0, upper=1> omega; real<lower=0, upper=1> mean_p; real<lower=0, upper=5> sigma; vector[M] eps_raw; }
transformed parameters { vector[M] eps = logit(mean_p) + sigma * eps_raw; }
model {
  eps_raw ~ normal(0, 1);
  for (i in 1:M) {
    if (y[i] > 0) {
      target += bernoulli_lpmf(1 | omega) + binomial_logit_lpmf(y[i] | T, eps[i]);
    } else {
      target += log_sum_exp(bernoulli_lpmf(1 | omega) + binomial_logit_lpmf(0 | T, eps[i]), bernoulli_lpmf(0 | omega));
    }
  }
}
"""

SERIES = lambda a: dict(N=len(a[0]), T=len(a[0]), y=a[0])

PROGRAMS = {
    "eight_schools_noncentered": (EIGHT_SCHOOLS, lambda a: dict(J=8, y=a[0], sigma=a[1])),
    "kidscore_momiq": (LINE % "sigma ~ cauchy(0, 2.5);", table),
    "earn_height": (LINE % "", table),
    "nes": (LINE % "", table),
    "nes_logit": (NES_LOGIT, lambda a: dict(N=len(a[1]), x=a[0], vote=a[1])),
    "radon_hierarchical_noncentered": (
        RADON,
        lambda a: dict(N=len(a[0]), J=386, u=a[0], floor=a[1], county=a[2] + 1, y=a[3]),
    ),
    "garch11": (GARCH, SERIES),
    "arma11": (ARMA, SERIES),
    "hmm_example": (HMM, SERIES),
    "low_dim_gauss_mix": (MIXTURE, SERIES),
    "gp_regr": (PROCESS, lambda a: dict(N=len(a[0]), x=a[0], y=a[1])),
    "irt_2pl": (ITEMS, lambda a: dict(I=a[0].shape[0], J=a[0].shape[1], y=a[0])),
    "rats": (RATS, lambda a: dict(N=len(a[1]), T=len(a[0]), x=a[0], y=a[1])),
    "GLMM_Poisson": (COUNTS, lambda a: dict(n=len(a[1]), powers=a[0], C=a[1])),
    "diamonds": (DIAMONDS, centred),
    # Its data are reduced: those of the model before are taken, without the intercept in the table.
    "diamonds, reduced": (DIAMONDS_REDUCED, centred),
    "mesquite": (LINE % "", table),
    "radon_pooled": (POOLED, lambda a: dict(N=len(a[0]), floor=a[0], y=a[1])),
    "hmm_drive_0": (DRIVES, lambda a: dict(N=len(a[0]), u=a[0], v=a[1])),
    "accel_gp": (
        CURVE,
        lambda a: dict(N=len(a[4]), B=len(a[1]), C=len(a[3]), X=a[0], l=a[1], Z=a[2], m=a[3], Y=a[4]),
    ),
    "lotka_volterra": (
        HARES,
        lambda a: dict(N=len(a[0]) - 1, ts=a[0][1:], y_init=a[1][0], y=a[1][1:]),
    ),
    "ldaK2": (TOPICS, lambda a: dict(V=5, M=3, N=len(a[0]), doc=a[0] + 1, w=a[1] + 1)),
    "dogs": (DOGS, lambda a: dict(J=30, T=25, avoided=a[0], shocked=a[1], y=a[2])),
    "bones": (
        BONES,
        lambda a: dict(C=13, I=34, delta=a[0], below=a[1], above=a[2], known=a[3]),
    ),
    "Mh": (CAPTURES, lambda a: dict(M=len(a[0]) + len(a[1]), T=5, y=np.concatenate(a))),
}
