// input f64[5,3] -0.382867148766769 0.9837549084000277 -1.2517438155744967 1.072227544934612 0.3372378158484627 -1.0439509249842558 -0.5015972714256735 -0.4590656767054133 -0.04951933794250218 -0.5361439659430923 -0.8272879008045365 -0.30458770251481737 -1.026889738609049 -1.289526572643077 -0.04817648250735862
// input i64[4] 1 4 1 0
// result f64[3] 0.7346982024934059 0.3687039674538761 -3.387822148050367
// result f64[5,3] -0.765734297533538 1.9675098168000553 -2.5034876311489933 4.288910179738448 1.3489512633938507 -4.175803699937023 0.0 0.0 0.0 0.0 0.0 0.0 -2.053779477218098 -2.579053145286154 -0.09635296501471724
module @jit_embedding attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x3xf64>, %arg1: tensor<4xi64>) -> (tensor<3xf64> {jax.result_info = "result[0]"}, tensor<5x3xf64> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<5> : tensor<i64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.add %arg1, %2 : tensor<4xi64>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4xi1>, tensor<4xi64>
    %5 = stablehlo.convert %4 : (tensor<4xi64>) -> tensor<4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<4x1xi32>) -> tensor<4x3xf64>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.compare LT, %arg1, %9, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %12 = stablehlo.add %arg1, %11 : tensor<4xi64>
    %13 = stablehlo.select %10, %12, %arg1 : tensor<4xi1>, tensor<4xi64>
    %14 = stablehlo.convert %13 : (tensor<4xi64>) -> tensor<4xi32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = "stablehlo.gather"(%arg0, %15) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<4x1xi32>) -> tensor<4x3xf64>
    %17 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %18 = stablehlo.multiply %17, %16 : tensor<4x3xf64>
    %19 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %20 = stablehlo.multiply %19, %18 : tensor<4x3xf64>
    %21 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %22 = "stablehlo.scatter"(%21, %15, %20) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %23 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %23 : tensor<f64>
    }) : (tensor<5x3xf64>, tensor<4x1xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
    return %8, %22 : tensor<3xf64>, tensor<5x3xf64>
  }
}
