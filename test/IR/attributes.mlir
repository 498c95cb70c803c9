// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

// Layouts print by alias.
// CHECK-DAG: #[[SWIZZLED:.+]] = #blockscale.layout<swizzle_128x4>
// CHECK-DAG: #[[ROWS:.+]] = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
// CHECK-DAG: #[[COLS:.+]] = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
// CHECK-DAG: #[[ANY:.+]] = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
// CHECK-DAG: #[[TILES:.+]] = #blockscale.layout<swizzle_8x4>
// CHECK-DAG: #prepacked = #blockscale.data_layout<fragments_64x64>
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#cols = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>

// Both scale types take a layout, with leading dimensions and dynamic sizes.
// CHECK: func.func private @layouts
// CHECK-SAME: tensor<200x5xf8E4M3FN, #[[SWIZZLED]]>
// CHECK-SAME: tensor<2x?x?xf8E8M0FNU, #[[SWIZZLED]]>
func.func private @layouts(tensor<200x5xf8E4M3FN, #swizzled>, tensor<2x?x?xf8E8M0FNU, #swizzled>)

// CHECK: func.func private @few_rows
// CHECK-SAME: tensor<2x4x5xf8E4M3FN, #[[TILES]]>
func.func private @few_rows(tensor<2x4x5xf8E4M3FN, #blockscale.layout<swizzle_8x4>>)

// CHECK: func.func private @grouped_layouts
// CHECK-SAME: tensor<70x3xf8E8M0FNU, #[[ROWS]]>
// CHECK-SAME: tensor<?x?xf8E4M3FN, #[[COLS]]>
// CHECK-SAME: tensor<70x3xf8E8M0FNU, #[[ANY]]>
func.func private @grouped_layouts(tensor<70x3xf8E8M0FNU, #rows>, tensor<?x?xf8E4M3FN, #cols>, tensor<70x3xf8E8M0FNU, #any>)

// Data of every format take a layout, with leading dimensions and dynamic sizes.
// CHECK: func.func private @data_layouts
// CHECK-SAME: tensor<200x256xf4E2M1FN, #prepacked>
// CHECK-SAME: tensor<3x?x?xf8E4M3FN, #prepacked>
// CHECK-SAME: tensor<1x1xf8E5M2, #prepacked>, tensor<1x1xf6E2M3FN, #prepacked>, tensor<1x1xf6E3M2FN, #prepacked>, tensor<1x1xi8, #prepacked>
func.func private @data_layouts(tensor<200x256xf4E2M1FN, #prepacked>, tensor<3x?x?xf8E4M3FN, #prepacked>,
                                tensor<1x1xf8E5M2, #prepacked>, tensor<1x1xf6E2M3FN, #prepacked>,
                                tensor<1x1xf6E3M2FN, #prepacked>, tensor<1x1xi8, #prepacked>)

// CHECK: func.func private @recipes
// CHECK-SAME: [#blockscale<recipe torchao>, #blockscale<recipe mslk>, #blockscale<recipe te>, #blockscale<recipe modelopt>]
func.func private @recipes() attributes {
  nvfp4 = [#blockscale<recipe torchao>, #blockscale<recipe mslk>,
           #blockscale<recipe te>, #blockscale<recipe modelopt>]
}

// CHECK: func.func private @mx_recipes
// CHECK-SAME: [#blockscale<recipe floor>, #blockscale<recipe rceil>, #blockscale<recipe rceil_sat>, #blockscale<recipe ceil>, #blockscale<recipe even>]
func.func private @mx_recipes() attributes {
  mx = [#blockscale<recipe floor>, #blockscale<recipe rceil>,
        #blockscale<recipe rceil_sat>, #blockscale<recipe ceil>,
        #blockscale<recipe even>]
}

// Defaults of the target are not printed.
// CHECK: gpu.module @default_target [#blockscale.target<chip = "sm_100a">]
gpu.module @default_target [#blockscale.target<chip = "sm_100a", O = 3>] {
}

// CHECK: gpu.module @target [#blockscale.target<chip = "sm_103a", features = "+ptx88", O = 2>]
gpu.module @target [#blockscale.target<chip = "sm_103a", features = "+ptx88", O = 2>] {
}

// CHECK: func.func private @schedule
// CHECK-SAME: pair = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 4, band = 8, ctas = 148, multicast = 2, splits = 3>
// CHECK-SAME: schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>
func.func private @schedule() attributes {
  schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148, splits = 1>,
  pair = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 4, band = 8, ctas = 148, multicast = 2, splits = 3>
}
