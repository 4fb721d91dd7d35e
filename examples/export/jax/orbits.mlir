// point 0.0 0.0 0.0 1.0 0.0 0.05 1.5 0.0 0.07500000000000001 2.2 0.0 0.11000000000000001 3.1 0.0 0.15500000000000003 0.0 0.0 0.0 0.0 1.0 0.0 0.0 0.8164965809277261 0.0 0.0 0.674199862463242 0.0 0.0 0.5679618342470648 0.0
// value 9.492870254716507
// slope -14.065236667142017 -5.965314660046715 -0.7032618332887068 0.15556081762652674 0.014293245773793206 0.0077780408813650625 -0.007059702718846048 0.013325577476122362 -0.0003529851359356524 0.009758547356836856 0.024708940541230878 0.00048792736784313576 13.906977004757378 5.912986896752702 0.6953488502378671 -32.42863289304635 -84.79563590772501 -1.6214316445533359 -0.008515788835717209 0.08282989071108804 -0.00042578944173684766 0.009504506729830582 -0.033635093314408206 0.00047522533650761834 0.018748349997872664 0.05669462830606723 0.0009374174998962465 32.4088958232771 84.68974648493311 1.6204447911638507
module @jit_orbits attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<30xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1000> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst_2 = stablehlo.constant dense<[1.000000e+00, 1.000000e-03, 3.000000e-04, 1.000000e-04, 5.000000e-05]> : tensor<5xf64>
    %0 = stablehlo.slice %arg0 [0:15] : (tensor<30xf64>) -> tensor<15xf64>
    %1 = stablehlo.reshape %0 : (tensor<15xf64>) -> tensor<5x3xf64>
    %2 = stablehlo.slice %arg0 [15:30] : (tensor<30xf64>) -> tensor<15xf64>
    %3 = stablehlo.reshape %2 : (tensor<15xf64>) -> tensor<5x3xf64>
    %4:4 = stablehlo.while(%iterArg = %cst_2, %iterArg_3 = %c_1, %iterArg_4 = %1, %iterArg_5 = %3) : tensor<5xf64>, tensor<i64>, tensor<5x3xf64>, tensor<5x3xf64>
    cond {
      %12 = stablehlo.compare LT, %iterArg_3, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      %12:2 = func.call @closed_call(%iterArg, %iterArg_4, %iterArg_5) : (tensor<5xf64>, tensor<5x3xf64>, tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<5x3xf64>)
      %13 = stablehlo.add %iterArg_3, %c : tensor<i64>
      stablehlo.return %iterArg, %13, %12#0, %12#1 : tensor<5xf64>, tensor<i64>, tensor<5x3xf64>, tensor<5x3xf64>
    }
    %5 = stablehlo.slice %4#2 [4:5, 0:3] : (tensor<5x3xf64>) -> tensor<1x3xf64>
    %6 = stablehlo.reshape %5 : (tensor<1x3xf64>) -> tensor<3xf64>
    %7 = stablehlo.slice %4#2 [0:1, 0:3] : (tensor<5x3xf64>) -> tensor<1x3xf64>
    %8 = stablehlo.reshape %7 : (tensor<1x3xf64>) -> tensor<3xf64>
    %9 = stablehlo.subtract %6, %8 : tensor<3xf64>
    %10 = stablehlo.multiply %9, %9 : tensor<3xf64>
    %11 = stablehlo.reduce(%10 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    return %11 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<5xf64>, %arg1: tensor<5x3xf64>, %arg2: tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<5x3xf64>) {
    %cst = stablehlo.constant dense<1.000000e-02> : tensor<f64>
    %cst_0 = stablehlo.constant dense<5.000000e-03> : tensor<f64>
    %cst_1 = stablehlo.constant dense<1.000000e-04> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<5x3xf64>) -> tensor<1x5x3xf64>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<5x3xf64>) -> tensor<5x1x3xf64>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<1x5x3xf64>) -> tensor<5x5x3xf64>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<5x1x3xf64>) -> tensor<5x5x3xf64>
    %4 = stablehlo.subtract %2, %3 : tensor<5x5x3xf64>
    %5 = stablehlo.multiply %4, %4 : tensor<5x5x3xf64>
    %6 = stablehlo.reduce(%5 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<5x5x3xf64>, tensor<f64>) -> tensor<5x5xf64>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<5x5xf64>
    %8 = stablehlo.add %6, %7 : tensor<5x5xf64>
    %9 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<5xf64>) -> tensor<1x5x1xf64>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x5x1xf64>) -> tensor<5x5x3xf64>
    %11 = stablehlo.multiply %10, %4 : tensor<5x5x3xf64>
    %12 = stablehlo.sqrt %8 : tensor<5x5xf64>
    %13 = stablehlo.multiply %8, %12 : tensor<5x5xf64>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<5x5xf64>) -> tensor<5x5x1xf64>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<5x5x1xf64>) -> tensor<5x5x3xf64>
    %16 = stablehlo.divide %11, %15 : tensor<5x5x3xf64>
    %17 = stablehlo.reduce(%16 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<5x5x3xf64>, tensor<f64>) -> tensor<5x3xf64>
    %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %19 = stablehlo.multiply %18, %17 : tensor<5x3xf64>
    %20 = stablehlo.add %arg2, %19 : tensor<5x3xf64>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %22 = stablehlo.multiply %21, %20 : tensor<5x3xf64>
    %23 = stablehlo.add %arg1, %22 : tensor<5x3xf64>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1, 2] : (tensor<5x3xf64>) -> tensor<1x5x3xf64>
    %25 = stablehlo.broadcast_in_dim %23, dims = [0, 2] : (tensor<5x3xf64>) -> tensor<5x1x3xf64>
    %26 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x5x3xf64>) -> tensor<5x5x3xf64>
    %27 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<5x1x3xf64>) -> tensor<5x5x3xf64>
    %28 = stablehlo.subtract %26, %27 : tensor<5x5x3xf64>
    %29 = stablehlo.multiply %28, %28 : tensor<5x5x3xf64>
    %30 = stablehlo.reduce(%29 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<5x5x3xf64>, tensor<f64>) -> tensor<5x5xf64>
    %31 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<5x5xf64>
    %32 = stablehlo.add %30, %31 : tensor<5x5xf64>
    %33 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<5xf64>) -> tensor<1x5x1xf64>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<1x5x1xf64>) -> tensor<5x5x3xf64>
    %35 = stablehlo.multiply %34, %28 : tensor<5x5x3xf64>
    %36 = stablehlo.sqrt %32 : tensor<5x5xf64>
    %37 = stablehlo.multiply %32, %36 : tensor<5x5xf64>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1] : (tensor<5x5xf64>) -> tensor<5x5x1xf64>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2] : (tensor<5x5x1xf64>) -> tensor<5x5x3xf64>
    %40 = stablehlo.divide %35, %39 : tensor<5x5x3xf64>
    %41 = stablehlo.reduce(%40 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<5x5x3xf64>, tensor<f64>) -> tensor<5x3xf64>
    %42 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<5x3xf64>
    %43 = stablehlo.multiply %42, %41 : tensor<5x3xf64>
    %44 = stablehlo.add %20, %43 : tensor<5x3xf64>
    return %23, %44 : tensor<5x3xf64>, tensor<5x3xf64>
  }
}
