// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// A layout kind that does not exist.
// expected-error @below {{expected ::blockscale::LayoutKind to be one of: swizzle_128x4, swizzle_8x4}}
// expected-error @below {{failed to parse}}
func.func private @kind(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x8>>)

// -----

// Absence says "not grouped", not zero.
// expected-error @below {{expected groups to be positive, but got 0}}
func.func private @no_groups(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 0, dim = 0>>)

// -----

// expected-error @below {{expected groups to be positive, but got -2}}
func.func private @negative_groups(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = -2, dim = 0>>)

// -----

// The least number, which stands for a dynamic one in memory, is none in a text.
// expected-error @below {{expected groups to be positive, but got -9223372036854775808}}
func.func private @least_groups(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = -9223372036854775808, dim = 0>>)

// -----

// A dynamic number of groups is of tiles of 128x4, too.
// expected-error @below {{expected groups only of swizzle_128x4, but got swizzle_8x4}}
func.func private @any_groups_of_8x4(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4, groups = ?, dim = 0>>)

// -----

// expected-error @below {{expected a grouped scale layout to encode a tensor of rank 2, but got rank 3}}
func.func private @any_groups_of_batch(tensor<2x4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>)

// -----

// expected-error @below {{expected dim to be 0 (rows) or 1 (columns), but got 2}}
func.func private @grouped_dim(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 2>>)

// -----

// Groups are of tiles of 128x4.
// expected-error @below {{expected groups only of swizzle_128x4, but got swizzle_8x4}}
func.func private @groups_of_8x4(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4, groups = 2, dim = 0>>)

// -----

// Groups run along a dimension.
// expected-error @below {{expected ','}}
func.func private @missing_dim(tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2>>)

// -----

// expected-error @below {{expected a scale layout to encode f8E4M3FN or f8E8M0FNU elements, but got 'f32'}}
func.func private @layout_c1(tensor<4x4xf32, #blockscale.layout<swizzle_128x4>>)

// -----

// The parser asks the layout about an element type that is none.
// expected-error @below {{expected '<'}}
func.func private @no_element_type(tensor<4x4xtensor, #blockscale.layout<swizzle_128x4>>)

// -----

// expected-error @below {{expected a scale layout to encode a tensor of rank 2 or more, but got rank 1}}
func.func private @layout_c2(tensor<4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>)

// -----

// expected-error @below {{expected a grouped scale layout to encode a tensor of rank 2, but got rank 3}}
func.func private @layout_c2_grouped(tensor<2x4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>)

// -----

// A data layout that does not exist.
// expected-error @below {{expected ::blockscale::DataLayoutKind to be one of: fragments_64x64}}
// expected-error @below {{failed to parse}}
func.func private @data_kind(tensor<4x4xf8E4M3FN, #blockscale.data_layout<fragments_8x8>>)

// -----

// expected-error @below {{expected a data layout to encode f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E4M3FN, f8E5M2 or i8 elements, but got 'bf16'}}
func.func private @data_layout_c1(tensor<4x4xbf16, #blockscale.data_layout<fragments_64x64>>)

// -----

// Scales have layouts of their own.
// expected-error @below {{expected a data layout to encode f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E4M3FN, f8E5M2 or i8 elements, but got 'f8E8M0FNU'}}
func.func private @data_layout_c1_scales(tensor<4x4xf8E8M0FNU, #blockscale.data_layout<fragments_64x64>>)

// -----

// The parser asks the layout about an element type that is none.
// expected-error @below {{expected '<'}}
func.func private @data_no_element_type(tensor<4x4xtensor, #blockscale.data_layout<fragments_64x64>>)

// -----

// expected-error @below {{expected a data layout to encode a tensor of rank 2 or more, but got rank 1}}
func.func private @data_layout_c2(tensor<4xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>)

// -----

// expected-error @below {{expected ::blockscale::Recipe to be one of: torchao, mslk, te, modelopt, floor, rceil, rceil_sat, ceil, even}}
// expected-error @below {{failed to parse}}
func.func private @recipe() attributes {recipe = #blockscale<recipe cublas>}

// -----

// expected-error @below {{expected the chip to be one of sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_110a, sm_120a, sm_121a, but got 'sm_90'}}
gpu.module @chip [#blockscale.target<chip = "sm_90">] {
}

// -----

// expected-error @below {{expected O to be 0 to 3, but got 4}}
gpu.module @opt_level [#blockscale.target<chip = "sm_100a", O = 4>] {
}

// -----

// expected-error @below {{expected rows to be a multiple of 8 from 8 to 256, but got 264}}
func.func private @gemm_schedule_c1() attributes {a = #blockscale.gemm_schedule<rows = 264, cols = 256, stages = 4, band = 8, ctas = 148>}

// -----

// expected-error @below {{expected cols to be a multiple of 8 from 8 to 256, but got 0}}
func.func private @gemm_schedule_c1_cols() attributes {a = #blockscale.gemm_schedule<rows = 128, cols = 0, stages = 4, band = 8, ctas = 148>}

// -----

// expected-error @below {{expected band to be positive, but got 0}}
func.func private @gemm_schedule_c2() attributes {a = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 0, ctas = 148>}

// -----

// Whole groups of eight columns are what tensor cores multiply.
// expected-error @below {{expected cols to be a multiple of 8 from 8 to 256, but got 12}}
func.func private @gemm_schedule_c1_odd() attributes {a = #blockscale.gemm_schedule<rows = 16, cols = 12, stages = 4, band = 8, ctas = 148>}

// -----

// expected-error @below {{expected multicast to be 1, but got 2}}
func.func private @gemm_schedule_c3() attributes {a = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 148, multicast = 2>}

// -----

// expected-error @below {{expected multicast to be 1 or 2, but got 4}}
func.func private @gemm_schedule_c3_pair() attributes {a = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 4, band = 8, ctas = 148, multicast = 4>}

// -----

// expected-error @below {{expected splits to be positive, but got 0}}
func.func private @gemm_schedule_c2_splits() attributes {a = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148, splits = 0>}
