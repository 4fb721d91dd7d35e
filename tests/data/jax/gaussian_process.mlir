// input f64[] 0.3
// input f64[7] 1.0985867597569177 -0.5428919317301868 -0.051190412691676575 -0.7932964032030436 -0.6260730997201972 -1.2777251516511705 1.2570693137143927
// input f64[7] -0.15408757320601318 0.9659216187288089 0.01332459691325976 -0.6944035277028942 -0.3266852600022522 -0.5602310505028996 0.007959099184913658
// result f64[] 3.458577321676017
module @jit_gaussian_process attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f64>, %arg1: tensor<7xf64>, %arg2: tensor<7xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_1 = stablehlo.constant dense<1.000000e-01> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<7xf64>) -> tensor<7x1xf64>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<7xf64>) -> tensor<1x7xf64>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<7x1xf64>) -> tensor<7x7xf64>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x7xf64>) -> tensor<7x7xf64>
    %4 = stablehlo.subtract %2, %3 : tensor<7x7xf64>
    %5 = stablehlo.multiply %4, %4 : tensor<7x7xf64>
    %6 = stablehlo.negate %5 : tensor<7x7xf64>
    %7 = stablehlo.exponential %arg0 : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f64>) -> tensor<7x7xf64>
    %9 = stablehlo.divide %6, %8 : tensor<7x7xf64>
    %10 = stablehlo.exponential %9 : tensor<7x7xf64>
    %11 = stablehlo.iota dim = 0 : tensor<7x7xi64>
    %12 = stablehlo.iota dim = 1 : tensor<7x7xi64>
    %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<7x7xi64>
    %14 = stablehlo.add %11, %13 : tensor<7x7xi64>
    %15 = stablehlo.compare EQ, %14, %12, SIGNED : (tensor<7x7xi64>, tensor<7x7xi64>) -> tensor<7x7xi1>
    %16 = stablehlo.convert %15 : (tensor<7x7xi1>) -> tensor<7x7xf64>
    %17 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<7x7xf64>
    %18 = stablehlo.multiply %17, %16 : tensor<7x7xf64>
    %19 = stablehlo.add %10, %18 : tensor<7x7xf64>
    %20 = call @cholesky(%19) : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %21 = call @_solve_triangular(%20, %arg2) : (tensor<7x7xf64>, tensor<7xf64>) -> tensor<7xf64>
    %22 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<7xf64>
    %23 = stablehlo.multiply %22, %21 : tensor<7xf64>
    %24 = stablehlo.dot_general %23, %21, contracting_dims = [0] x [0] : (tensor<7xf64>, tensor<7xf64>) -> tensor<f64>
    %25 = call @_diag(%20) : (tensor<7x7xf64>) -> tensor<7xf64>
    %26 = stablehlo.log %25 : tensor<7xf64>
    %27 = stablehlo.reduce(%26 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<7xf64>, tensor<f64>) -> tensor<f64>
    %28 = stablehlo.add %24, %27 : tensor<f64>
    return %28 : tensor<f64>
  }
  func.func private @cholesky(%arg0: tensor<7x7xf64>) -> tensor<7x7xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<7x7xf64>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<7x7xf64>
    %3 = stablehlo.divide %1, %2 : tensor<7x7xf64>
    %4:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=7, j=7, k=7, l=7}, custom>} : (tensor<7x7xf64>) -> (tensor<7x7xf64>, tensor<i32>)
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<i32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<7x7xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<7x7xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<7x7xi1>, tensor<7x7xf64>
    %11 = stablehlo.iota dim = 0 : tensor<7x7xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<7x7xi64>
    %13 = stablehlo.add %11, %12 : tensor<7x7xi64>
    %14 = stablehlo.iota dim = 1 : tensor<7x7xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<7x7xi64>, tensor<7x7xi64>) -> tensor<7x7xi1>
    %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<7x7xf64>
    %17 = stablehlo.select %15, %10, %16 : tensor<7x7xi1>, tensor<7x7xf64>
    return %17 : tensor<7x7xf64>
  }
  func.func private @_solve_triangular(%arg0: tensor<7x7xf64>, %arg1: tensor<7xf64>) -> tensor<7xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<7xf64>) -> tensor<7x1xf64>
    %1 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %0) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=7, j=7, k=7, l=1, m=7, n=1}, custom>} : (tensor<7x7xf64>, tensor<7x1xf64>) -> tensor<7x1xf64>
    %2 = stablehlo.reshape %1 : (tensor<7x1xf64>) -> tensor<7xf64>
    return %2 : tensor<7xf64>
  }
  func.func private @_diag(%arg0: tensor<7x7xf64>) -> tensor<7xf64> {
    %0 = call @diagonal(%arg0) : (tensor<7x7xf64>) -> tensor<7xf64>
    return %0 : tensor<7xf64>
  }
  func.func private @diagonal(%arg0: tensor<7x7xf64>) -> tensor<7xf64> {
    %c = stablehlo.constant dense<7> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = "stablehlo.case"(%c_1) ({
      stablehlo.return %c_0 : tensor<i32>
    }, {
      stablehlo.return %c_0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<7xi64>
      %3 = stablehlo.iota dim = 0 : tensor<7xi64>
      %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<7xi64>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<7xi64>
      %7 = stablehlo.add %2, %6 : tensor<7xi64>
      %8 = stablehlo.select %5, %7, %2 : tensor<7xi1>, tensor<7xi64>
      %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<7xi64>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<7xi64>
      %12 = stablehlo.add %3, %11 : tensor<7xi64>
      %13 = stablehlo.select %10, %12, %3 : tensor<7xi1>, tensor<7xi64>
      %14 = stablehlo.convert %8 : (tensor<7xi64>) -> tensor<7xi32>
      %15 = stablehlo.convert %13 : (tensor<7xi64>) -> tensor<7xi32>
      %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
      %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
      %18 = stablehlo.concatenate %16, %17, dim = 1 : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x2xi32>
      %19 = "stablehlo.gather"(%arg0, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<7x7xf64>, tensor<7x2xi32>) -> tensor<7xf64>
      stablehlo.return %19 : tensor<7xf64>
    }) : (tensor<i32>) -> tensor<7xf64>
    return %1 : tensor<7xf64>
  }
}
