// point -1.6388571438904884 0.06135350983817159 -0.9640996635412404 0.7572210447581504 -2.034167273443428 -0.9144945379945887 0.7095799877420675 1.156401048432157 -2.158005380126208 -0.49803984475130336 0.32802009254257697 -0.6092161379498706 1.5906402313231438 -1.1912266816177808
// value 10.005197248649951
// slope 0.0 1.2432602481052941 1.329880361519531 -7.8988264888911965 0.6314710839406262 2.419205731136102 0.0 -2.189131644539449 -9.797072145651608 -2.274017717322141 -3.1165931741605437 0.3274852514528962 0.9290817990008986 -0.009404078608254644
module @jit_arm attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<14xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.79999999999999982> : tensor<f64>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<1.400000e+00> : tensor<f64>
    %cst_4 = stablehlo.constant dense<1.600000e+00> : tensor<f64>
    %cst_5 = stablehlo.constant dense<1.800000e+00> : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %cst_7 = stablehlo.constant dense<1.000000e-02> : tensor<f64>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_9 = stablehlo.constant dense<1.500000e-01> : tensor<f64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_11 = stablehlo.constant dense<[0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<3xf64>
    %cst_12 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<3xf64>
    %0 = stablehlo.slice %arg0 [0:7] : (tensor<14xf64>) -> tensor<7xf64>
    %1 = stablehlo.slice %arg0 [7:14] : (tensor<14xf64>) -> tensor<7xf64>
    %2 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %3 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %5 = stablehlo.add %2, %4 : tensor<3x3xi64>
    %6 = stablehlo.compare EQ, %5, %3, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %7 = stablehlo.convert %6 : (tensor<3x3xi1>) -> tensor<3x3xf64>
    %8 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %9 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<7x7xf64>
    %10 = stablehlo.slice %0 [0:1] : (tensor<7xf64>) -> tensor<1xf64>
    %11 = stablehlo.reshape %10 : (tensor<1xf64>) -> tensor<f64>
    %12 = stablehlo.sine %11 : tensor<f64>
    %13 = stablehlo.slice %0 [0:1] : (tensor<7xf64>) -> tensor<1xf64>
    %14 = stablehlo.reshape %13 : (tensor<1xf64>) -> tensor<f64>
    %15 = stablehlo.cosine %14 : tensor<f64>
    %16 = stablehlo.negate %12 : tensor<f64>
    %17 = stablehlo.slice %7 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %18 = stablehlo.reshape %17 : (tensor<3x1xf64>) -> tensor<3xf64>
    %19 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %20 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %21 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %22 = stablehlo.concatenate %19, %20, %21, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %23 = stablehlo.broadcast_in_dim %22, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %24 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %25 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %26 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %27 = stablehlo.concatenate %24, %25, %26, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %28 = stablehlo.broadcast_in_dim %27, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %29 = stablehlo.broadcast_in_dim %cst_11, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %30 = stablehlo.concatenate %23, %28, %29, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %31 = stablehlo.dot_general %7, %30, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %32 = stablehlo.slice %31 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %33 = stablehlo.reshape %32 : (tensor<3x1xf64>) -> tensor<3xf64>
    %34 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %35 = stablehlo.multiply %34, %33 : tensor<3xf64>
    %36 = stablehlo.add %8, %35 : tensor<3xf64>
    %37 = stablehlo.subtract %36, %8 : tensor<3xf64>
    %38 = call @cross(%18, %37) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %39 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %40 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %41 = stablehlo.broadcast_in_dim %38, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %42 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %43 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %44 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %45 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %46 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %47 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %48 = stablehlo.concatenate %41, %42, %43, %44, %45, %46, %47, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %49 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %50 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %51 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %52 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %53 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %54 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %55 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %56 = stablehlo.concatenate %49, %50, %51, %52, %53, %54, %55, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %57 = stablehlo.transpose %48, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %58 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %59 = stablehlo.multiply %58, %57 : tensor<7x3xf64>
    %60 = stablehlo.dot_general %59, %48, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %61 = stablehlo.add %9, %60 : tensor<7x7xf64>
    %62 = stablehlo.transpose %56, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %63 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %64 = stablehlo.multiply %63, %62 : tensor<7x3xf64>
    %65 = stablehlo.dot_general %64, %56, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %66 = stablehlo.add %61, %65 : tensor<7x7xf64>
    %67 = stablehlo.slice %31 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %68 = stablehlo.reshape %67 : (tensor<3x1xf64>) -> tensor<3xf64>
    %69 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %70 = stablehlo.multiply %69, %68 : tensor<3xf64>
    %71 = stablehlo.add %8, %70 : tensor<3xf64>
    %72 = stablehlo.slice %0 [1:2] : (tensor<7xf64>) -> tensor<1xf64>
    %73 = stablehlo.reshape %72 : (tensor<1xf64>) -> tensor<f64>
    %74 = stablehlo.sine %73 : tensor<f64>
    %75 = stablehlo.slice %0 [1:2] : (tensor<7xf64>) -> tensor<1xf64>
    %76 = stablehlo.reshape %75 : (tensor<1xf64>) -> tensor<f64>
    %77 = stablehlo.cosine %76 : tensor<f64>
    %78 = stablehlo.negate %74 : tensor<f64>
    %79 = stablehlo.slice %31 [0:3, 1:2] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %80 = stablehlo.reshape %79 : (tensor<3x1xf64>) -> tensor<3xf64>
    %81 = stablehlo.broadcast_in_dim %77, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %82 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %83 = stablehlo.broadcast_in_dim %74, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %84 = stablehlo.concatenate %81, %82, %83, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %85 = stablehlo.broadcast_in_dim %84, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %86 = stablehlo.broadcast_in_dim %cst_12, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %87 = stablehlo.broadcast_in_dim %78, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %88 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %89 = stablehlo.broadcast_in_dim %77, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %90 = stablehlo.concatenate %87, %88, %89, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %91 = stablehlo.broadcast_in_dim %90, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %92 = stablehlo.concatenate %85, %86, %91, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %93 = stablehlo.dot_general %31, %92, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %94 = stablehlo.slice %93 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %95 = stablehlo.reshape %94 : (tensor<3x1xf64>) -> tensor<3xf64>
    %96 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %97 = stablehlo.multiply %96, %95 : tensor<3xf64>
    %98 = stablehlo.add %71, %97 : tensor<3xf64>
    %99 = stablehlo.subtract %98, %8 : tensor<3xf64>
    %100 = call @cross(%18, %99) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %101 = stablehlo.subtract %98, %71 : tensor<3xf64>
    %102 = call @cross(%80, %101) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %103 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %104 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %105 = stablehlo.broadcast_in_dim %100, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %106 = stablehlo.broadcast_in_dim %102, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %107 = stablehlo.broadcast_in_dim %103, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %108 = stablehlo.broadcast_in_dim %103, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %109 = stablehlo.broadcast_in_dim %103, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %110 = stablehlo.broadcast_in_dim %103, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %111 = stablehlo.broadcast_in_dim %103, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %112 = stablehlo.concatenate %105, %106, %107, %108, %109, %110, %111, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %113 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %114 = stablehlo.broadcast_in_dim %80, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %115 = stablehlo.broadcast_in_dim %104, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %116 = stablehlo.broadcast_in_dim %104, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %117 = stablehlo.broadcast_in_dim %104, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %118 = stablehlo.broadcast_in_dim %104, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %119 = stablehlo.broadcast_in_dim %104, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %120 = stablehlo.concatenate %113, %114, %115, %116, %117, %118, %119, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %121 = stablehlo.transpose %112, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %122 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %123 = stablehlo.multiply %122, %121 : tensor<7x3xf64>
    %124 = stablehlo.dot_general %123, %112, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %125 = stablehlo.add %66, %124 : tensor<7x7xf64>
    %126 = stablehlo.transpose %120, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %127 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %128 = stablehlo.multiply %127, %126 : tensor<7x3xf64>
    %129 = stablehlo.dot_general %128, %120, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %130 = stablehlo.add %125, %129 : tensor<7x7xf64>
    %131 = stablehlo.slice %93 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %132 = stablehlo.reshape %131 : (tensor<3x1xf64>) -> tensor<3xf64>
    %133 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %134 = stablehlo.multiply %133, %132 : tensor<3xf64>
    %135 = stablehlo.add %71, %134 : tensor<3xf64>
    %136 = stablehlo.slice %0 [2:3] : (tensor<7xf64>) -> tensor<1xf64>
    %137 = stablehlo.reshape %136 : (tensor<1xf64>) -> tensor<f64>
    %138 = stablehlo.sine %137 : tensor<f64>
    %139 = stablehlo.slice %0 [2:3] : (tensor<7xf64>) -> tensor<1xf64>
    %140 = stablehlo.reshape %139 : (tensor<1xf64>) -> tensor<f64>
    %141 = stablehlo.cosine %140 : tensor<f64>
    %142 = stablehlo.negate %138 : tensor<f64>
    %143 = stablehlo.slice %93 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %144 = stablehlo.reshape %143 : (tensor<3x1xf64>) -> tensor<3xf64>
    %145 = stablehlo.broadcast_in_dim %141, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %146 = stablehlo.broadcast_in_dim %142, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %147 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %148 = stablehlo.concatenate %145, %146, %147, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %149 = stablehlo.broadcast_in_dim %148, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %150 = stablehlo.broadcast_in_dim %138, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %151 = stablehlo.broadcast_in_dim %141, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %152 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %153 = stablehlo.concatenate %150, %151, %152, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %154 = stablehlo.broadcast_in_dim %153, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %155 = stablehlo.broadcast_in_dim %cst_11, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %156 = stablehlo.concatenate %149, %154, %155, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %157 = stablehlo.dot_general %93, %156, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %158 = stablehlo.slice %157 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %159 = stablehlo.reshape %158 : (tensor<3x1xf64>) -> tensor<3xf64>
    %160 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %161 = stablehlo.multiply %160, %159 : tensor<3xf64>
    %162 = stablehlo.add %135, %161 : tensor<3xf64>
    %163 = stablehlo.subtract %162, %8 : tensor<3xf64>
    %164 = call @cross(%18, %163) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %165 = stablehlo.subtract %162, %71 : tensor<3xf64>
    %166 = call @cross(%80, %165) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %167 = stablehlo.subtract %162, %135 : tensor<3xf64>
    %168 = call @cross(%144, %167) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %169 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %170 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %171 = stablehlo.broadcast_in_dim %164, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %172 = stablehlo.broadcast_in_dim %166, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %173 = stablehlo.broadcast_in_dim %168, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %174 = stablehlo.broadcast_in_dim %169, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %175 = stablehlo.broadcast_in_dim %169, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %176 = stablehlo.broadcast_in_dim %169, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %177 = stablehlo.broadcast_in_dim %169, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %178 = stablehlo.concatenate %171, %172, %173, %174, %175, %176, %177, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %179 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %180 = stablehlo.broadcast_in_dim %80, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %181 = stablehlo.broadcast_in_dim %144, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %182 = stablehlo.broadcast_in_dim %170, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %183 = stablehlo.broadcast_in_dim %170, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %184 = stablehlo.broadcast_in_dim %170, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %185 = stablehlo.broadcast_in_dim %170, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %186 = stablehlo.concatenate %179, %180, %181, %182, %183, %184, %185, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %187 = stablehlo.transpose %178, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %188 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %189 = stablehlo.multiply %188, %187 : tensor<7x3xf64>
    %190 = stablehlo.dot_general %189, %178, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %191 = stablehlo.add %130, %190 : tensor<7x7xf64>
    %192 = stablehlo.transpose %186, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %193 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %194 = stablehlo.multiply %193, %192 : tensor<7x3xf64>
    %195 = stablehlo.dot_general %194, %186, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %196 = stablehlo.add %191, %195 : tensor<7x7xf64>
    %197 = stablehlo.slice %157 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %198 = stablehlo.reshape %197 : (tensor<3x1xf64>) -> tensor<3xf64>
    %199 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %200 = stablehlo.multiply %199, %198 : tensor<3xf64>
    %201 = stablehlo.add %135, %200 : tensor<3xf64>
    %202 = stablehlo.slice %0 [3:4] : (tensor<7xf64>) -> tensor<1xf64>
    %203 = stablehlo.reshape %202 : (tensor<1xf64>) -> tensor<f64>
    %204 = stablehlo.sine %203 : tensor<f64>
    %205 = stablehlo.slice %0 [3:4] : (tensor<7xf64>) -> tensor<1xf64>
    %206 = stablehlo.reshape %205 : (tensor<1xf64>) -> tensor<f64>
    %207 = stablehlo.cosine %206 : tensor<f64>
    %208 = stablehlo.negate %204 : tensor<f64>
    %209 = stablehlo.slice %157 [0:3, 1:2] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %210 = stablehlo.reshape %209 : (tensor<3x1xf64>) -> tensor<3xf64>
    %211 = stablehlo.broadcast_in_dim %207, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %212 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %213 = stablehlo.broadcast_in_dim %204, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %214 = stablehlo.concatenate %211, %212, %213, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %215 = stablehlo.broadcast_in_dim %214, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %216 = stablehlo.broadcast_in_dim %cst_12, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %217 = stablehlo.broadcast_in_dim %208, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %218 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %219 = stablehlo.broadcast_in_dim %207, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %220 = stablehlo.concatenate %217, %218, %219, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %221 = stablehlo.broadcast_in_dim %220, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %222 = stablehlo.concatenate %215, %216, %221, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %223 = stablehlo.dot_general %157, %222, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %224 = stablehlo.slice %223 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %225 = stablehlo.reshape %224 : (tensor<3x1xf64>) -> tensor<3xf64>
    %226 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %227 = stablehlo.multiply %226, %225 : tensor<3xf64>
    %228 = stablehlo.add %201, %227 : tensor<3xf64>
    %229 = stablehlo.subtract %228, %8 : tensor<3xf64>
    %230 = call @cross(%18, %229) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %231 = stablehlo.subtract %228, %71 : tensor<3xf64>
    %232 = call @cross(%80, %231) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %233 = stablehlo.subtract %228, %135 : tensor<3xf64>
    %234 = call @cross(%144, %233) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %235 = stablehlo.subtract %228, %201 : tensor<3xf64>
    %236 = call @cross(%210, %235) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %237 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %238 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %239 = stablehlo.broadcast_in_dim %230, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %240 = stablehlo.broadcast_in_dim %232, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %241 = stablehlo.broadcast_in_dim %234, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %242 = stablehlo.broadcast_in_dim %236, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %243 = stablehlo.broadcast_in_dim %237, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %244 = stablehlo.broadcast_in_dim %237, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %245 = stablehlo.broadcast_in_dim %237, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %246 = stablehlo.concatenate %239, %240, %241, %242, %243, %244, %245, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %247 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %248 = stablehlo.broadcast_in_dim %80, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %249 = stablehlo.broadcast_in_dim %144, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %250 = stablehlo.broadcast_in_dim %210, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %251 = stablehlo.broadcast_in_dim %238, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %252 = stablehlo.broadcast_in_dim %238, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %253 = stablehlo.broadcast_in_dim %238, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %254 = stablehlo.concatenate %247, %248, %249, %250, %251, %252, %253, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %255 = stablehlo.transpose %246, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %256 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %257 = stablehlo.multiply %256, %255 : tensor<7x3xf64>
    %258 = stablehlo.dot_general %257, %246, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %259 = stablehlo.add %196, %258 : tensor<7x7xf64>
    %260 = stablehlo.transpose %254, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %261 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %262 = stablehlo.multiply %261, %260 : tensor<7x3xf64>
    %263 = stablehlo.dot_general %262, %254, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %264 = stablehlo.add %259, %263 : tensor<7x7xf64>
    %265 = stablehlo.slice %223 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %266 = stablehlo.reshape %265 : (tensor<3x1xf64>) -> tensor<3xf64>
    %267 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %268 = stablehlo.multiply %267, %266 : tensor<3xf64>
    %269 = stablehlo.add %201, %268 : tensor<3xf64>
    %270 = stablehlo.slice %0 [4:5] : (tensor<7xf64>) -> tensor<1xf64>
    %271 = stablehlo.reshape %270 : (tensor<1xf64>) -> tensor<f64>
    %272 = stablehlo.sine %271 : tensor<f64>
    %273 = stablehlo.slice %0 [4:5] : (tensor<7xf64>) -> tensor<1xf64>
    %274 = stablehlo.reshape %273 : (tensor<1xf64>) -> tensor<f64>
    %275 = stablehlo.cosine %274 : tensor<f64>
    %276 = stablehlo.negate %272 : tensor<f64>
    %277 = stablehlo.slice %223 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %278 = stablehlo.reshape %277 : (tensor<3x1xf64>) -> tensor<3xf64>
    %279 = stablehlo.broadcast_in_dim %275, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %280 = stablehlo.broadcast_in_dim %276, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %281 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %282 = stablehlo.concatenate %279, %280, %281, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %283 = stablehlo.broadcast_in_dim %282, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %284 = stablehlo.broadcast_in_dim %272, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %285 = stablehlo.broadcast_in_dim %275, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %286 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %287 = stablehlo.concatenate %284, %285, %286, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %288 = stablehlo.broadcast_in_dim %287, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %289 = stablehlo.broadcast_in_dim %cst_11, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %290 = stablehlo.concatenate %283, %288, %289, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %291 = stablehlo.dot_general %223, %290, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %292 = stablehlo.slice %291 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %293 = stablehlo.reshape %292 : (tensor<3x1xf64>) -> tensor<3xf64>
    %294 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %295 = stablehlo.multiply %294, %293 : tensor<3xf64>
    %296 = stablehlo.add %269, %295 : tensor<3xf64>
    %297 = stablehlo.subtract %296, %8 : tensor<3xf64>
    %298 = call @cross(%18, %297) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %299 = stablehlo.subtract %296, %71 : tensor<3xf64>
    %300 = call @cross(%80, %299) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %301 = stablehlo.subtract %296, %135 : tensor<3xf64>
    %302 = call @cross(%144, %301) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %303 = stablehlo.subtract %296, %201 : tensor<3xf64>
    %304 = call @cross(%210, %303) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %305 = stablehlo.subtract %296, %269 : tensor<3xf64>
    %306 = call @cross(%278, %305) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %307 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %308 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %309 = stablehlo.broadcast_in_dim %298, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %310 = stablehlo.broadcast_in_dim %300, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %311 = stablehlo.broadcast_in_dim %302, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %312 = stablehlo.broadcast_in_dim %304, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %313 = stablehlo.broadcast_in_dim %306, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %314 = stablehlo.broadcast_in_dim %307, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %315 = stablehlo.broadcast_in_dim %307, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %316 = stablehlo.concatenate %309, %310, %311, %312, %313, %314, %315, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %317 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %318 = stablehlo.broadcast_in_dim %80, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %319 = stablehlo.broadcast_in_dim %144, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %320 = stablehlo.broadcast_in_dim %210, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %321 = stablehlo.broadcast_in_dim %278, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %322 = stablehlo.broadcast_in_dim %308, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %323 = stablehlo.broadcast_in_dim %308, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %324 = stablehlo.concatenate %317, %318, %319, %320, %321, %322, %323, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %325 = stablehlo.transpose %316, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %326 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %327 = stablehlo.multiply %326, %325 : tensor<7x3xf64>
    %328 = stablehlo.dot_general %327, %316, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %329 = stablehlo.add %264, %328 : tensor<7x7xf64>
    %330 = stablehlo.transpose %324, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %331 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %332 = stablehlo.multiply %331, %330 : tensor<7x3xf64>
    %333 = stablehlo.dot_general %332, %324, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %334 = stablehlo.add %329, %333 : tensor<7x7xf64>
    %335 = stablehlo.slice %291 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %336 = stablehlo.reshape %335 : (tensor<3x1xf64>) -> tensor<3xf64>
    %337 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %338 = stablehlo.multiply %337, %336 : tensor<3xf64>
    %339 = stablehlo.add %269, %338 : tensor<3xf64>
    %340 = stablehlo.slice %0 [5:6] : (tensor<7xf64>) -> tensor<1xf64>
    %341 = stablehlo.reshape %340 : (tensor<1xf64>) -> tensor<f64>
    %342 = stablehlo.sine %341 : tensor<f64>
    %343 = stablehlo.slice %0 [5:6] : (tensor<7xf64>) -> tensor<1xf64>
    %344 = stablehlo.reshape %343 : (tensor<1xf64>) -> tensor<f64>
    %345 = stablehlo.cosine %344 : tensor<f64>
    %346 = stablehlo.negate %342 : tensor<f64>
    %347 = stablehlo.slice %291 [0:3, 1:2] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %348 = stablehlo.reshape %347 : (tensor<3x1xf64>) -> tensor<3xf64>
    %349 = stablehlo.broadcast_in_dim %345, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %350 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %351 = stablehlo.broadcast_in_dim %342, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %352 = stablehlo.concatenate %349, %350, %351, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %353 = stablehlo.broadcast_in_dim %352, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %354 = stablehlo.broadcast_in_dim %cst_12, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %355 = stablehlo.broadcast_in_dim %346, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %356 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %357 = stablehlo.broadcast_in_dim %345, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %358 = stablehlo.concatenate %355, %356, %357, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %359 = stablehlo.broadcast_in_dim %358, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %360 = stablehlo.concatenate %353, %354, %359, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %361 = stablehlo.dot_general %291, %360, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %362 = stablehlo.slice %361 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %363 = stablehlo.reshape %362 : (tensor<3x1xf64>) -> tensor<3xf64>
    %364 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %365 = stablehlo.multiply %364, %363 : tensor<3xf64>
    %366 = stablehlo.add %339, %365 : tensor<3xf64>
    %367 = stablehlo.subtract %366, %8 : tensor<3xf64>
    %368 = call @cross(%18, %367) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %369 = stablehlo.subtract %366, %71 : tensor<3xf64>
    %370 = call @cross(%80, %369) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %371 = stablehlo.subtract %366, %135 : tensor<3xf64>
    %372 = call @cross(%144, %371) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %373 = stablehlo.subtract %366, %201 : tensor<3xf64>
    %374 = call @cross(%210, %373) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %375 = stablehlo.subtract %366, %269 : tensor<3xf64>
    %376 = call @cross(%278, %375) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %377 = stablehlo.subtract %366, %339 : tensor<3xf64>
    %378 = call @cross(%348, %377) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %379 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %380 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %381 = stablehlo.broadcast_in_dim %368, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %382 = stablehlo.broadcast_in_dim %370, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %383 = stablehlo.broadcast_in_dim %372, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %384 = stablehlo.broadcast_in_dim %374, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %385 = stablehlo.broadcast_in_dim %376, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %386 = stablehlo.broadcast_in_dim %378, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %387 = stablehlo.broadcast_in_dim %379, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %388 = stablehlo.concatenate %381, %382, %383, %384, %385, %386, %387, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %389 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %390 = stablehlo.broadcast_in_dim %80, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %391 = stablehlo.broadcast_in_dim %144, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %392 = stablehlo.broadcast_in_dim %210, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %393 = stablehlo.broadcast_in_dim %278, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %394 = stablehlo.broadcast_in_dim %348, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %395 = stablehlo.broadcast_in_dim %380, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %396 = stablehlo.concatenate %389, %390, %391, %392, %393, %394, %395, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %397 = stablehlo.transpose %388, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %398 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %399 = stablehlo.multiply %398, %397 : tensor<7x3xf64>
    %400 = stablehlo.dot_general %399, %388, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %401 = stablehlo.add %334, %400 : tensor<7x7xf64>
    %402 = stablehlo.transpose %396, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %403 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %404 = stablehlo.multiply %403, %402 : tensor<7x3xf64>
    %405 = stablehlo.dot_general %404, %396, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %406 = stablehlo.add %401, %405 : tensor<7x7xf64>
    %407 = stablehlo.slice %361 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %408 = stablehlo.reshape %407 : (tensor<3x1xf64>) -> tensor<3xf64>
    %409 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %410 = stablehlo.multiply %409, %408 : tensor<3xf64>
    %411 = stablehlo.add %339, %410 : tensor<3xf64>
    %412 = stablehlo.slice %0 [6:7] : (tensor<7xf64>) -> tensor<1xf64>
    %413 = stablehlo.reshape %412 : (tensor<1xf64>) -> tensor<f64>
    %414 = stablehlo.sine %413 : tensor<f64>
    %415 = stablehlo.slice %0 [6:7] : (tensor<7xf64>) -> tensor<1xf64>
    %416 = stablehlo.reshape %415 : (tensor<1xf64>) -> tensor<f64>
    %417 = stablehlo.cosine %416 : tensor<f64>
    %418 = stablehlo.negate %414 : tensor<f64>
    %419 = stablehlo.slice %361 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %420 = stablehlo.reshape %419 : (tensor<3x1xf64>) -> tensor<3xf64>
    %421 = stablehlo.broadcast_in_dim %417, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %422 = stablehlo.broadcast_in_dim %418, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %423 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %424 = stablehlo.concatenate %421, %422, %423, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %425 = stablehlo.broadcast_in_dim %424, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %426 = stablehlo.broadcast_in_dim %414, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %427 = stablehlo.broadcast_in_dim %417, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %428 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %429 = stablehlo.concatenate %426, %427, %428, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    %430 = stablehlo.broadcast_in_dim %429, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %431 = stablehlo.broadcast_in_dim %cst_11, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %432 = stablehlo.concatenate %425, %430, %431, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %433 = stablehlo.dot_general %361, %432, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %434 = stablehlo.slice %433 [0:3, 2:3] : (tensor<3x3xf64>) -> tensor<3x1xf64>
    %435 = stablehlo.reshape %434 : (tensor<3x1xf64>) -> tensor<3xf64>
    %436 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %437 = stablehlo.multiply %436, %435 : tensor<3xf64>
    %438 = stablehlo.add %411, %437 : tensor<3xf64>
    %439 = stablehlo.subtract %438, %8 : tensor<3xf64>
    %440 = call @cross(%18, %439) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %441 = stablehlo.subtract %438, %71 : tensor<3xf64>
    %442 = call @cross(%80, %441) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %443 = stablehlo.subtract %438, %135 : tensor<3xf64>
    %444 = call @cross(%144, %443) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %445 = stablehlo.subtract %438, %201 : tensor<3xf64>
    %446 = call @cross(%210, %445) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %447 = stablehlo.subtract %438, %269 : tensor<3xf64>
    %448 = call @cross(%278, %447) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %449 = stablehlo.subtract %438, %339 : tensor<3xf64>
    %450 = call @cross(%348, %449) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %451 = stablehlo.subtract %438, %411 : tensor<3xf64>
    %452 = call @cross(%420, %451) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %453 = stablehlo.broadcast_in_dim %440, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %454 = stablehlo.broadcast_in_dim %442, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %455 = stablehlo.broadcast_in_dim %444, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %456 = stablehlo.broadcast_in_dim %446, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %457 = stablehlo.broadcast_in_dim %448, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %458 = stablehlo.broadcast_in_dim %450, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %459 = stablehlo.broadcast_in_dim %452, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %460 = stablehlo.concatenate %453, %454, %455, %456, %457, %458, %459, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %461 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %462 = stablehlo.broadcast_in_dim %80, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %463 = stablehlo.broadcast_in_dim %144, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %464 = stablehlo.broadcast_in_dim %210, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %465 = stablehlo.broadcast_in_dim %278, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %466 = stablehlo.broadcast_in_dim %348, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %467 = stablehlo.broadcast_in_dim %420, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
    %468 = stablehlo.concatenate %461, %462, %463, %464, %465, %466, %467, dim = 1 : (tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>, tensor<3x1xf64>) -> tensor<3x7xf64>
    %469 = stablehlo.transpose %460, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %470 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %471 = stablehlo.multiply %470, %469 : tensor<7x3xf64>
    %472 = stablehlo.dot_general %471, %460, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %473 = stablehlo.add %406, %472 : tensor<7x7xf64>
    %474 = stablehlo.transpose %468, dims = [1, 0] : (tensor<3x7xf64>) -> tensor<7x3xf64>
    %475 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<7x3xf64>
    %476 = stablehlo.multiply %475, %474 : tensor<7x3xf64>
    %477 = stablehlo.dot_general %476, %468, contracting_dims = [1] x [0] : (tensor<7x3xf64>, tensor<3x7xf64>) -> tensor<7x7xf64>
    %478 = stablehlo.add %473, %477 : tensor<7x7xf64>
    %479 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<7xf64>
    %480 = stablehlo.multiply %479, %1 : tensor<7xf64>
    %481 = stablehlo.dot_general %480, %478, contracting_dims = [0] x [0] : (tensor<7xf64>, tensor<7x7xf64>) -> tensor<7xf64>
    %482 = stablehlo.dot_general %481, %1, contracting_dims = [0] x [0] : (tensor<7xf64>, tensor<7xf64>) -> tensor<f64>
    return %482 : tensor<f64>
  }
  func.func private @cross(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<3xf64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<3xf64>) -> tensor<1xf64>
    %3 = stablehlo.reshape %2 : (tensor<1xf64>) -> tensor<f64>
    %4 = stablehlo.slice %arg0 [2:3] : (tensor<3xf64>) -> tensor<1xf64>
    %5 = stablehlo.reshape %4 : (tensor<1xf64>) -> tensor<f64>
    %6 = stablehlo.slice %arg1 [0:1] : (tensor<3xf64>) -> tensor<1xf64>
    %7 = stablehlo.reshape %6 : (tensor<1xf64>) -> tensor<f64>
    %8 = stablehlo.slice %arg1 [1:2] : (tensor<3xf64>) -> tensor<1xf64>
    %9 = stablehlo.reshape %8 : (tensor<1xf64>) -> tensor<f64>
    %10 = stablehlo.slice %arg1 [2:3] : (tensor<3xf64>) -> tensor<1xf64>
    %11 = stablehlo.reshape %10 : (tensor<1xf64>) -> tensor<f64>
    %12 = stablehlo.multiply %3, %11 : tensor<f64>
    %13 = stablehlo.multiply %5, %9 : tensor<f64>
    %14 = stablehlo.subtract %12, %13 : tensor<f64>
    %15 = stablehlo.multiply %5, %7 : tensor<f64>
    %16 = stablehlo.multiply %1, %11 : tensor<f64>
    %17 = stablehlo.subtract %15, %16 : tensor<f64>
    %18 = stablehlo.multiply %1, %9 : tensor<f64>
    %19 = stablehlo.multiply %3, %7 : tensor<f64>
    %20 = stablehlo.subtract %18, %19 : tensor<f64>
    %21 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %22 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %23 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %24 = stablehlo.concatenate %21, %22, %23, dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
    return %24 : tensor<3xf64>
  }
}
