// point 0.1 0.3 -2.0
// value -2.0539124885541433
// slope 4.105045609691348 0.12108007692057211 2.295373203878096
module @jit_process attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<-5.000000e-01> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %0 = call @_linspace(%cst_2, %cst_3) : (tensor<f64>, tensor<f64>) -> tensor<10xf64>
    %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<10xf64>
    %2 = stablehlo.multiply %1, %0 : tensor<10xf64>
    %3 = stablehlo.sine %2 : tensor<10xf64>
    %4 = stablehlo.exponential %arg0 : tensor<3xf64>
    %5 = stablehlo.slice %4 [0:1] : (tensor<3xf64>) -> tensor<1xf64>
    %6 = stablehlo.reshape %5 : (tensor<1xf64>) -> tensor<f64>
    %7 = stablehlo.slice %4 [1:2] : (tensor<3xf64>) -> tensor<1xf64>
    %8 = stablehlo.reshape %7 : (tensor<1xf64>) -> tensor<f64>
    %9 = stablehlo.slice %4 [2:3] : (tensor<3xf64>) -> tensor<1xf64>
    %10 = stablehlo.reshape %9 : (tensor<1xf64>) -> tensor<f64>
    %11 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<10xf64>) -> tensor<10x1xf64>
    %12 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<10xf64>) -> tensor<1x10xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<10x1xf64>) -> tensor<10x10xf64>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<1x10xf64>) -> tensor<10x10xf64>
    %15 = stablehlo.subtract %13, %14 : tensor<10x10xf64>
    %16 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %17 = stablehlo.divide %15, %16 : tensor<10x10xf64>
    %18 = stablehlo.multiply %17, %17 : tensor<10x10xf64>
    %19 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %20 = stablehlo.multiply %19, %18 : tensor<10x10xf64>
    %21 = stablehlo.exponential %20 : tensor<10x10xf64>
    %22 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %23 = stablehlo.multiply %22, %21 : tensor<10x10xf64>
    %24 = stablehlo.iota dim = 0 : tensor<10x10xi64>
    %25 = stablehlo.iota dim = 1 : tensor<10x10xi64>
    %26 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<10x10xi64>
    %27 = stablehlo.add %24, %26 : tensor<10x10xi64>
    %28 = stablehlo.compare EQ, %27, %25, SIGNED : (tensor<10x10xi64>, tensor<10x10xi64>) -> tensor<10x10xi1>
    %29 = stablehlo.convert %28 : (tensor<10x10xi1>) -> tensor<10x10xf64>
    %30 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %31 = stablehlo.multiply %30, %29 : tensor<10x10xf64>
    %32 = stablehlo.add %23, %31 : tensor<10x10xf64>
    %33 = call @cholesky(%32) : (tensor<10x10xf64>) -> tensor<10x10xf64>
    %34 = call @_solve_triangular(%33, %3) : (tensor<10x10xf64>, tensor<10xf64>) -> tensor<10xf64>
    %35 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<10xf64>
    %36 = stablehlo.multiply %35, %34 : tensor<10xf64>
    %37 = stablehlo.dot_general %36, %34, contracting_dims = [0] x [0] : (tensor<10xf64>, tensor<10xf64>) -> tensor<f64>
    %38 = call @_diag(%33) : (tensor<10x10xf64>) -> tensor<10xf64>
    %39 = stablehlo.log %38 : tensor<10xf64>
    %40 = stablehlo.reduce(%39 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<10xf64>, tensor<f64>) -> tensor<f64>
    %41 = stablehlo.add %37, %40 : tensor<f64>
    return %41 : tensor<f64>
  }
  func.func private @_linspace(%arg0: tensor<f64>, %arg1: tensor<f64>) -> tensor<10xf64> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<9.000000e+00> : tensor<f64>
    %0 = stablehlo.convert %arg0 : tensor<f64>
    %1 = stablehlo.convert %arg1 : tensor<f64>
    %2 = stablehlo.iota dim = 0 : tensor<9xf64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<9xf64>
    %4 = stablehlo.divide %2, %3 : tensor<9xf64>
    %5 = stablehlo.reshape %0 : (tensor<f64>) -> tensor<1xf64>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<9xf64>
    %7 = stablehlo.subtract %6, %4 : tensor<9xf64>
    %8 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xf64>) -> tensor<9xf64>
    %9 = stablehlo.multiply %8, %7 : tensor<9xf64>
    %10 = stablehlo.reshape %1 : (tensor<f64>) -> tensor<1xf64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<1xf64>) -> tensor<9xf64>
    %12 = stablehlo.multiply %11, %4 : tensor<9xf64>
    %13 = stablehlo.add %9, %12 : tensor<9xf64>
    %14 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %15 = stablehlo.concatenate %13, %14, dim = 0 : (tensor<9xf64>, tensor<1xf64>) -> tensor<10xf64>
    return %15 : tensor<10xf64>
  }
  func.func private @cholesky(%arg0: tensor<10x10xf64>) -> tensor<10x10xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<10x10xf64>) -> tensor<10x10xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<10x10xf64>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %3 = stablehlo.divide %1, %2 : tensor<10x10xf64>
    %4:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=10, j=10, k=10, l=10}, custom>} : (tensor<10x10xf64>) -> (tensor<10x10xf64>, tensor<i32>)
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<i32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<10x10xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<10x10xi1>, tensor<10x10xf64>
    %11 = stablehlo.iota dim = 0 : tensor<10x10xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<10x10xi64>
    %13 = stablehlo.add %11, %12 : tensor<10x10xi64>
    %14 = stablehlo.iota dim = 1 : tensor<10x10xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<10x10xi64>, tensor<10x10xi64>) -> tensor<10x10xi1>
    %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<10x10xf64>
    %17 = stablehlo.select %15, %10, %16 : tensor<10x10xi1>, tensor<10x10xf64>
    return %17 : tensor<10x10xf64>
  }
  func.func private @_solve_triangular(%arg0: tensor<10x10xf64>, %arg1: tensor<10xf64>) -> tensor<10xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<10xf64>) -> tensor<10x1xf64>
    %1 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %0) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m, n]) {i=10, j=10, k=10, l=1, m=10, n=1}, custom>} : (tensor<10x10xf64>, tensor<10x1xf64>) -> tensor<10x1xf64>
    %2 = stablehlo.reshape %1 : (tensor<10x1xf64>) -> tensor<10xf64>
    return %2 : tensor<10xf64>
  }
  func.func private @_diag(%arg0: tensor<10x10xf64>) -> tensor<10xf64> {
    %0 = call @diagonal(%arg0) : (tensor<10x10xf64>) -> tensor<10xf64>
    return %0 : tensor<10xf64>
  }
  func.func private @diagonal(%arg0: tensor<10x10xf64>) -> tensor<10xf64> {
    %c = stablehlo.constant dense<10> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = "stablehlo.case"(%c_1) ({
      stablehlo.return %c_0 : tensor<i32>
    }, {
      stablehlo.return %c_0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<10xi64>
      %3 = stablehlo.iota dim = 0 : tensor<10xi64>
      %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<10xi64>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<10xi64>, tensor<10xi64>) -> tensor<10xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<10xi64>
      %7 = stablehlo.add %2, %6 : tensor<10xi64>
      %8 = stablehlo.select %5, %7, %2 : tensor<10xi1>, tensor<10xi64>
      %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<10xi64>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<10xi64>, tensor<10xi64>) -> tensor<10xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<10xi64>
      %12 = stablehlo.add %3, %11 : tensor<10xi64>
      %13 = stablehlo.select %10, %12, %3 : tensor<10xi1>, tensor<10xi64>
      %14 = stablehlo.convert %8 : (tensor<10xi64>) -> tensor<10xi32>
      %15 = stablehlo.convert %13 : (tensor<10xi64>) -> tensor<10xi32>
      %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<10xi32>) -> tensor<10x1xi32>
      %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<10xi32>) -> tensor<10x1xi32>
      %18 = stablehlo.concatenate %16, %17, dim = 1 : (tensor<10x1xi32>, tensor<10x1xi32>) -> tensor<10x2xi32>
      %19 = "stablehlo.gather"(%arg0, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x10xf64>, tensor<10x2xi32>) -> tensor<10xf64>
      stablehlo.return %19 : tensor<10xf64>
    }) : (tensor<i32>) -> tensor<10xf64>
    return %1 : tensor<10xf64>
  }
}
