// point 0.1 0.05 0.02
// value -1278.3281913935512
// slope 4058.0739431904267 1019.4702736550881 252.74849284253364
module @jit_kalman attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<2000> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst_2 = stablehlo.constant dense<5.000000e-02> : tensor<f64>
    %cst_3 = stablehlo.constant dense<[[0.98999999999999999, 1.000000e-02, 0.000000e+00], [-2.000000e-02, 0.96999999999999997, 1.000000e-02], [0.000000e+00, -1.000000e-02, 0.94999999999999996]]> : tensor<3x3xf64>
    %cst_4 = stablehlo.constant dense<[1.000000e+00, 5.000000e-01, 2.500000e-01]> : tensor<3xf64>
    %0 = stablehlo.iota dim = 0 : tensor<2000xi64>
    %1 = stablehlo.convert %0 : (tensor<2000xi64>) -> tensor<2000xf64>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2000xf64>
    %3 = stablehlo.multiply %2, %1 : tensor<2000xf64>
    %4 = stablehlo.sine %3 : tensor<2000xf64>
    %5 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %8 = stablehlo.add %5, %7 : tensor<3x3xi64>
    %9 = stablehlo.compare EQ, %8, %6, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %10 = stablehlo.convert %9 : (tensor<3x3xi1>) -> tensor<3x3xf64>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %12:8 = stablehlo.while(%iterArg = %4, %iterArg_5 = %cst_3, %iterArg_6 = %arg0, %iterArg_7 = %cst_4, %iterArg_8 = %c_1, %iterArg_9 = %10, %iterArg_10 = %11, %iterArg_11 = %cst) : tensor<2000xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<i64>, tensor<3x3xf64>, tensor<3xf64>, tensor<f64>
    cond {
      %13 = stablehlo.compare LT, %iterArg_8, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %13 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_8) : (tensor<2000xf64>, tensor<i64>) -> tensor<f64>
      %14:3 = func.call @closed_call(%iterArg_5, %iterArg_6, %iterArg_7, %iterArg_9, %iterArg_10, %iterArg_11, %13) : (tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<f64>, tensor<f64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<f64>)
      %15 = stablehlo.add %iterArg_8, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_5, %iterArg_6, %iterArg_7, %15, %14#0, %14#1, %14#2 : tensor<2000xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<i64>, tensor<3x3xf64>, tensor<3xf64>, tensor<f64>
    }
    return %12#7 : tensor<f64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<2000xf64>, %arg1: tensor<i64>) -> tensor<f64> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<2000xf64>, tensor<i64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<3x3xf64>, %arg1: tensor<3xf64>, %arg2: tensor<3xf64>, %arg3: tensor<3x3xf64>, %arg4: tensor<3xf64>, %arg5: tensor<f64>, %arg6: tensor<f64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<f64>) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f64>
    %0 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x3xf64>) -> tensor<3x3xf64>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %3 = call @_diag(%arg1) : (tensor<3xf64>) -> tensor<3x3xf64>
    %4 = stablehlo.add %2, %3 : tensor<3x3xf64>
    %5 = stablehlo.dot_general %arg0, %arg4, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %6 = stablehlo.dot_general %arg2, %4, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3x3xf64>) -> tensor<3xf64>
    %7 = stablehlo.dot_general %6, %arg2, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
    %8 = stablehlo.add %7, %cst_0 : tensor<f64>
    %9 = stablehlo.dot_general %arg2, %5, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
    %10 = stablehlo.convert %arg6 : tensor<f64>
    %11 = stablehlo.subtract %10, %9 : tensor<f64>
    %12 = stablehlo.dot_general %4, %arg2, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %13 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %14 = stablehlo.divide %12, %13 : tensor<3xf64>
    %15 = stablehlo.dot_general %arg2, %4, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3x3xf64>) -> tensor<3xf64>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %17 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %18 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<3x1xf64>) -> tensor<3x3xf64>
    %19 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<3x3xf64>
    %20 = stablehlo.multiply %18, %19 : tensor<3x3xf64>
    %21 = stablehlo.subtract %4, %20 : tensor<3x3xf64>
    %22 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %23 = stablehlo.multiply %14, %22 : tensor<3xf64>
    %24 = stablehlo.add %5, %23 : tensor<3xf64>
    %25 = stablehlo.log %8 : tensor<f64>
    %26 = stablehlo.multiply %11, %11 : tensor<f64>
    %27 = stablehlo.divide %26, %8 : tensor<f64>
    %28 = stablehlo.add %25, %27 : tensor<f64>
    %29 = stablehlo.multiply %cst, %28 : tensor<f64>
    %30 = stablehlo.convert %arg5 : tensor<f64>
    %31 = stablehlo.add %30, %29 : tensor<f64>
    return %21, %24, %31 : tensor<3x3xf64>, tensor<3xf64>, tensor<f64>
  }
  func.func private @_diag(%arg0: tensor<3xf64>) -> tensor<3x3xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.pad %arg0, %cst, low = [0], high = [0], interior = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
    %1 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %2 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %4 = stablehlo.add %1, %3 : tensor<3x3xi64>
    %5 = stablehlo.compare EQ, %4, %2, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %6 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %7 = call @_where(%5, %6, %cst) : (tensor<3x3xi1>, tensor<3x1xf64>, tensor<f64>) -> tensor<3x3xf64>
    return %7 : tensor<3x3xf64>
  }
  func.func private @_where(%arg0: tensor<3x3xi1>, %arg1: tensor<3x1xf64>, %arg2: tensor<f64>) -> tensor<3x3xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<3x1xf64>) -> tensor<3x3xf64>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<3x3xi1>, tensor<3x3xf64>
    return %2 : tensor<3x3xf64>
  }
}
