// input f64[4,3] -0.7432748910532813 -1.1294966463420033 0.37942788833458474 -0.8073674450444858 -0.7215147364602021 0.5833053986823111 -0.7555146309686842 0.43278009778072224 -0.9713851718820432 -1.2121385142152894 -1.8354492891909227 1.861202786911729
// result f64[4,3] -0.7432748910532813 -1.1294966463420033 0.37942788833458474 -1.550642336097767 -1.8510113828022055 0.9627332870168959 -2.3061569670664515 -1.4182312850214833 -0.008651884865147341 -3.518295481281741 -3.2536805742124058 1.8525509020465816
// result f64[4,3] -0.7432748910532813 0.8395264967548991 0.318539765864643 -0.8073674450444858 0.5825275093378189 0.3397914410777102 -0.7555146309686842 -0.32697169586539343 0.31761545698876836 -1.2121385142152894 2.224818774317394 4.140838903133071
// result f64[4,3] -0.7432748910532813 -1.1294966463420033 0.37942788833458474 -0.7432748910532813 -0.7215147364602021 0.5833053986823111 -0.7432748910532813 0.43278009778072224 0.5833053986823111 -0.7432748910532813 0.43278009778072224 1.861202786911729
#loc = loc(unknown)
#loc1 = loc("x")
#loc3 = loc("export_goldens.py":268:15 to :72)
#loc4 = loc("export_goldens.py":279:0)
#loc6 = loc("export_goldens.py":112:48 to :64)
#loc7 = loc("reduce_window_sum")
#loc9 = loc("reduce_window")
#loc11 = loc("reduce_window_max")
#loc13 = loc("main"(#loc3))
#loc14 = loc("<module>"(#loc4))
#loc16 = loc("cumulative"(#loc6))
#loc17 = loc("reduce_window_sum:"(#loc7))
#loc19 = loc("reduce_window:"(#loc9))
#loc20 = loc("reduce_window_max:"(#loc11))
#loc21 = loc(callsite(#loc13 at #loc14))
#loc25 = loc(callsite(#loc16 at #loc21))
#loc29 = loc("jit(cumulative)"(#loc25))
module @jit_cumulative attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf64> loc("x")) -> (tensor<4x3xf64> {jax.result_info = "result[0]"}, tensor<4x3xf64> {jax.result_info = "result[1]"}, tensor<4x3xf64> {jax.result_info = "result[2]"}) {
    %0 = call @cumsum(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64> loc(#loc27)
    %1 = call @cumprod(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64> loc(#loc28)
    %2 = call @cummax(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64> loc(#loc29)
    return %0, %1, %2 : tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64> loc(#loc26)
  } loc(#loc)
  func.func private @cumsum(%arg0: tensor<4x3xf64> loc(unknown)) -> tensor<4x3xf64> {
    %0 = call @cumsum_0(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64> loc(#loc)
    return %0 : tensor<4x3xf64> loc(#loc)
  } loc(#loc32)
  func.func private @cumsum_0(%arg0: tensor<4x3xf64> loc(unknown)) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64> loc(#loc7)
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64> loc(#loc7)
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%arg1: tensor<f64> loc("reduce_window_sum:"(#loc7)), %arg2: tensor<f64> loc("reduce_window_sum:"(#loc7))):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f64> loc(#loc7)
      stablehlo.return %2 : tensor<f64> loc(#loc7)
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64> loc(#loc7)
    return %1 : tensor<4x3xf64> loc(#loc)
  } loc(#loc)
  func.func private @cumprod(%arg0: tensor<4x3xf64> loc(unknown)) -> tensor<4x3xf64> {
    %0 = call @cumprod_1(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64> loc(#loc)
    return %0 : tensor<4x3xf64> loc(#loc)
  } loc(#loc33)
  func.func private @cumprod_1(%arg0: tensor<4x3xf64> loc(unknown)) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64> loc(#loc18)
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}> ({
    ^bb0(%arg1: tensor<f64> loc("reduce_window:"(#loc9)), %arg2: tensor<f64> loc("reduce_window:"(#loc9))):
      %1 = stablehlo.multiply %arg1, %arg2 : tensor<f64> loc(#loc10)
      stablehlo.return %1 : tensor<f64> loc(#loc9)
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64> loc(#loc9)
    return %0 : tensor<4x3xf64> loc(#loc)
  } loc(#loc)
  func.func private @cummax(%arg0: tensor<4x3xf64> loc("jit(cumulative)"(#loc25))) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64> loc(#loc22)
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64> loc(#loc22)
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%arg1: tensor<f64> loc("reduce_window_max:"(#loc11)), %arg2: tensor<f64> loc("reduce_window_max:"(#loc11))):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f64> loc(#loc22)
      stablehlo.return %2 : tensor<f64> loc(#loc22)
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64> loc(#loc22)
    return %1 : tensor<4x3xf64> loc(#loc29)
  } loc(#loc29)
} loc(#loc)
#loc2 = loc("export_goldens.py":112:11 to :27)
#loc5 = loc("export_goldens.py":112:29 to :46)
#loc8 = loc("cumprod")
#loc10 = loc("mul")
#loc12 = loc("cumulative"(#loc2))
#loc15 = loc("cumulative"(#loc5))
#loc18 = loc("cumprod:"(#loc8))
#loc22 = loc("reduce_window_max"(#loc16))
#loc23 = loc(callsite(#loc12 at #loc21))
#loc24 = loc(callsite(#loc15 at #loc21))
#loc26 = loc("jit(cumulative)"(#loc21))
#loc27 = loc("jit(cumulative)/jit(cumsum)"(#loc23))
#loc28 = loc("jit(cumulative)/jit(cumprod)"(#loc24))
#loc30 = loc("jit(cumulative)/jit"(#loc23))
#loc31 = loc("jit(cumulative)/jit"(#loc24))
#loc32 = loc("jit:"(#loc30))
#loc33 = loc("jit:"(#loc31))
