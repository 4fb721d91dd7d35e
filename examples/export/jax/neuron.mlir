// point 120.0 36.0 5.0
// value 3764.361724946978
// slope 1.0648697356011418 3.2211405876381978 -15.055163549008924
module @jit_neuron attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<4.000000e+02> : tensor<f64>
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<400> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst_2 = stablehlo.constant dense<3.200000e-01> : tensor<f64>
    %cst_3 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %cst_4 = stablehlo.constant dense<5.000000e-02> : tensor<f64>
    %cst_5 = stablehlo.constant dense<-6.500000e+01> : tensor<f64>
    %cst_6 = stablehlo.constant dense<2.000000e+01> : tensor<f64>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<3xf64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<3xf64>) -> tensor<1xf64>
    %3 = stablehlo.reshape %2 : (tensor<1xf64>) -> tensor<f64>
    %4 = stablehlo.slice %arg0 [2:3] : (tensor<3xf64>) -> tensor<1xf64>
    %5 = stablehlo.reshape %4 : (tensor<1xf64>) -> tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %7 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %8 = "stablehlo.scatter"(%6, %7, %cst_6) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      stablehlo.return %arg2 : tensor<f64>
    }) : (tensor<8xf64>, tensor<1xi32>, tensor<f64>) -> tensor<8xf64>
    %9 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %10 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %13 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<400xf64>
    %14:10 = stablehlo.while(%iterArg = %1, %iterArg_9 = %3, %iterArg_10 = %5, %iterArg_11 = %8, %iterArg_12 = %c_1, %iterArg_13 = %9, %iterArg_14 = %10, %iterArg_15 = %11, %iterArg_16 = %12, %iterArg_17 = %13) : tensor<f64>, tensor<f64>, tensor<f64>, tensor<8xf64>, tensor<i64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<400xf64>
    cond {
      %18 = stablehlo.compare LT, %iterArg_12, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %18 : tensor<i1>
    } do {
      %18:5 = func.call @closed_call(%iterArg, %iterArg_9, %iterArg_10, %iterArg_11, %iterArg_13, %iterArg_14, %iterArg_15, %iterArg_16) : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<f64>)
      %19 = func.call @dynamic_update_index_in_dim_2(%iterArg_17, %18#4, %iterArg_12) : (tensor<400xf64>, tensor<f64>, tensor<i64>) -> tensor<400xf64>
      %20 = stablehlo.add %iterArg_12, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_9, %iterArg_10, %iterArg_11, %20, %18#0, %18#1, %18#2, %18#3, %19 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<8xf64>, tensor<i64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<400xf64>
    }
    %15 = stablehlo.multiply %14#9, %14#9 : tensor<400xf64>
    %16 = stablehlo.reduce(%15 init: %cst_8) applies stablehlo.add across dimensions = [0] : (tensor<400xf64>, tensor<f64>) -> tensor<f64>
    %17 = stablehlo.divide %16, %cst : tensor<f64>
    return %17 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<8xf64>, %arg4: tensor<8xf64>, %arg5: tensor<8xf64>, %arg6: tensor<8xf64>, %arg7: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<f64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<8> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<-2.500000e-02> : tensor<f64>
    %cst_3 = stablehlo.constant dense<1.632000e+01> : tensor<f64>
    %cst_4 = stablehlo.constant dense<7.700000e+01> : tensor<f64>
    %cst_5 = stablehlo.constant dense<5.000000e+01> : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %cst_7 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %c_8 = stablehlo.constant dense<7> : tensor<i32>
    %cst_9 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %cst_11 = stablehlo.constant dense<1.250000e-01> : tensor<f64>
    %cst_12 = stablehlo.constant dense<8.000000e+01> : tensor<f64>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f64>
    %cst_14 = stablehlo.constant dense<5.500000e+01> : tensor<f64>
    %cst_15 = stablehlo.constant dense<3.500000e+01> : tensor<f64>
    %cst_16 = stablehlo.constant dense<7.000000e-02> : tensor<f64>
    %cst_17 = stablehlo.constant dense<2.000000e+01> : tensor<f64>
    %cst_18 = stablehlo.constant dense<2.500000e-02> : tensor<f64>
    %cst_19 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_20 = stablehlo.constant dense<1.800000e+01> : tensor<f64>
    %cst_21 = stablehlo.constant dense<6.500000e+01> : tensor<f64>
    %cst_22 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_23 = stablehlo.constant dense<9.9999999999999995E-7> : tensor<f64>
    %cst_24 = stablehlo.constant dense<1.000000e+01> : tensor<f64>
    %cst_25 = stablehlo.constant dense<4.000000e+01> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %1 = stablehlo.add %arg4, %0 : tensor<8xf64>
    %2 = stablehlo.negate %1 : tensor<8xf64>
    %3 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %4 = stablehlo.divide %2, %3 : tensor<8xf64>
    %5 = stablehlo.abs %4 : tensor<8xf64>
    %6 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %7 = stablehlo.compare LT, %5, %6, FLOAT : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
    %8 = stablehlo.abs %4 : tensor<8xf64>
    %9 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %10 = stablehlo.compare LT, %8, %9, FLOAT : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
    %11 = call @_where(%10, %cst_22, %4) : (tensor<8xi1>, tensor<f64>, tensor<8xf64>) -> tensor<8xf64>
    %12 = stablehlo.exponential_minus_one %11 : tensor<8xf64>
    %13 = stablehlo.divide %4, %12 : tensor<8xf64>
    %14 = call @_where(%7, %cst_22, %13) : (tensor<8xi1>, tensor<f64>, tensor<8xf64>) -> tensor<8xf64>
    %15 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %16 = stablehlo.add %arg4, %15 : tensor<8xf64>
    %17 = stablehlo.negate %16 : tensor<8xf64>
    %18 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %19 = stablehlo.divide %17, %18 : tensor<8xf64>
    %20 = stablehlo.exponential %19 : tensor<8xf64>
    %21 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %22 = stablehlo.multiply %21, %20 : tensor<8xf64>
    %23 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %24 = stablehlo.multiply %23, %14 : tensor<8xf64>
    %25 = stablehlo.add %arg5, %24 : tensor<8xf64>
    %26 = stablehlo.add %14, %22 : tensor<8xf64>
    %27 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %28 = stablehlo.multiply %27, %26 : tensor<8xf64>
    %29 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %30 = stablehlo.add %29, %28 : tensor<8xf64>
    %31 = stablehlo.divide %25, %30 : tensor<8xf64>
    %32 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %33 = stablehlo.add %arg4, %32 : tensor<8xf64>
    %34 = stablehlo.negate %33 : tensor<8xf64>
    %35 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %36 = stablehlo.divide %34, %35 : tensor<8xf64>
    %37 = stablehlo.exponential %36 : tensor<8xf64>
    %38 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %39 = stablehlo.multiply %38, %37 : tensor<8xf64>
    %40 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %41 = stablehlo.add %arg4, %40 : tensor<8xf64>
    %42 = stablehlo.negate %41 : tensor<8xf64>
    %43 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %44 = stablehlo.divide %42, %43 : tensor<8xf64>
    %45 = stablehlo.exponential %44 : tensor<8xf64>
    %46 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %47 = stablehlo.add %46, %45 : tensor<8xf64>
    %48 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %49 = stablehlo.divide %48, %47 : tensor<8xf64>
    %50 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %51 = stablehlo.multiply %50, %39 : tensor<8xf64>
    %52 = stablehlo.add %arg6, %51 : tensor<8xf64>
    %53 = stablehlo.add %39, %49 : tensor<8xf64>
    %54 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %55 = stablehlo.multiply %54, %53 : tensor<8xf64>
    %56 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %57 = stablehlo.add %56, %55 : tensor<8xf64>
    %58 = stablehlo.divide %52, %57 : tensor<8xf64>
    %59 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %60 = stablehlo.add %arg4, %59 : tensor<8xf64>
    %61 = stablehlo.negate %60 : tensor<8xf64>
    %62 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %63 = stablehlo.divide %61, %62 : tensor<8xf64>
    %64 = stablehlo.abs %63 : tensor<8xf64>
    %65 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %66 = stablehlo.compare LT, %64, %65, FLOAT : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
    %67 = stablehlo.abs %63 : tensor<8xf64>
    %68 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %69 = stablehlo.compare LT, %67, %68, FLOAT : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xi1>
    %70 = call @_where(%69, %cst_22, %63) : (tensor<8xi1>, tensor<f64>, tensor<8xf64>) -> tensor<8xf64>
    %71 = stablehlo.exponential_minus_one %70 : tensor<8xf64>
    %72 = stablehlo.divide %63, %71 : tensor<8xf64>
    %73 = call @_where(%66, %cst_22, %72) : (tensor<8xi1>, tensor<f64>, tensor<8xf64>) -> tensor<8xf64>
    %74 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %75 = stablehlo.multiply %74, %73 : tensor<8xf64>
    %76 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %77 = stablehlo.add %arg4, %76 : tensor<8xf64>
    %78 = stablehlo.negate %77 : tensor<8xf64>
    %79 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %80 = stablehlo.divide %78, %79 : tensor<8xf64>
    %81 = stablehlo.exponential %80 : tensor<8xf64>
    %82 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %83 = stablehlo.multiply %82, %81 : tensor<8xf64>
    %84 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %85 = stablehlo.multiply %84, %75 : tensor<8xf64>
    %86 = stablehlo.add %arg7, %85 : tensor<8xf64>
    %87 = stablehlo.add %75, %83 : tensor<8xf64>
    %88 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %89 = stablehlo.multiply %88, %87 : tensor<8xf64>
    %90 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %91 = stablehlo.add %90, %89 : tensor<8xf64>
    %92 = stablehlo.divide %86, %91 : tensor<8xf64>
    %93 = stablehlo.multiply %31, %31 : tensor<8xf64>
    %94 = stablehlo.multiply %93, %31 : tensor<8xf64>
    %95 = stablehlo.convert %94 : tensor<8xf64>
    %96 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %97 = stablehlo.multiply %96, %95 : tensor<8xf64>
    %98 = stablehlo.convert %58 : tensor<8xf64>
    %99 = stablehlo.multiply %97, %98 : tensor<8xf64>
    %100 = stablehlo.multiply %92, %92 : tensor<8xf64>
    %101 = stablehlo.multiply %100, %100 : tensor<8xf64>
    %102 = stablehlo.convert %101 : tensor<8xf64>
    %103 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %104 = stablehlo.multiply %103, %102 : tensor<8xf64>
    %105 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %106 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %107 = "stablehlo.scatter"(%105, %106, %cst_9) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f64>, %arg9: tensor<f64>):
      stablehlo.return %arg9 : tensor<f64>
    }) : (tensor<8xf64>, tensor<1xi32>, tensor<f64>) -> tensor<8xf64>
    %108 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %109 = "stablehlo.scatter"(%107, %108, %cst_9) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f64>, %arg9: tensor<f64>):
      stablehlo.return %arg9 : tensor<f64>
    }) : (tensor<8xf64>, tensor<1xi32>, tensor<f64>) -> tensor<8xf64>
    %110 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %111 = stablehlo.multiply %109, %110 : tensor<8xf64>
    %112 = stablehlo.add %99, %104 : tensor<8xf64>
    %113 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %114 = stablehlo.add %112, %113 : tensor<8xf64>
    %115 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %116 = stablehlo.multiply %115, %111 : tensor<8xf64>
    %117 = stablehlo.add %114, %116 : tensor<8xf64>
    %118 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %119 = stablehlo.multiply %118, %117 : tensor<8xf64>
    %120 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %121 = stablehlo.add %120, %119 : tensor<8xf64>
    %122 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %123 = stablehlo.multiply %99, %122 : tensor<8xf64>
    %124 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %125 = stablehlo.multiply %104, %124 : tensor<8xf64>
    %126 = stablehlo.subtract %123, %125 : tensor<8xf64>
    %127 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %128 = stablehlo.subtract %126, %127 : tensor<8xf64>
    %129 = stablehlo.add %128, %arg3 : tensor<8xf64>
    %130 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %131 = stablehlo.multiply %130, %129 : tensor<8xf64>
    %132 = stablehlo.convert %arg4 : tensor<8xf64>
    %133 = stablehlo.add %132, %131 : tensor<8xf64>
    %134 = stablehlo.multiply %cst_2, %arg2 : tensor<f64>
    %135 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %136 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %137:8 = stablehlo.while(%iterArg = %121, %iterArg_26 = %133, %iterArg_27 = %134, %iterArg_28 = %c_1, %iterArg_29 = %cst, %iterArg_30 = %cst, %iterArg_31 = %135, %iterArg_32 = %136) : tensor<8xf64>, tensor<8xf64>, tensor<f64>, tensor<i64>, tensor<f64>, tensor<f64>, tensor<8xf64>, tensor<8xf64>
    cond {
      %142 = stablehlo.compare LT, %iterArg_28, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %142 : tensor<i1>
    } do {
      %142 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_28) : (tensor<8xf64>, tensor<i64>) -> tensor<f64>
      %143 = func.call @dynamic_index_in_dim(%iterArg_26, %iterArg_28) : (tensor<8xf64>, tensor<i64>) -> tensor<f64>
      %144:4 = func.call @closed_call_0(%iterArg_27, %iterArg_29, %iterArg_30, %142, %143) : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
      %145 = func.call @dynamic_update_index_in_dim(%iterArg_31, %144#2, %iterArg_28) : (tensor<8xf64>, tensor<f64>, tensor<i64>) -> tensor<8xf64>
      %146 = func.call @dynamic_update_index_in_dim(%iterArg_32, %144#3, %iterArg_28) : (tensor<8xf64>, tensor<f64>, tensor<i64>) -> tensor<8xf64>
      %147 = stablehlo.add %iterArg_28, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_26, %iterArg_27, %147, %144#0, %144#1, %145, %146 : tensor<8xf64>, tensor<8xf64>, tensor<f64>, tensor<i64>, tensor<f64>, tensor<f64>, tensor<8xf64>, tensor<8xf64>
    }
    %138 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %139:5 = stablehlo.while(%iterArg = %137#6, %iterArg_26 = %137#7, %iterArg_27 = %c_1, %iterArg_28 = %cst, %iterArg_29 = %138) : tensor<8xf64>, tensor<8xf64>, tensor<i64>, tensor<f64>, tensor<8xf64>
    cond {
      %142 = stablehlo.compare LT, %iterArg_27, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %142 : tensor<i1>
    } do {
      %142 = stablehlo.subtract %c_0, %iterArg_27 : tensor<i64>
      %143 = stablehlo.subtract %142, %c : tensor<i64>
      %144 = func.call @dynamic_index_in_dim(%iterArg, %143) : (tensor<8xf64>, tensor<i64>) -> tensor<f64>
      %145 = func.call @dynamic_index_in_dim(%iterArg_26, %143) : (tensor<8xf64>, tensor<i64>) -> tensor<f64>
      %146:2 = func.call @closed_call_1(%iterArg_28, %144, %145) : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
      %147 = func.call @dynamic_update_index_in_dim(%iterArg_29, %146#1, %143) : (tensor<8xf64>, tensor<f64>, tensor<i64>) -> tensor<8xf64>
      %148 = stablehlo.add %iterArg_27, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_26, %148, %146#0, %147 : tensor<8xf64>, tensor<8xf64>, tensor<i64>, tensor<f64>, tensor<8xf64>
    }
    %140 = stablehlo.slice %139#4 [7:8] : (tensor<8xf64>) -> tensor<1xf64>
    %141 = stablehlo.reshape %140 : (tensor<1xf64>) -> tensor<f64>
    return %139#4, %31, %58, %92, %141 : tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<f64>
  }
  func.func private @_where(%arg0: tensor<8xi1>, %arg1: tensor<f64>, %arg2: tensor<8xf64>) -> tensor<8xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<8xf64>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<8xi1>, tensor<8xf64>
    return %1 : tensor<8xf64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<8xf64>, %arg1: tensor<i64>) -> tensor<f64> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<8xf64>, tensor<i64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @closed_call_0(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<f64>, %arg4: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.multiply %arg0, %0 : tensor<f64>
    %2 = stablehlo.subtract %arg3, %1 : tensor<f64>
    %3 = stablehlo.divide %arg0, %2 : tensor<f64>
    %4 = stablehlo.convert %arg2 : tensor<f64>
    %5 = stablehlo.multiply %arg0, %4 : tensor<f64>
    %6 = stablehlo.subtract %arg4, %5 : tensor<f64>
    %7 = stablehlo.divide %6, %2 : tensor<f64>
    return %3, %7, %3, %7 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<8xf64>, %arg1: tensor<f64>, %arg2: tensor<i64>) -> tensor<8xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<8xf64>, tensor<1xf64>, tensor<i64>) -> tensor<8xf64>
    return %1 : tensor<8xf64>
  }
  func.func private @closed_call_1(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
    %0 = stablehlo.convert %arg0 : tensor<f64>
    %1 = stablehlo.multiply %arg1, %0 : tensor<f64>
    %2 = stablehlo.subtract %arg2, %1 : tensor<f64>
    return %2, %2 : tensor<f64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim_2(%arg0: tensor<400xf64>, %arg1: tensor<f64>, %arg2: tensor<i64>) -> tensor<400xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<400xf64>, tensor<1xf64>, tensor<i64>) -> tensor<400xf64>
    return %1 : tensor<400xf64>
  }
}
