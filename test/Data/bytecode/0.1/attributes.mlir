// Layouts print by alias.
#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#cols = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>

// Both scale types take a layout, with leading dimensions and dynamic sizes.
func.func private @layouts(tensor<200x5xf8E4M3FN, #swizzled>, tensor<2x?x?xf8E8M0FNU, #swizzled>)

func.func private @grouped_layouts(tensor<70x3xf8E8M0FNU, #rows>, tensor<?x?xf8E4M3FN, #cols>)

func.func private @recipes() attributes {
  nvfp4 = [#blockscale<recipe torchao>, #blockscale<recipe mslk>,
           #blockscale<recipe te>, #blockscale<recipe modelopt>]
}

func.func private @mx_recipes() attributes {
  mx = [#blockscale<recipe floor>, #blockscale<recipe rceil>,
        #blockscale<recipe rceil_sat>, #blockscale<recipe ceil>,
        #blockscale<recipe even>]
}

// Defaults of the target are not printed.
gpu.module @default_target [#blockscale.target<chip = "sm_100a", O = 3>] {
}

gpu.module @target [#blockscale.target<chip = "sm_103a", features = "+ptx88", O = 2>] {
}

func.func private @schedule() attributes {
  schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148, splits = 1>,
  pair = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 4, band = 8, ctas = 148, multicast = 2, splits = 3>
}
