// input f64[] 0.1
// input f64[12] -0.12443480624463125 -0.9763491371373664 0.11687559743629844 0.45151678053213146 -0.8291496178182481 -1.6462311414991517 -1.4367295145541013 0.665429284172329 -0.7583765163118437 -0.14134709237111392 0.21255868433783848 0.6191408790947098
// result f64[] -1.192086613092023
module @jit_kalman attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f64>, %arg1: tensor<12xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<12> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.iota dim = 0 : tensor<2x2xi64>
    %2 = stablehlo.iota dim = 1 : tensor<2x2xi64>
    %3 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
    %4 = stablehlo.add %1, %3 : tensor<2x2xi64>
    %5 = stablehlo.compare EQ, %4, %2, SIGNED : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi1>
    %6 = stablehlo.convert %5 : (tensor<2x2xi1>) -> tensor<2x2xf64>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<12xf64>
    %8:6 = stablehlo.while(%iterArg = %arg1, %iterArg_2 = %arg0, %iterArg_3 = %c_1, %iterArg_4 = %0, %iterArg_5 = %6, %iterArg_6 = %7) : tensor<12xf64>, tensor<f64>, tensor<i64>, tensor<2xf64>, tensor<2x2xf64>, tensor<12xf64>
    cond {
      %10 = stablehlo.compare LT, %iterArg_3, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_3) : (tensor<12xf64>, tensor<i64>) -> tensor<f64>
      %11:3 = func.call @closed_call(%iterArg_2, %iterArg_4, %iterArg_5, %10) : (tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, tensor<f64>) -> (tensor<2xf64>, tensor<2x2xf64>, tensor<f64>)
      %12 = func.call @dynamic_update_index_in_dim(%iterArg_6, %11#2, %iterArg_3) : (tensor<12xf64>, tensor<f64>, tensor<i64>) -> tensor<12xf64>
      %13 = stablehlo.add %iterArg_3, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_2, %13, %11#0, %11#1, %12 : tensor<12xf64>, tensor<f64>, tensor<i64>, tensor<2xf64>, tensor<2x2xf64>, tensor<12xf64>
    }
    %9 = stablehlo.reduce(%8#5 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<12xf64>, tensor<f64>) -> tensor<f64>
    return %9 : tensor<f64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<12xf64>, %arg1: tensor<i64>) -> tensor<f64> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<12xf64>, tensor<i64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<f64>, %arg1: tensor<2xf64>, %arg2: tensor<2x2xf64>, %arg3: tensor<f64>) -> (tensor<2xf64>, tensor<2x2xf64>, tensor<f64>) {
    %cst = stablehlo.constant dense<-5.000000e-01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<2x2xi64>
    %1 = stablehlo.iota dim = 1 : tensor<2x2xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
    %3 = stablehlo.add %0, %2 : tensor<2x2xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi1>
    %5 = stablehlo.convert %4 : (tensor<2x2xi1>) -> tensor<2x2xf64>
    %6 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %7 = stablehlo.multiply %6, %5 : tensor<2x2xf64>
    %8 = stablehlo.add %arg2, %7 : tensor<2x2xf64>
    %9 = stablehlo.slice %8 [0:1, 0:1] : (tensor<2x2xf64>) -> tensor<1x1xf64>
    %10 = stablehlo.reshape %9 : (tensor<1x1xf64>) -> tensor<f64>
    %11 = stablehlo.add %10, %cst_0 : tensor<f64>
    %12 = stablehlo.slice %8 [0:2, 0:1] : (tensor<2x2xf64>) -> tensor<2x1xf64>
    %13 = stablehlo.reshape %12 : (tensor<2x1xf64>) -> tensor<2xf64>
    %14 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %15 = stablehlo.divide %13, %14 : tensor<2xf64>
    %16 = stablehlo.slice %arg1 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %17 = stablehlo.reshape %16 : (tensor<1xf64>) -> tensor<f64>
    %18 = stablehlo.subtract %arg3, %17 : tensor<f64>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %20 = stablehlo.multiply %15, %19 : tensor<2xf64>
    %21 = stablehlo.add %arg1, %20 : tensor<2xf64>
    %22 = stablehlo.slice %8 [0:1, 0:2] : (tensor<2x2xf64>) -> tensor<1x2xf64>
    %23 = stablehlo.reshape %22 : (tensor<1x2xf64>) -> tensor<2xf64>
    %24 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<2xf64>) -> tensor<2x1xf64>
    %25 = stablehlo.broadcast_in_dim %23, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %26 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<2x1xf64>) -> tensor<2x2xf64>
    %27 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<1x2xf64>) -> tensor<2x2xf64>
    %28 = stablehlo.multiply %26, %27 : tensor<2x2xf64>
    %29 = stablehlo.subtract %8, %28 : tensor<2x2xf64>
    %30 = stablehlo.log %11 : tensor<f64>
    %31 = stablehlo.slice %21 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %32 = stablehlo.reshape %31 : (tensor<1xf64>) -> tensor<f64>
    %33 = stablehlo.subtract %arg3, %32 : tensor<f64>
    %34 = stablehlo.multiply %33, %33 : tensor<f64>
    %35 = stablehlo.divide %34, %11 : tensor<f64>
    %36 = stablehlo.add %30, %35 : tensor<f64>
    %37 = stablehlo.multiply %cst, %36 : tensor<f64>
    return %21, %29, %37 : tensor<2xf64>, tensor<2x2xf64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<12xf64>, %arg1: tensor<f64>, %arg2: tensor<i64>) -> tensor<12xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<12xf64>, tensor<1xf64>, tensor<i64>) -> tensor<12xf64>
    return %1 : tensor<12xf64>
  }
}
