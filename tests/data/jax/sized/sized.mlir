// run
// input f64[3] -0.5082223992805806 1.9242031323427422 1.7095908015936603
// input f64[4,3] 0.5659477888727499 0.6842898381472375 -2.0272608722430356 0.6377097934972082 -0.19410858722532306 0.43390570582822213 0.6824594118460978 -0.3412917681082754 -1.6904818001870843 0.36787456507423494 -0.7413836524403951 -0.3301940927243394
// input f64[2] -0.6045098440941945 -0.34157425525518803
// result f64[] 2.6458442548696492
// result f64[4] 0.37731782771964967 0.3681847982104113 1.0451596955637135 0.37350590217596213
// result f64[2] 1.761837581097318 0.9955145735395935
// run
// input f64[3] -2.3095209572659416 1.2169471272315173 0.253346102326474
// input f64[1,3] 1.111399262918864 1.9798418298099358 0.022593122562750742
// input f64[5] -1.8024362558405755 -0.8938868503795847 -1.2069044808967102 -0.501874643144999 0.07964797806597748
// result f64[] 2.426878524124104
// result f64[1] 0.8602262766133801
// result f64[5] 0.27137446382391045 0.1345834361436967 0.1817113117474868 0.0755621519201936 -0.011991784603907237
// run
// input f64[3] -2.002187267023239 0.34247549334155225 -1.5103566532858779
// input f64[7,3] 0.29736526280001135 -0.1094911451769814 -0.3136312391925775 -0.07304305594131319 -0.5397780157316924 -0.6124714434041737 -1.6827563908688876 -0.02962731484932925 1.8455337106233174 1.9804950628846045 1.3218175965449428 0.7058016008515581 -0.6764801240799883 1.4427507882162613 -0.056127554440968945 -0.06887550976307337 -0.29122713183926474 0.09196189901829563 -0.43521490158805637 -0.08378216937310629 -1.0845991087272615
// input f64[7] -0.3736637047405186 2.280556469949822 -0.0695940279619468 -0.23866056477176292 0.5323742791050526 0.708121821703462 -1.1137688591720734
// result f64[] 4.78537996594382
// result f64[7] 2.6807443084229536 0.9044824062735272 2.6090883096309545 0.3679570258308557 1.6762469072762147 2.0332361097858915 0.8539754019313083
// result f64[7] -0.714910914963363 4.363267536753755 -0.13315055643633184 -0.45661657945916245 1.018563425212123 1.354811861674106 -2.1309147879945707
module @jit_sized attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<?x3xf64>, %arg2: tensor<?xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<?xf64> {jax.result_info = "result[1]"}, tensor<?xf64> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.get_dimension_size %arg2, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<i64>
    %4 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'n'. Using the following polymorphic shapes specifications: args[1].shape = (n, 3),args[2].shape = (m,). Obtained dimension variables: 'n' = {0} from specification 'n' for dimension args[1].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
    %5 = stablehlo.compare GE, %3, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%5, %1, %3) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'm'. Using the following polymorphic shapes specifications: args[1].shape = (n, 3),args[2].shape = (m,). Obtained dimension variables: 'n' = {0} from specification 'n' for dimension args[1].shape[0] (= {0}), 'm' = {1} from specification 'm' for dimension args[2].shape[0] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
    %6:3 = call @_wrapped_jax_export_main(%3, %1, %arg0, %arg1, %arg2) : (tensor<i64>, tensor<i64>, tensor<3xf64>, tensor<?x3xf64>, tensor<?xf64>) -> (tensor<f64>, tensor<?xf64>, tensor<?xf64>)
    return %6#0, %6#1, %6#2 : tensor<f64>, tensor<?xf64>, tensor<?xf64>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<3xf64>, %arg3: tensor<?x3xf64>, %arg4: tensor<?xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<?xf64> {jax.result_info = "result[1]"}, tensor<?xf64> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<1> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<-1> : tensor<i64>
    %c_1 = stablehlo.constant dense<3> : tensor<1xi32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [1] x [0] : (tensor<?x3xf64>, tensor<3xf64>) -> tensor<?xf64>
    %1 = stablehlo.tanh %0 : tensor<?xf64>
    %2 = stablehlo.concatenate %1, %arg4, dim = 0 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    %3 = stablehlo.reduce(%2 init: %cst_2) applies stablehlo.maximum across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %4 = stablehlo.reduce(%arg3 init: %cst_2) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<?x3xf64>, tensor<f64>) -> tensor<f64>
    %5 = stablehlo.maximum %cst_2, %4 : tensor<f64>
    %6 = stablehlo.is_finite %5 : (tensor<f64>) -> tensor<i1>
    %7 = stablehlo.select %6, %5, %cst : tensor<i1>, tensor<f64>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f64>) -> tensor<1x1xf64>
    %9 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %10 = stablehlo.reshape %9 : (tensor<i32>) -> tensor<1xi32>
    %11 = stablehlo.concatenate %10, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %12 = stablehlo.dynamic_broadcast_in_dim %8, %11, dims = [0, 1] : (tensor<1x1xf64>, tensor<2xi32>) -> tensor<?x3xf64>
    %13 = stablehlo.subtract %arg3, %12 : tensor<?x3xf64>
    %14 = stablehlo.exponential %13 : tensor<?x3xf64>
    %15 = stablehlo.reduce(%14 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x3xf64>, tensor<f64>) -> tensor<f64>
    %16 = stablehlo.abs %15 : tensor<f64>
    %17 = stablehlo.log %16 : tensor<f64>
    %18 = stablehlo.add %17, %7 : tensor<f64>
    %19 = stablehlo.multiply %1, %1 : tensor<?xf64>
    %20 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %21 = stablehlo.reduce(%19 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %22 = stablehlo.divide %21, %20 : tensor<f64>
    %23 = stablehlo.multiply %22, %3 : tensor<f64>
    %24 = stablehlo.add %18, %23 : tensor<f64>
    %25 = stablehlo.exponential %1 : tensor<?xf64>
    %26 = stablehlo.convert %arg1 : tensor<i64>
    %27 = stablehlo.add %26, %c_0 : tensor<i64>
    %28 = stablehlo.convert %27 : tensor<i64>
    %29 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %30 = stablehlo.reshape %29 : (tensor<i32>) -> tensor<1xi32>
    %31 = stablehlo.dynamic_iota %30, dim = 0 : (tensor<1xi32>) -> tensor<?xi64>
    %32 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %33 = stablehlo.reshape %32 : (tensor<i32>) -> tensor<1xi32>
    %34 = stablehlo.dynamic_broadcast_in_dim %c_0, %33, dims = [] : (tensor<i64>, tensor<1xi32>) -> tensor<?xi64>
    %35 = stablehlo.multiply %34, %31 : tensor<?xi64>
    %36 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %37 = stablehlo.reshape %36 : (tensor<i32>) -> tensor<1xi32>
    %38 = stablehlo.dynamic_broadcast_in_dim %28, %37, dims = [] : (tensor<i64>, tensor<1xi32>) -> tensor<?xi64>
    %39 = stablehlo.add %38, %35 : tensor<?xi64>
    %40 = stablehlo.reverse %39, dims = [0] : tensor<?xi64>
    %41 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %42 = stablehlo.reshape %41 : (tensor<i32>) -> tensor<1xi32>
    %43 = stablehlo.concatenate %42, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %44 = stablehlo.dynamic_broadcast_in_dim %40, %43, dims = [0] : (tensor<?xi64>, tensor<2xi32>) -> tensor<?x1xi64>
    %45 = "stablehlo.gather"(%25, %44) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1>}> : (tensor<?xf64>, tensor<?x1xi64>) -> tensor<?xf64>
    %46 = stablehlo.reverse %45, dims = [0] : tensor<?xf64>
    %47 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %48 = stablehlo.reshape %47 : (tensor<i32>) -> tensor<1xi32>
    %49 = stablehlo.concatenate %48, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %50 = stablehlo.dynamic_broadcast_in_dim %1, %49, dims = [0] : (tensor<?xf64>, tensor<2xi32>) -> tensor<?x1xf64>
    %51 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %52 = stablehlo.reshape %51 : (tensor<i32>) -> tensor<1xi32>
    %53 = stablehlo.concatenate %c, %52, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %54 = stablehlo.dynamic_broadcast_in_dim %arg4, %53, dims = [1] : (tensor<?xf64>, tensor<2xi32>) -> tensor<1x?xf64>
    %55 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %56 = stablehlo.reshape %55 : (tensor<i32>) -> tensor<1xi32>
    %57 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %58 = stablehlo.reshape %57 : (tensor<i32>) -> tensor<1xi32>
    %59 = stablehlo.concatenate %56, %58, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %60 = stablehlo.dynamic_broadcast_in_dim %50, %59, dims = [0, 1] : (tensor<?x1xf64>, tensor<2xi32>) -> tensor<?x?xf64>
    %61 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %62 = stablehlo.reshape %61 : (tensor<i32>) -> tensor<1xi32>
    %63 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %64 = stablehlo.reshape %63 : (tensor<i32>) -> tensor<1xi32>
    %65 = stablehlo.concatenate %62, %64, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %66 = stablehlo.dynamic_broadcast_in_dim %54, %65, dims = [0, 1] : (tensor<1x?xf64>, tensor<2xi32>) -> tensor<?x?xf64>
    %67 = stablehlo.multiply %60, %66 : tensor<?x?xf64>
    %68 = stablehlo.reduce(%67 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
    return %24, %46, %68 : tensor<f64>, tensor<?xf64>, tensor<?xf64>
  }
}
