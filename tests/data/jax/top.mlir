// input f64[2,6] 1.4983016830648794 -0.7798393641463933 0.38650199362583243 -0.22728300655720315 -0.7540218091263632 0.5876750425777528 -0.15498257307480726 0.6032105807136467 -0.047291507216996057 -1.0858162553014383 -0.10206924318890695 0.05195516951614051
// result f64[2,3] 1.4983016830648794 0.5876750425777528 0.38650199362583243 0.6032105807136467 0.05195516951614051 -0.047291507216996057
// result i32[2,3] 0 5 2 1 5 2
#loc1 = loc("x")
#loc2 = loc("export_goldens.py":94:11 to :26)
#loc3 = loc("export_goldens.py":268:15 to :72)
#loc4 = loc("export_goldens.py":279:0)
#loc5 = loc("top"(#loc2))
#loc6 = loc("main"(#loc3))
#loc7 = loc("<module>"(#loc4))
#loc8 = loc(callsite(#loc6 at #loc7))
#loc9 = loc(callsite(#loc5 at #loc8))
#loc11 = loc("jit(top)/top_k"(#loc9))
module @jit_top attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6xf64> loc("x")) -> (tensor<2x3xf64> {jax.result_info = "result[0]"}, tensor<2x3xi32> {jax.result_info = "result[1]"}) {
    %0:2 = stablehlo.composite "chlo.top_k" %arg0 {composite_attributes = {k = 3 : i64}, decomposition = @chlo.top_k.impl, version = 1 : i32} : (tensor<2x6xf64>) -> (tensor<2x3xf64>, tensor<2x3xi32>) loc(#loc11)
    return %0#0, %0#1 : tensor<2x3xf64>, tensor<2x3xi32> loc(#loc10)
  } loc(#loc)
  func.func private @chlo.top_k.impl(%arg0: tensor<2x6xf64> loc("jit(top)/top_k"(#loc9))) -> (tensor<2x3xf64>, tensor<2x3xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x6xi32> loc(#loc11)
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64> loc("jit(top)/top_k"(#loc9)), %arg2: tensor<f64> loc("jit(top)/top_k"(#loc9)), %arg3: tensor<i32> loc("jit(top)/top_k"(#loc9)), %arg4: tensor<i32> loc("jit(top)/top_k"(#loc9))):
      %4 = stablehlo.compare GT, %arg1, %arg2, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1> loc(#loc11)
      stablehlo.return %4 : tensor<i1> loc(#loc11)
    }) : (tensor<2x6xf64>, tensor<2x6xi32>) -> (tensor<2x6xf64>, tensor<2x6xi32>) loc(#loc11)
    %2 = stablehlo.slice %1#0 [0:2, 0:3] : (tensor<2x6xf64>) -> tensor<2x3xf64> loc(#loc11)
    %3 = stablehlo.slice %1#1 [0:2, 0:3] : (tensor<2x6xi32>) -> tensor<2x3xi32> loc(#loc11)
    return %2, %3 : tensor<2x3xf64>, tensor<2x3xi32> loc(#loc11)
  } loc(#loc11)
} loc(#loc)
#loc = loc(unknown)
#loc10 = loc("jit(top)"(#loc8))
