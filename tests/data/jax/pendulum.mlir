// input f64[2] 1.0 0.0
// input f64[4] 0.0 0.6666666666666666 1.3333333333333333 2.0
// result f64[4,2] 1.0 0.0 0.8169261487709535 -0.5369601512804838 0.3212981994589348 -0.9039070073232841 -0.30620095611813036 -0.9090470904557268
module @jit_pendulum attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf64>, %arg1: tensor<4xf64>) -> (tensor<4x2xf64> {jax.result_info = "result"}) {
    %0 = call @_odeint_wrapper(%arg0, %arg1) : (tensor<2xf64>, tensor<4xf64>) -> tensor<4x2xf64>
    return %0 : tensor<4x2xf64>
  }
  func.func private @_odeint_wrapper(%arg0: tensor<2xf64>, %arg1: tensor<4xf64>) -> tensor<4x2xf64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_3 = stablehlo.constant dense<1.000000e+02> : tensor<f64>
    %cst_4 = stablehlo.constant dense<2.000000e-01> : tensor<f64>
    %cst_5 = stablehlo.constant dense<1.000000e-03> : tensor<f64>
    %cst_6 = stablehlo.constant dense<1.000000e-15> : tensor<f64>
    %cst_7 = stablehlo.constant dense<9.9999999999999995E-7> : tensor<f64>
    %cst_8 = stablehlo.constant dense<1.000000e-02> : tensor<f64>
    %cst_9 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %cst_10 = stablehlo.constant dense<1.000000e-08> : tensor<f64>
    %cst_11 = stablehlo.constant dense<[2.000000e-01, 3.000000e-01, 8.000000e-01, 0.88888888888888883, 1.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<7xf64>
    %cst_12 = stablehlo.constant dense<[[2.000000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.074999999999999997, 2.250000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.97777777777777774, -3.7333333333333334, 3.5555555555555554, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [2.9525986892242035, -11.595793324188385, 9.8228928516994358, -0.29080932784636487, 0.000000e+00, 0.000000e+00, 0.000000e+00], [2.8462752525252526, -10.757575757575758, 8.9064227177434727, 0.27840909090909088, -0.2735313036020583, 0.000000e+00, 0.000000e+00], [0.091145833333333329, 0.000000e+00, 0.44923629829290207, 0.65104166666666663, -0.322376179245283, 0.13095238095238096, 0.000000e+00]]> : tensor<6x7xf64>
    %cst_13 = stablehlo.constant dense<[0.091145833333333329, 0.000000e+00, 0.44923629829290207, 0.65104166666666663, -0.322376179245283, 0.13095238095238096, 0.000000e+00]> : tensor<7xf64>
    %cst_14 = stablehlo.constant dense<[8.2175925925925819E-4, 0.000000e+00, -0.0028351801936707388, 0.024652777777777746, -0.033909198113207528, 0.02793650793650794, -0.016666666666666666]> : tensor<7xf64>
    %cst_15 = stablehlo.constant dense<[0.10013431883002395, 0.000000e+00, 0.39183217941842591, -0.029824601765948169, 0.058932683372407951, -0.044978888091043612, 0.023904308236133973]> : tensor<7xf64>
    %0 = stablehlo.slice %arg0 [0:2] : (tensor<2xf64>) -> tensor<2xf64>
    %1 = stablehlo.slice %0 [1:2] : (tensor<2xf64>) -> tensor<1xf64>
    %2 = stablehlo.reshape %1 : (tensor<1xf64>) -> tensor<f64>
    %3 = stablehlo.slice %0 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %4 = stablehlo.reshape %3 : (tensor<1xf64>) -> tensor<f64>
    %5 = stablehlo.sine %4 : tensor<f64>
    %6 = stablehlo.negate %5 : tensor<f64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %8 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %9 = stablehlo.concatenate %7, %8, dim = 0 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
    %10 = stablehlo.abs %arg0 : tensor<2xf64>
    %11 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %12 = stablehlo.multiply %10, %11 : tensor<2xf64>
    %13 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %14 = stablehlo.add %13, %12 : tensor<2xf64>
    %15 = stablehlo.divide %arg0, %14 : tensor<2xf64>
    %16 = call @norm(%15) : (tensor<2xf64>) -> tensor<f64>
    %17 = stablehlo.divide %9, %14 : tensor<2xf64>
    %18 = call @norm(%17) : (tensor<2xf64>) -> tensor<f64>
    %19 = stablehlo.compare LT, %16, %cst_9, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %20 = stablehlo.compare LT, %18, %cst_9, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %21 = stablehlo.or %19, %20 : tensor<i1>
    %22 = stablehlo.multiply %cst_8, %16 : tensor<f64>
    %23 = stablehlo.divide %22, %18 : tensor<f64>
    %24 = call @_where(%21, %cst_7, %23) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %26 = stablehlo.multiply %25, %9 : tensor<2xf64>
    %27 = stablehlo.add %arg0, %26 : tensor<2xf64>
    %28 = stablehlo.slice %27 [0:2] : (tensor<2xf64>) -> tensor<2xf64>
    %29 = stablehlo.slice %28 [1:2] : (tensor<2xf64>) -> tensor<1xf64>
    %30 = stablehlo.reshape %29 : (tensor<1xf64>) -> tensor<f64>
    %31 = stablehlo.slice %28 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %32 = stablehlo.reshape %31 : (tensor<1xf64>) -> tensor<f64>
    %33 = stablehlo.sine %32 : tensor<f64>
    %34 = stablehlo.negate %33 : tensor<f64>
    %35 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %36 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %37 = stablehlo.concatenate %35, %36, dim = 0 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
    %38 = stablehlo.subtract %37, %9 : tensor<2xf64>
    %39 = stablehlo.divide %38, %14 : tensor<2xf64>
    %40 = call @norm(%39) : (tensor<2xf64>) -> tensor<f64>
    %41 = stablehlo.divide %40, %24 : tensor<f64>
    %42 = stablehlo.compare LE, %18, %cst_6, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %43 = stablehlo.compare LE, %41, %cst_6, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %44 = stablehlo.and %42, %43 : tensor<i1>
    %45 = stablehlo.multiply %24, %cst_5 : tensor<f64>
    %46 = stablehlo.maximum %cst_7, %45 : tensor<f64>
    %47 = stablehlo.maximum %18, %41 : tensor<f64>
    %48 = stablehlo.divide %cst_8, %47 : tensor<f64>
    %49 = stablehlo.power %48, %cst_4 : tensor<f64>
    %50 = call @_where_0(%44, %46, %49) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %51 = stablehlo.multiply %cst_3, %24 : tensor<f64>
    %52 = stablehlo.minimum %51, %50 : tensor<f64>
    %53 = call @clip(%52, %cst_2, %cst) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %54 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %55 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %56 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %57 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %58 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %59 = stablehlo.concatenate %54, %55, %56, %57, %58, dim = 0 : (tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>) -> tensor<5x2xf64>
    %60 = stablehlo.slice %arg1 [0:1] : (tensor<4xf64>) -> tensor<1xf64>
    %61 = stablehlo.reshape %60 : (tensor<1xf64>) -> tensor<f64>
    %62 = stablehlo.slice %arg1 [0:1] : (tensor<4xf64>) -> tensor<1xf64>
    %63 = stablehlo.reshape %62 : (tensor<1xf64>) -> tensor<f64>
    %64 = stablehlo.slice %arg1 [1:4] : (tensor<4xf64>) -> tensor<3xf64>
    %65 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<3x2xf64>
    %66:14 = stablehlo.while(%iterArg = %64, %iterArg_16 = %cst_11, %iterArg_17 = %cst_12, %iterArg_18 = %cst_13, %iterArg_19 = %cst_14, %iterArg_20 = %cst_15, %iterArg_21 = %c_1, %iterArg_22 = %arg0, %iterArg_23 = %9, %iterArg_24 = %61, %iterArg_25 = %53, %iterArg_26 = %63, %iterArg_27 = %59, %iterArg_28 = %65) : tensor<3xf64>, tensor<7xf64>, tensor<6x7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<i64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>, tensor<3x2xf64>
    cond {
      %70 = stablehlo.compare LT, %iterArg_21, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %70 : tensor<i1>
    } do {
      %70 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_21) : (tensor<3xf64>, tensor<i64>) -> tensor<f64>
      %71:7 = func.call @closed_call(%iterArg_16, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %iterArg_22, %iterArg_23, %iterArg_24, %iterArg_25, %iterArg_26, %iterArg_27, %70) : (tensor<7xf64>, tensor<6x7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>, tensor<f64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>, tensor<2xf64>)
      %72 = func.call @dynamic_update_index_in_dim(%iterArg_28, %71#6, %iterArg_21) : (tensor<3x2xf64>, tensor<2xf64>, tensor<i64>) -> tensor<3x2xf64>
      %73 = stablehlo.add %iterArg_21, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_16, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %73, %71#0, %71#1, %71#2, %71#3, %71#4, %71#5, %72 : tensor<3xf64>, tensor<7xf64>, tensor<6x7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<i64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>, tensor<3x2xf64>
    }
    %67 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %68 = stablehlo.concatenate %67, %66#13, dim = 0 : (tensor<1x2xf64>, tensor<3x2xf64>) -> tensor<4x2xf64>
    %69 = stablehlo.slice %68 [0:4, 0:2] : (tensor<4x2xf64>) -> tensor<4x2xf64>
    return %69 : tensor<4x2xf64>
  }
  func.func private @norm(%arg0: tensor<2xf64>) -> tensor<f64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<2xf64>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %2 = stablehlo.sqrt %1 : tensor<f64>
    return %2 : tensor<f64>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<i1>, tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @clip(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.maximum %0, %arg0 : tensor<f64>
    %2 = stablehlo.convert %arg1 : tensor<f64>
    %3 = stablehlo.minimum %2, %1 : tensor<f64>
    return %3 : tensor<f64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<3xf64>, %arg1: tensor<i64>) -> tensor<f64> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<3xf64>, tensor<i64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<7xf64>, %arg1: tensor<6x7xf64>, %arg2: tensor<7xf64>, %arg3: tensor<7xf64>, %arg4: tensor<7xf64>, %arg5: tensor<2xf64>, %arg6: tensor<2xf64>, %arg7: tensor<f64>, %arg8: tensor<f64>, %arg9: tensor<f64>, %arg10: tensor<5x2xf64>, %arg11: tensor<f64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>, tensor<2xf64>) {
    %cst = stablehlo.constant dense<1.000000e+01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<9.000000e-01> : tensor<f64>
    %cst_1 = stablehlo.constant dense<-2.000000e-01> : tensor<f64>
    %cst_2 = stablehlo.constant dense<2.000000e-01> : tensor<f64>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_4 = stablehlo.constant dense<1.100000e+01> : tensor<f64>
    %cst_5 = stablehlo.constant dense<-4.000000e+00> : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.200000e+01> : tensor<f64>
    %cst_7 = stablehlo.constant dense<1.400000e+01> : tensor<f64>
    %cst_8 = stablehlo.constant dense<1.800000e+01> : tensor<f64>
    %cst_9 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %cst_10 = stablehlo.constant dense<5.000000e+00> : tensor<f64>
    %cst_11 = stablehlo.constant dense<1.600000e+01> : tensor<f64>
    %cst_12 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %cst_13 = stablehlo.constant dense<-2.000000e+00> : tensor<f64>
    %cst_14 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_15 = stablehlo.constant dense<1.000000e-08> : tensor<f64>
    %c = stablehlo.constant dense<6> : tensor<i64>
    %c_16 = stablehlo.constant dense<1> : tensor<i64>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_19 = stablehlo.constant dense<false> : tensor<i1>
    %cst_20 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %c_21 = stablehlo.constant dense<0> : tensor<i64>
    %0:13 = stablehlo.while(%iterArg = %arg11, %iterArg_22 = %arg0, %iterArg_23 = %arg1, %iterArg_24 = %arg2, %iterArg_25 = %arg3, %iterArg_26 = %arg4, %iterArg_27 = %c_21, %iterArg_28 = %arg5, %iterArg_29 = %arg6, %iterArg_30 = %arg7, %iterArg_31 = %arg8, %iterArg_32 = %arg9, %iterArg_33 = %arg10) : tensor<f64>, tensor<7xf64>, tensor<6x7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<i64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>
    cond {
      %5 = stablehlo.compare LT, %iterArg_30, %iterArg, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.convert %iterArg_27 : (tensor<i64>) -> tensor<f64>
      %7 = stablehlo.compare LT, %6, %cst_20, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.broadcast_in_dim %c_19, dims = [] : (tensor<i1>) -> tensor<i1>
      %9 = stablehlo.compare NE, %7, %8, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %10 = stablehlo.convert %9 : tensor<i1>
      %11 = stablehlo.and %5, %10 : tensor<i1>
      %12 = stablehlo.compare GT, %iterArg_31, %cst_18, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %13 = stablehlo.and %11, %12 : tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %5 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<7x2xf64>
      %6 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %7 = "stablehlo.scatter"(%5, %6, %iterArg_29) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
      ^bb0(%arg12: tensor<f64>, %arg13: tensor<f64>):
        stablehlo.return %arg13 : tensor<f64>
      }) : (tensor<7x2xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<7x2xf64>
      %8:8 = stablehlo.while(%iterArg_34 = %iterArg_22, %iterArg_35 = %iterArg_31, %iterArg_36 = %iterArg_30, %iterArg_37 = %iterArg_23, %iterArg_38 = %iterArg_28, %iterArg_39 = %c_21, %iterArg_40 = %c_16, %iterArg_41 = %7) : tensor<7xf64>, tensor<f64>, tensor<f64>, tensor<6x7xf64>, tensor<2xf64>, tensor<i64>, tensor<i64>, tensor<7x2xf64>
      cond {
        %116 = stablehlo.compare LT, %iterArg_39, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %116 : tensor<i1>
      } do {
        %116:2 = func.call @closed_call_1(%iterArg_34, %iterArg_35, %iterArg_36, %iterArg_37, %iterArg_38, %iterArg_40, %iterArg_41) : (tensor<7xf64>, tensor<f64>, tensor<f64>, tensor<6x7xf64>, tensor<2xf64>, tensor<i64>, tensor<7x2xf64>) -> (tensor<i64>, tensor<7x2xf64>)
        %117 = stablehlo.add %iterArg_39, %c_16 : tensor<i64>
        stablehlo.return %iterArg_34, %iterArg_35, %iterArg_36, %iterArg_37, %iterArg_38, %117, %116#0, %116#1 : tensor<7xf64>, tensor<f64>, tensor<f64>, tensor<6x7xf64>, tensor<2xf64>, tensor<i64>, tensor<i64>, tensor<7x2xf64>
      }
      %9 = stablehlo.dot_general %iterArg_24, %8#7, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf64>, tensor<7x2xf64>) -> tensor<2xf64>
      %10 = stablehlo.broadcast_in_dim %iterArg_31, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %11 = stablehlo.multiply %10, %9 : tensor<2xf64>
      %12 = stablehlo.add %11, %iterArg_28 : tensor<2xf64>
      %13 = stablehlo.dot_general %iterArg_25, %8#7, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf64>, tensor<7x2xf64>) -> tensor<2xf64>
      %14 = stablehlo.broadcast_in_dim %iterArg_31, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %15 = stablehlo.multiply %14, %13 : tensor<2xf64>
      %16 = stablehlo.slice %8#7 [6:7, 0:2] : (tensor<7x2xf64>) -> tensor<1x2xf64>
      %17 = stablehlo.reshape %16 : (tensor<1x2xf64>) -> tensor<2xf64>
      %18 = stablehlo.add %iterArg_30, %iterArg_31 : tensor<f64>
      %19 = stablehlo.abs %iterArg_28 : tensor<2xf64>
      %20 = stablehlo.abs %12 : tensor<2xf64>
      %21 = stablehlo.maximum %19, %20 : tensor<2xf64>
      %22 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %23 = stablehlo.multiply %22, %21 : tensor<2xf64>
      %24 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %25 = stablehlo.add %24, %23 : tensor<2xf64>
      %26 = stablehlo.divide %15, %25 : tensor<2xf64>
      %27 = stablehlo.multiply %26, %26 : tensor<2xf64>
      %28 = stablehlo.reduce(%27 init: %cst_18) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
      %29 = stablehlo.divide %28, %cst_14 : tensor<f64>
      %30 = stablehlo.sqrt %29 : tensor<f64>
      %31 = stablehlo.dot_general %iterArg_26, %8#7, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf64>, tensor<7x2xf64>) -> tensor<2xf64>
      %32 = stablehlo.broadcast_in_dim %iterArg_31, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %33 = stablehlo.multiply %32, %31 : tensor<2xf64>
      %34 = stablehlo.add %iterArg_28, %33 : tensor<2xf64>
      %35 = stablehlo.slice %8#7 [0:1, 0:2] : (tensor<7x2xf64>) -> tensor<1x2xf64>
      %36 = stablehlo.reshape %35 : (tensor<1x2xf64>) -> tensor<2xf64>
      %37 = stablehlo.slice %8#7 [6:7, 0:2] : (tensor<7x2xf64>) -> tensor<1x2xf64>
      %38 = stablehlo.reshape %37 : (tensor<1x2xf64>) -> tensor<2xf64>
      %39 = stablehlo.multiply %cst_13, %iterArg_31 : tensor<f64>
      %40 = stablehlo.broadcast_in_dim %39, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %41 = stablehlo.multiply %40, %36 : tensor<2xf64>
      %42 = stablehlo.multiply %cst_14, %iterArg_31 : tensor<f64>
      %43 = stablehlo.broadcast_in_dim %42, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %44 = stablehlo.multiply %43, %38 : tensor<2xf64>
      %45 = stablehlo.add %41, %44 : tensor<2xf64>
      %46 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %47 = stablehlo.multiply %46, %iterArg_28 : tensor<2xf64>
      %48 = stablehlo.subtract %45, %47 : tensor<2xf64>
      %49 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %50 = stablehlo.multiply %49, %12 : tensor<2xf64>
      %51 = stablehlo.subtract %48, %50 : tensor<2xf64>
      %52 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %53 = stablehlo.multiply %52, %34 : tensor<2xf64>
      %54 = stablehlo.add %51, %53 : tensor<2xf64>
      %55 = stablehlo.multiply %cst_10, %iterArg_31 : tensor<f64>
      %56 = stablehlo.broadcast_in_dim %55, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %57 = stablehlo.multiply %56, %36 : tensor<2xf64>
      %58 = stablehlo.multiply %cst_9, %iterArg_31 : tensor<f64>
      %59 = stablehlo.broadcast_in_dim %58, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %60 = stablehlo.multiply %59, %38 : tensor<2xf64>
      %61 = stablehlo.subtract %57, %60 : tensor<2xf64>
      %62 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %63 = stablehlo.multiply %62, %iterArg_28 : tensor<2xf64>
      %64 = stablehlo.add %61, %63 : tensor<2xf64>
      %65 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %66 = stablehlo.multiply %65, %12 : tensor<2xf64>
      %67 = stablehlo.add %64, %66 : tensor<2xf64>
      %68 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %69 = stablehlo.multiply %68, %34 : tensor<2xf64>
      %70 = stablehlo.subtract %67, %69 : tensor<2xf64>
      %71 = stablehlo.multiply %cst_5, %iterArg_31 : tensor<f64>
      %72 = stablehlo.broadcast_in_dim %71, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %73 = stablehlo.multiply %72, %36 : tensor<2xf64>
      %74 = stablehlo.broadcast_in_dim %iterArg_31, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %75 = stablehlo.multiply %74, %38 : tensor<2xf64>
      %76 = stablehlo.add %73, %75 : tensor<2xf64>
      %77 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %78 = stablehlo.multiply %77, %iterArg_28 : tensor<2xf64>
      %79 = stablehlo.subtract %76, %78 : tensor<2xf64>
      %80 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %81 = stablehlo.multiply %80, %12 : tensor<2xf64>
      %82 = stablehlo.subtract %79, %81 : tensor<2xf64>
      %83 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %84 = stablehlo.multiply %83, %34 : tensor<2xf64>
      %85 = stablehlo.add %82, %84 : tensor<2xf64>
      %86 = stablehlo.broadcast_in_dim %iterArg_31, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %87 = stablehlo.multiply %86, %36 : tensor<2xf64>
      %88 = stablehlo.broadcast_in_dim %54, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
      %89 = stablehlo.broadcast_in_dim %70, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
      %90 = stablehlo.broadcast_in_dim %85, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
      %91 = stablehlo.broadcast_in_dim %87, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
      %92 = stablehlo.broadcast_in_dim %iterArg_28, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
      %93 = stablehlo.concatenate %88, %89, %90, %91, %92, dim = 0 : (tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>) -> tensor<5x2xf64>
      %94 = stablehlo.compare LT, %30, %cst_3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %95 = func.call @_where_2(%94, %cst_3, %cst_2) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %96 = stablehlo.power %30, %cst_1 : tensor<f64>
      %97 = stablehlo.multiply %96, %cst_0 : tensor<f64>
      %98 = stablehlo.convert %95 : tensor<f64>
      %99 = stablehlo.maximum %97, %98 : tensor<f64>
      %100 = stablehlo.minimum %cst, %99 : tensor<f64>
      %101 = stablehlo.compare EQ, %30, %cst_18, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %102 = stablehlo.multiply %iterArg_31, %cst : tensor<f64>
      %103 = stablehlo.multiply %iterArg_31, %100 : tensor<f64>
      %104 = func.call @_where_3(%101, %102, %103) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %105 = func.call @clip_4(%104, %cst_20, %cst_18) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %106 = stablehlo.add %iterArg_27, %c_16 : tensor<i64>
      %107 = stablehlo.add %iterArg_27, %c_16 : tensor<i64>
      %108 = stablehlo.compare LE, %30, %cst_3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %109 = func.call @_where_5(%108, %106, %107) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
      %110 = func.call @_where_6(%108, %12, %iterArg_28) : (tensor<i1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %111 = func.call @_where_6(%108, %17, %iterArg_29) : (tensor<i1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %112 = func.call @_where_3(%108, %18, %iterArg_30) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %113 = func.call @_where_3(%108, %105, %105) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %114 = func.call @_where_3(%108, %iterArg_30, %iterArg_32) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %115 = func.call @_where_7(%108, %93, %iterArg_33) : (tensor<i1>, tensor<5x2xf64>, tensor<5x2xf64>) -> tensor<5x2xf64>
      stablehlo.return %iterArg, %iterArg_22, %iterArg_23, %iterArg_24, %iterArg_25, %iterArg_26, %109, %110, %111, %112, %113, %114, %115 : tensor<f64>, tensor<7xf64>, tensor<6x7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<7xf64>, tensor<i64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>
    }
    %1 = stablehlo.subtract %arg11, %0#11 : tensor<f64>
    %2 = stablehlo.subtract %0#9, %0#11 : tensor<f64>
    %3 = stablehlo.divide %1, %2 : tensor<f64>
    %4 = call @polyval(%0#12, %3) : (tensor<5x2xf64>, tensor<f64>) -> tensor<2xf64>
    return %0#7, %0#8, %0#9, %0#10, %0#11, %0#12, %4 : tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<5x2xf64>, tensor<2xf64>
  }
  func.func private @closed_call_1(%arg0: tensor<7xf64>, %arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<6x7xf64>, %arg4: tensor<2xf64>, %arg5: tensor<i64>, %arg6: tensor<7x2xf64>) -> (tensor<i64>, tensor<7x2xf64>) {
    %c = stablehlo.constant dense<7> : tensor<i32>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<7> : tensor<i64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg5, %c_4 : tensor<i64>
    %1 = stablehlo.subtract %arg5, %c_4 : tensor<i64>
    %2 = stablehlo.convert %1 : (tensor<i64>) -> tensor<i32>
    %3 = stablehlo.compare LT, %2, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.add %2, %c_0 : tensor<i32>
    %5 = stablehlo.select %3, %4, %2 : tensor<i1>, tensor<i32>
    %6 = stablehlo.compare LT, %c_1, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.add %c_1, %c : tensor<i32>
    %8 = stablehlo.select %6, %7, %c_1 : tensor<i1>, tensor<i32>
    %9 = stablehlo.dynamic_slice %arg3, %5, %8, sizes = [1, 7] : (tensor<6x7xf64>, tensor<i32>, tensor<i32>) -> tensor<1x7xf64>
    %10 = stablehlo.reshape %9 : (tensor<1x7xf64>) -> tensor<7xf64>
    %11 = stablehlo.dot_general %10, %arg6, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<7xf64>, tensor<7x2xf64>) -> tensor<2xf64>
    %12 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %13 = stablehlo.multiply %12, %11 : tensor<2xf64>
    %14 = stablehlo.add %arg4, %13 : tensor<2xf64>
    %15 = stablehlo.slice %14 [0:2] : (tensor<2xf64>) -> tensor<2xf64>
    %16 = stablehlo.slice %15 [1:2] : (tensor<2xf64>) -> tensor<1xf64>
    %17 = stablehlo.reshape %16 : (tensor<1xf64>) -> tensor<f64>
    %18 = stablehlo.slice %15 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %19 = stablehlo.reshape %18 : (tensor<1xf64>) -> tensor<f64>
    %20 = stablehlo.sine %19 : tensor<f64>
    %21 = stablehlo.negate %20 : tensor<f64>
    %22 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %23 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %24 = stablehlo.concatenate %22, %23, dim = 0 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
    %25 = stablehlo.compare LT, %arg5, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %26 = stablehlo.add %arg5, %c_2 : tensor<i64>
    %27 = stablehlo.select %25, %26, %arg5 : tensor<i1>, tensor<i64>
    %28 = stablehlo.convert %27 : (tensor<i64>) -> tensor<i32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %30 = "stablehlo.scatter"(%arg6, %29, %24) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f64>, %arg8: tensor<f64>):
      stablehlo.return %arg8 : tensor<f64>
    }) : (tensor<7x2xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<7x2xf64>
    return %0, %30 : tensor<i64>, tensor<7x2xf64>
  }
  func.func private @_where_2(%arg0: tensor<i1>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @_where_3(%arg0: tensor<i1>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @clip_4(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.maximum %0, %arg0 : tensor<f64>
    %2 = stablehlo.convert %arg1 : tensor<f64>
    %3 = stablehlo.minimum %2, %1 : tensor<f64>
    return %3 : tensor<f64>
  }
  func.func private @_where_5(%arg0: tensor<i1>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
  func.func private @_where_6(%arg0: tensor<i1>, %arg1: tensor<2xf64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<2xf64>
    return %0 : tensor<2xf64>
  }
  func.func private @_where_7(%arg0: tensor<i1>, %arg1: tensor<5x2xf64>, %arg2: tensor<5x2xf64>) -> tensor<5x2xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<5x2xf64>
    return %0 : tensor<5x2xf64>
  }
  func.func private @polyval(%arg0: tensor<5x2xf64>, %arg1: tensor<f64>) -> tensor<2xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.slice %arg0 [0:5, 0:2] : (tensor<5x2xf64>) -> tensor<5x2xf64>
    %2 = stablehlo.slice %1 [0:1, 0:2] : (tensor<5x2xf64>) -> tensor<1x2xf64>
    %3 = stablehlo.reshape %2 : (tensor<1x2xf64>) -> tensor<2xf64>
    %4 = call @closed_call_8(%arg1, %0, %3) : (tensor<f64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %5 = stablehlo.slice %1 [1:2, 0:2] : (tensor<5x2xf64>) -> tensor<1x2xf64>
    %6 = stablehlo.reshape %5 : (tensor<1x2xf64>) -> tensor<2xf64>
    %7 = call @closed_call_8(%arg1, %4, %6) : (tensor<f64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %8 = stablehlo.slice %1 [2:3, 0:2] : (tensor<5x2xf64>) -> tensor<1x2xf64>
    %9 = stablehlo.reshape %8 : (tensor<1x2xf64>) -> tensor<2xf64>
    %10 = call @closed_call_8(%arg1, %7, %9) : (tensor<f64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %11 = stablehlo.slice %1 [3:4, 0:2] : (tensor<5x2xf64>) -> tensor<1x2xf64>
    %12 = stablehlo.reshape %11 : (tensor<1x2xf64>) -> tensor<2xf64>
    %13 = call @closed_call_8(%arg1, %10, %12) : (tensor<f64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %14 = stablehlo.slice %1 [4:5, 0:2] : (tensor<5x2xf64>) -> tensor<1x2xf64>
    %15 = stablehlo.reshape %14 : (tensor<1x2xf64>) -> tensor<2xf64>
    %16 = call @closed_call_8(%arg1, %13, %15) : (tensor<f64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    return %16 : tensor<2xf64>
  }
  func.func private @closed_call_8(%arg0: tensor<f64>, %arg1: tensor<2xf64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.multiply %arg1, %0 : tensor<2xf64>
    %2 = stablehlo.add %1, %arg2 : tensor<2xf64>
    return %2 : tensor<2xf64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<3x2xf64>, %arg1: tensor<2xf64>, %arg2: tensor<i64>) -> tensor<3x2xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<3x2xf64>, tensor<1x2xf64>, tensor<i64>, tensor<i64>) -> tensor<3x2xf64>
    return %1 : tensor<3x2xf64>
  }
}
