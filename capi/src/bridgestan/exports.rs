//! The macro that exports the interface from a shared library.
//!
//! Law: the names, arguments and types are those of BridgeStan 2.9. The code is in [`entry`](super::entry), which is compiled once.

/// Exports BridgeStan's interface of C, version 2.9, for a [`Model`](crate::bridgestan::Model).
///
/// A shared library has it once. Of Stan's compiler, library and toolchain nothing is needed: BridgeStan's clients load the
/// library as they load a compiled model.
///
/// ```
/// use polygrad::program::Term;
/// use polygrad::{Array, Tensor, tensor};
/// use polygrad_capi::bridgestan::{Model, ModelData};
/// struct Normal;
/// impl Model for Normal {
///     const NAME: &'static str = "normal";
///     type Data = ();
///     type Parameters = Tensor<Array, 0>;
///     fn data(_: &ModelData) -> Result<(), String> {
///         Ok(())
///     }
///     fn parameters(_: &()) -> Tensor<Array, 0> {
///         tensor(0.0)
///     }
///     fn log_density(x: &Tensor<Term, 0>, _: &()) -> Tensor<Term, 0> {
///         x.square() * -0.5
///     }
/// }
/// polygrad_capi::bridgestan!(Normal);
/// ```
#[macro_export]
macro_rules! bridgestan {
    ($Model:ty) => {
        $crate::bridgestan_exports! {
            $Model;
            bs_model_destruct = destruct(model: *mut StanModel);
            bs_free_error_msg = free_error_msg(error_msg: *mut c_char);
            bs_name = name(model: *const StanModel) -> *const c_char;
            bs_model_info = model_info(model: *const StanModel) -> *const c_char;
            bs_param_names = param_names(model: *const StanModel, include_tp: bool, include_gq: bool) -> *const c_char;
            bs_param_unc_names = param_unc_names(model: *const StanModel) -> *const c_char;
            bs_param_num = param_num(model: *const StanModel, include_tp: bool, include_gq: bool) -> c_int;
            bs_param_unc_num = param_unc_num(model: *const StanModel) -> c_int;
            bs_param_constrain = param_constrain(
                model: *const StanModel, include_tp: bool, include_gq: bool, theta_unc: *const c_double,
                theta: *mut c_double, rng: *mut ModelRng, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_param_unconstrain = param_unconstrain(
                model: *const StanModel, theta: *const c_double, theta_unc: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_param_unconstrain_json = param_unconstrain_json(
                model: *const StanModel, json: *const c_char, theta_unc: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_param_initialize = param_initialize(
                model: *const StanModel, json: *const c_char, rng: *mut ModelRng, init_radius: c_double,
                max_tries: c_int, jacobian: bool, theta_unc: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_log_density = log_density(
                model: *const StanModel, propto: bool, jacobian: bool, theta_unc: *const c_double,
                lp: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_log_density_gradient = log_density_gradient(
                model: *const StanModel, propto: bool, jacobian: bool, theta_unc: *const c_double,
                val: *mut c_double, grad: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_log_density_hessian = log_density_hessian(
                model: *const StanModel, propto: bool, jacobian: bool, theta_unc: *const c_double,
                val: *mut c_double, grad: *mut c_double, hessian: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_log_density_hessian_vector_product = log_density_hessian_vector_product(
                model: *const StanModel, propto: bool, jacobian: bool, theta_unc: *const c_double,
                vector: *const c_double, val: *mut c_double, hvp: *mut c_double, error_msg: *mut *mut c_char
            ) -> c_int;
            bs_rng_construct = rng_construct(seed: c_uint, error_msg: *mut *mut c_char) -> *mut ModelRng;
            bs_rng_destruct = rng_destruct(rng: *mut ModelRng);
            bs_set_print_callback = set_print_callback(callback: PrintCallback, error_msg: *mut *mut c_char) -> c_int;
        }
    };
}

/// Writes the functions of [`bridgestan!`](crate::bridgestan!), and what depends on the model.
#[doc(hidden)]
#[macro_export]
macro_rules! bridgestan_exports {
    ($Model:ty; $($name:ident = $entry:ident($($argument:ident: $Type:ty),*) $(-> $Result:ty)?;)*) => {
        #[allow(
            unsafe_code,
            missing_docs,
            non_upper_case_globals,
            unreachable_pub,
            clippy::missing_safety_doc,
            clippy::too_many_arguments
        )]
        const _: () = {
            #[allow(unused_imports, reason = "all names are there for the rows")]
            use ::std::ffi::{c_char, c_double, c_int, c_uint};
            use $crate::bridgestan::entry::{self, PrintCallback};
            use $crate::bridgestan::{ModelRng, StanModel};

            #[unsafe(no_mangle)]
            pub static bs_major_version: c_int = 2;
            #[unsafe(no_mangle)]
            pub static bs_minor_version: c_int = 9;
            #[unsafe(no_mangle)]
            pub static bs_patch_version: c_int = 0;

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn bs_model_construct(
                data: *const c_char,
                seed: c_uint,
                error_msg: *mut *mut c_char,
            ) -> *mut StanModel {
                // SAFETY: by the contract of the interface.
                unsafe { entry::construct::<$Model>(data, seed, error_msg) }
            }

            $(
                #[unsafe(no_mangle)]
                pub unsafe extern "C" fn $name($($argument: $Type),*) $(-> $Result)? {
                    // SAFETY: by the contract of the interface.
                    unsafe { entry::$entry($($argument),*) }
                }
            )*
        };
    };
}
