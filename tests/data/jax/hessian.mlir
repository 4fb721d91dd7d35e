// input f64[4] -0.0658049060002071 -0.27391627217232034 -0.15986696597063635 -0.9751523227787462
// result f64[4,4] 116.76285165336344 26.32196240008284 0.0 0.0 26.32196240008284 355.98293538119134 109.56650886892814 0.0 0.0 109.56650886892814 622.7298652818863 63.94678638825454 0.0 0.0 63.94678638825454 200.0
module @jit_hessian attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf64>) -> (tensor<4x4xf64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+02> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi64>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %6 = stablehlo.slice %5 [0:4, 0:4] : (tensor<4x4xf64>) -> tensor<4x4xf64>
    %7 = stablehlo.convert %6 : tensor<4x4xf64>
    %8 = stablehlo.slice %arg0 [1:4] : (tensor<4xf64>) -> tensor<3xf64>
    %9 = stablehlo.slice %7 [0:4, 1:4] : (tensor<4x4xf64>) -> tensor<4x3xf64>
    %10 = stablehlo.slice %arg0 [0:3] : (tensor<4xf64>) -> tensor<3xf64>
    %11 = stablehlo.slice %7 [0:4, 0:3] : (tensor<4x4xf64>) -> tensor<4x3xf64>
    %12 = stablehlo.multiply %10, %10 : tensor<3xf64>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %14 = stablehlo.multiply %13, %10 : tensor<3xf64>
    %15 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<4x3xf64>
    %17 = stablehlo.multiply %11, %16 : tensor<4x3xf64>
    %18 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %19 = stablehlo.multiply %18, %10 : tensor<3xf64>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %21 = stablehlo.multiply %20, %11 : tensor<4x3xf64>
    %22 = stablehlo.subtract %8, %12 : tensor<3xf64>
    %23 = stablehlo.subtract %9, %17 : tensor<4x3xf64>
    %24 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %25 = stablehlo.multiply %24, %22 : tensor<3xf64>
    %26 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %27 = stablehlo.multiply %26, %23 : tensor<4x3xf64>
    %28 = stablehlo.slice %7 [0:4, 0:3] : (tensor<4x4xf64>) -> tensor<4x3xf64>
    %29 = stablehlo.negate %28 : tensor<4x3xf64>
    %30 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %31 = stablehlo.multiply %30, %29 : tensor<4x3xf64>
    %32 = stablehlo.iota dim = 0 : tensor<1x1xi64>
    %33 = stablehlo.iota dim = 1 : tensor<1x1xi64>
    %34 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<1x1xi64>
    %35 = stablehlo.add %32, %34 : tensor<1x1xi64>
    %36 = stablehlo.compare EQ, %35, %33, SIGNED : (tensor<1x1xi64>, tensor<1x1xi64>) -> tensor<1x1xi1>
    %37 = stablehlo.convert %36 : (tensor<1x1xi1>) -> tensor<1x1xf64>
    %38 = stablehlo.slice %37 [0:1, 0:1] : (tensor<1x1xf64>) -> tensor<1x1xf64>
    %39 = stablehlo.reshape %38 : (tensor<1x1xf64>) -> tensor<1xf64>
    %40 = stablehlo.convert %39 : tensor<1xf64>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<1xf64>) -> tensor<1x3xf64>
    %42 = stablehlo.broadcast_in_dim %31, dims = [0, 2] : (tensor<4x3xf64>) -> tensor<4x1x3xf64>
    %43 = stablehlo.broadcast_in_dim %41, dims = [1, 2] : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<1x1x3xf64>) -> tensor<4x1x3xf64>
    %45 = stablehlo.multiply %44, %42 : tensor<4x1x3xf64>
    %46 = stablehlo.negate %45 : tensor<4x1x3xf64>
    %47 = stablehlo.pad %46, %cst_0, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<4x1x3xf64>, tensor<f64>) -> tensor<4x1x4xf64>
    %48 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<1x3xf64>
    %49 = stablehlo.multiply %48, %41 : tensor<1x3xf64>
    %50 = stablehlo.broadcast_in_dim %25, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %51 = stablehlo.broadcast_in_dim %27, dims = [0, 2] : (tensor<4x3xf64>) -> tensor<4x1x3xf64>
    %52 = stablehlo.multiply %49, %50 : tensor<1x3xf64>
    %53 = stablehlo.broadcast_in_dim %49, dims = [1, 2] : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2] : (tensor<1x1x3xf64>) -> tensor<4x1x3xf64>
    %55 = stablehlo.multiply %54, %51 : tensor<4x1x3xf64>
    %56 = stablehlo.negate %52 : tensor<1x3xf64>
    %57 = stablehlo.negate %55 : tensor<4x1x3xf64>
    %58 = stablehlo.broadcast_in_dim %19, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %59 = stablehlo.broadcast_in_dim %21, dims = [0, 2] : (tensor<4x3xf64>) -> tensor<4x1x3xf64>
    %60 = stablehlo.broadcast_in_dim %58, dims = [1, 2] : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2] : (tensor<1x1x3xf64>) -> tensor<4x1x3xf64>
    %62 = stablehlo.multiply %57, %61 : tensor<4x1x3xf64>
    %63 = stablehlo.broadcast_in_dim %56, dims = [1, 2] : (tensor<1x3xf64>) -> tensor<1x1x3xf64>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2] : (tensor<1x1x3xf64>) -> tensor<4x1x3xf64>
    %65 = stablehlo.multiply %64, %59 : tensor<4x1x3xf64>
    %66 = stablehlo.add %62, %65 : tensor<4x1x3xf64>
    %67 = stablehlo.pad %66, %cst_0, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<4x1x3xf64>, tensor<f64>) -> tensor<4x1x4xf64>
    %68 = stablehlo.add %47, %67 : tensor<4x1x4xf64>
    %69 = stablehlo.pad %55, %cst_0, low = [0, 0, 1], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<4x1x3xf64>, tensor<f64>) -> tensor<4x1x4xf64>
    %70 = stablehlo.add %68, %69 : tensor<4x1x4xf64>
    %71 = stablehlo.slice %70 [0:4, 0:1, 0:4] : (tensor<4x1x4xf64>) -> tensor<4x1x4xf64>
    %72 = stablehlo.reshape %71 : (tensor<4x1x4xf64>) -> tensor<4x4xf64>
    %73 = stablehlo.transpose %72, dims = [1, 0] : (tensor<4x4xf64>) -> tensor<4x4xf64>
    %74 = stablehlo.slice %73 [0:4, 0:4] : (tensor<4x4xf64>) -> tensor<4x4xf64>
    return %74 : tensor<4x4xf64>
  }
}
