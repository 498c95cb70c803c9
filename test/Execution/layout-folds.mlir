// Moving layout changes through slices, concatenations and expansions, and
// writing them in the quantizer, changes no byte, padding included. See
// Inputs/compare.py for the meaning of the names.
//
// RUN: %python %S/Inputs/compare.py %s %t --passes=--canonicalize | FileCheck %s
// CHECK: {{^}}60 equal, 1 different as they must be, 0 wrong

#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>

// A slice of a swizzled tensor, to the ragged end.
func.func @extract(%s: tensor<2x300x9xf8E4M3FN>) -> tensor<172x5xf8E4M3FN, #swizzled> {
  %0 = blockscale.swizzle %s : tensor<2x300x9xf8E4M3FN> -> tensor<2x300x9xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %0[1, 128, 4] [1, 172, 5] [1, 1, 1] : tensor<2x300x9xf8E4M3FN, #swizzled> to tensor<172x5xf8E4M3FN, #swizzled>
  return %1 : tensor<172x5xf8E4M3FN, #swizzled>
}

// The scales of one batch element, whose number is a constant operand.
func.func @element(%s: tensor<3x200x5xf8E8M0FNU>, %r: tensor<3x200x5xf8E8M0FNU>) -> tensor<3x200x5xf8E8M0FNU, #swizzled> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c200 = arith.constant 200 : index
  %0 = blockscale.swizzle %s : tensor<3x200x5xf8E8M0FNU> -> tensor<3x200x5xf8E8M0FNU, #swizzled>
  %1 = blockscale.swizzle %r : tensor<3x200x5xf8E8M0FNU> -> tensor<3x200x5xf8E8M0FNU, #swizzled>
  %2 = tensor.extract_slice %0[%c1, 0, 0] [1, %c200, 5] [1, 1, 1] : tensor<3x200x5xf8E8M0FNU, #swizzled> to tensor<?x5xf8E8M0FNU, #swizzled>
  %3 = tensor.insert_slice %2 into %1[%c2, 0, 0] [1, %c200, 5] [1, 1, 1] : tensor<?x5xf8E8M0FNU, #swizzled> into tensor<3x200x5xf8E8M0FNU, #swizzled>
  return %3 : tensor<3x200x5xf8E8M0FNU, #swizzled>
}

// There, sliced, and back: no swizzle stays.
func.func @extract_pair(%s: tensor<300x9xf8E8M0FNU>) -> tensor<172x4xf8E8M0FNU> {
  %0 = blockscale.swizzle %s : tensor<300x9xf8E8M0FNU> -> tensor<300x9xf8E8M0FNU, #swizzled>
  %1 = tensor.extract_slice %0[128, 4] [172, 4] [1, 1] : tensor<300x9xf8E8M0FNU, #swizzled> to tensor<172x4xf8E8M0FNU, #swizzled>
  %2 = blockscale.swizzle %1 : tensor<172x4xf8E8M0FNU, #swizzled> -> tensor<172x4xf8E8M0FNU>
  return %2 : tensor<172x4xf8E8M0FNU>
}

func.func @insert(%s: tensor<128x4xf8E4M3FN>, %r: tensor<300x9xf8E4M3FN>) -> tensor<300x9xf8E4M3FN, #swizzled> {
  %0 = blockscale.swizzle %s : tensor<128x4xf8E4M3FN> -> tensor<128x4xf8E4M3FN, #swizzled>
  %1 = blockscale.swizzle %r : tensor<300x9xf8E4M3FN> -> tensor<300x9xf8E4M3FN, #swizzled>
  %2 = tensor.insert_slice %0 into %1[128, 4] [128, 4] [1, 1] : tensor<128x4xf8E4M3FN, #swizzled> into tensor<300x9xf8E4M3FN, #swizzled>
  return %2 : tensor<300x9xf8E4M3FN, #swizzled>
}

// Rows, columns and batches of pieces that are unswizzled to be joined.
func.func @concat_rows(%a: tensor<128x80xbf16>, %b: tensor<72x80xbf16>) -> (tensor<128x5xf8E4M3FN, #swizzled>, tensor<72x5xf8E4M3FN, #swizzled>, tensor<200x5xf8E4M3FN, #swizzled>) {
  %qa, %sa = blockscale.quantize %a block [1, 16] : tensor<128x80xbf16> -> tensor<128x80xf4E2M1FN>, tensor<128x5xf8E4M3FN, #swizzled>
  %la = blockscale.swizzle %sa : tensor<128x5xf8E4M3FN, #swizzled> -> tensor<128x5xf8E4M3FN>
  %qb, %sb = blockscale.quantize %b block [1, 16] : tensor<72x80xbf16> -> tensor<72x80xf4E2M1FN>, tensor<72x5xf8E4M3FN, #swizzled>
  %lb = blockscale.swizzle %sb : tensor<72x5xf8E4M3FN, #swizzled> -> tensor<72x5xf8E4M3FN>
  %0 = tensor.concat dim(0) %la, %lb : (tensor<128x5xf8E4M3FN>, tensor<72x5xf8E4M3FN>) -> tensor<200x5xf8E4M3FN>
  %1 = blockscale.swizzle %0 : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #swizzled>
  return %sa, %sb, %1 : tensor<128x5xf8E4M3FN, #swizzled>, tensor<72x5xf8E4M3FN, #swizzled>, tensor<200x5xf8E4M3FN, #swizzled>
}
func.func @concat_columns(%a: tensor<200x128xbf16>, %b: tensor<200x64xbf16>, %c: tensor<200x48xbf16>) -> (tensor<200x8xf8E4M3FN, #swizzled>, tensor<200x4xf8E4M3FN, #swizzled>, tensor<200x3xf8E4M3FN, #swizzled>, tensor<200x15xf8E4M3FN, #swizzled>) {
  %qa, %sa = blockscale.quantize %a block [1, 16] : tensor<200x128xbf16> -> tensor<200x128xf4E2M1FN>, tensor<200x8xf8E4M3FN, #swizzled>
  %la = blockscale.swizzle %sa : tensor<200x8xf8E4M3FN, #swizzled> -> tensor<200x8xf8E4M3FN>
  %qb, %sb = blockscale.quantize %b block [1, 16] : tensor<200x64xbf16> -> tensor<200x64xf4E2M1FN>, tensor<200x4xf8E4M3FN, #swizzled>
  %lb = blockscale.swizzle %sb : tensor<200x4xf8E4M3FN, #swizzled> -> tensor<200x4xf8E4M3FN>
  %qc, %sc = blockscale.quantize %c block [1, 16] : tensor<200x48xbf16> -> tensor<200x48xf4E2M1FN>, tensor<200x3xf8E4M3FN, #swizzled>
  %lc = blockscale.swizzle %sc : tensor<200x3xf8E4M3FN, #swizzled> -> tensor<200x3xf8E4M3FN>
  %0 = tensor.concat dim(1) %la, %lb, %lc : (tensor<200x8xf8E4M3FN>, tensor<200x4xf8E4M3FN>, tensor<200x3xf8E4M3FN>) -> tensor<200x15xf8E4M3FN>
  %1 = blockscale.swizzle %0 : tensor<200x15xf8E4M3FN> -> tensor<200x15xf8E4M3FN, #swizzled>
  return %sa, %sb, %sc, %1 : tensor<200x8xf8E4M3FN, #swizzled>, tensor<200x4xf8E4M3FN, #swizzled>, tensor<200x3xf8E4M3FN, #swizzled>, tensor<200x15xf8E4M3FN, #swizzled>
}
func.func @concat_batches(%a: tensor<2x40x80xbf16>, %b: tensor<1x40x80xbf16>) -> (tensor<2x40x5xf8E4M3FN, #swizzled>, tensor<1x40x5xf8E4M3FN, #swizzled>, tensor<3x40x5xf8E4M3FN, #swizzled>) {
  %qa, %sa = blockscale.quantize %a block [1, 16] : tensor<2x40x80xbf16> -> tensor<2x40x80xf4E2M1FN>, tensor<2x40x5xf8E4M3FN, #swizzled>
  %la = blockscale.swizzle %sa : tensor<2x40x5xf8E4M3FN, #swizzled> -> tensor<2x40x5xf8E4M3FN>
  %qb, %sb = blockscale.quantize %b block [1, 16] : tensor<1x40x80xbf16> -> tensor<1x40x80xf4E2M1FN>, tensor<1x40x5xf8E4M3FN, #swizzled>
  %lb = blockscale.swizzle %sb : tensor<1x40x5xf8E4M3FN, #swizzled> -> tensor<1x40x5xf8E4M3FN>
  %0 = tensor.concat dim(0) %la, %lb : (tensor<2x40x5xf8E4M3FN>, tensor<1x40x5xf8E4M3FN>) -> tensor<3x40x5xf8E4M3FN>
  %1 = blockscale.swizzle %0 : tensor<3x40x5xf8E4M3FN> -> tensor<3x40x5xf8E4M3FN, #swizzled>
  return %sa, %sb, %1 : tensor<2x40x5xf8E4M3FN, #swizzled>, tensor<1x40x5xf8E4M3FN, #swizzled>, tensor<3x40x5xf8E4M3FN, #swizzled>
}

// Packed data is quantized in parts and joined, by rows and by columns.
func.func @packed.whole(%x: tensor<40x96xf32>) -> tensor<40x96xf4E2M1FN> {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<40x96xf32> -> tensor<40x96xf4E2M1FN>, tensor<40x6xf8E4M3FN>
  return %q : tensor<40x96xf4E2M1FN>
}
func.func @packed.same_rows(%x: tensor<40x96xf32>) -> tensor<40x96xf4E2M1FN> {
  %a = tensor.extract_slice %x[0, 0] [7, 96] [1, 1] : tensor<40x96xf32> to tensor<7x96xf32>
  %b = tensor.extract_slice %x[7, 0] [33, 96] [1, 1] : tensor<40x96xf32> to tensor<33x96xf32>
  %q, %s = blockscale.quantize %a block [1, 16] : tensor<7x96xf32> -> tensor<7x96xf4E2M1FN>, tensor<7x6xf8E4M3FN>
  %r, %t = blockscale.quantize %b block [1, 16] : tensor<33x96xf32> -> tensor<33x96xf4E2M1FN>, tensor<33x6xf8E4M3FN>
  %0 = tensor.concat dim(0) %q, %r : (tensor<7x96xf4E2M1FN>, tensor<33x96xf4E2M1FN>) -> tensor<40x96xf4E2M1FN>
  return %0 : tensor<40x96xf4E2M1FN>
}
func.func @packed.same_columns(%x: tensor<40x96xf32>) -> tensor<40x96xf4E2M1FN> {
  %a = tensor.extract_slice %x[0, 0] [40, 32] [1, 1] : tensor<40x96xf32> to tensor<40x32xf32>
  %b = tensor.extract_slice %x[0, 32] [40, 64] [1, 1] : tensor<40x96xf32> to tensor<40x64xf32>
  %q, %s = blockscale.quantize %a block [1, 16] : tensor<40x32xf32> -> tensor<40x32xf4E2M1FN>, tensor<40x2xf8E4M3FN>
  %r, %t = blockscale.quantize %b block [1, 16] : tensor<40x64xf32> -> tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
  %0 = tensor.concat dim(1) %q, %r : (tensor<40x32xf4E2M1FN>, tensor<40x64xf4E2M1FN>) -> tensor<40x96xf4E2M1FN>
  return %0 : tensor<40x96xf4E2M1FN>
}

// Expanded scales of square blocks, both ways.
func.func @expand.k(%x: tensor<70x96xf32>) -> (tensor<70x96xf4E2M1FN>, tensor<70x6xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [16, 16] recipe te : tensor<70x96xf32> -> tensor<70x96xf4E2M1FN>, tensor<5x6xf8E4M3FN>
  %e = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<5x6xf8E4M3FN> -> tensor<70x6xf8E4M3FN>
  %t = blockscale.swizzle %e : tensor<70x6xf8E4M3FN> -> tensor<70x6xf8E4M3FN, #swizzled>
  return %q, %t : tensor<70x96xf4E2M1FN>, tensor<70x6xf8E4M3FN, #swizzled>
}
func.func @expand.same_direct(%x: tensor<70x96xf32>) -> (tensor<70x96xf4E2M1FN>, tensor<70x6xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [16, 16] scale_dim k recipe te : tensor<70x96xf32> -> tensor<70x96xf4E2M1FN>, tensor<70x6xf8E4M3FN, #swizzled>
  return %q, %s : tensor<70x96xf4E2M1FN>, tensor<70x6xf8E4M3FN, #swizzled>
}
func.func @expand_argument(%s: tensor<5x6xf8E4M3FN>) -> (tensor<70x6xf8E4M3FN, #swizzled>, tensor<90x5xf8E4M3FN>) {
  %k = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<5x6xf8E4M3FN> -> tensor<70x6xf8E4M3FN>
  %t = blockscale.swizzle %k : tensor<70x6xf8E4M3FN> -> tensor<70x6xf8E4M3FN, #swizzled>
  %n = blockscale.expand_scale %s block [16, 16] scale_dim n : tensor<5x6xf8E4M3FN> -> tensor<90x5xf8E4M3FN, #swizzled>
  %u = blockscale.swizzle %n : tensor<90x5xf8E4M3FN, #swizzled> -> tensor<90x5xf8E4M3FN>
  return %t, %u : tensor<70x6xf8E4M3FN, #swizzled>, tensor<90x5xf8E4M3FN>
}
func.func @transposed.n(%x: tensor<64x96xbf16>) -> (tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<3x2xf8E8M0FNU>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<3x2xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU>
  return %q, %e : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
}
func.func @transposed.same_direct(%x: tensor<64x96xbf16>) -> (tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] transposed scale_dim n : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return %q, %s : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
}

// Groups of rows, an empty one and rows that no group covers; groups of
// columns; rows of x in columns of the scales.
func.func @groups.rows(%x: tensor<300x64xbf16>) -> (tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>) {
  %ends = arith.constant dense<[130, 130, 290]> : tensor<3xi32>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<3xi32>) : tensor<300x64xbf16> -> tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) : tensor<300x4xf8E4M3FN> -> tensor<300x4xf8E4M3FN, #rows>
  return %q, %t : tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>
}
func.func @groups.same_direct(%x: tensor<300x64xbf16>) -> (tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>) {
  %ends = arith.constant dense<[130, 130, 290]> : tensor<3xi32>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<3xi32>) : tensor<300x64xbf16> -> tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>
  return %q, %s : tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>
}
// The rows beyond the groups are quantized where quantize has none.
func.func @groups.other_whole(%x: tensor<300x64xbf16>) -> (tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>) {
  %ends = arith.constant dense<[130, 130, 290]> : tensor<3xi32>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<300x64xbf16> -> tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) : tensor<300x4xf8E4M3FN> -> tensor<300x4xf8E4M3FN, #rows>
  return %q, %t : tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>
}
func.func @grouped_columns(%x: tensor<200x352xbf16>) -> tensor<200x11xf8E8M0FNU, #columns> {
  %ends = arith.constant dense<[160, 320]> : tensor<2xi32>
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<200x352xbf16> -> tensor<200x352xf8E4M3FN>, tensor<200x11xf8E8M0FNU>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 32 : tensor<200x11xf8E8M0FNU> -> tensor<200x11xf8E8M0FNU, #columns>
  return %t : tensor<200x11xf8E8M0FNU, #columns>
}
func.func @grouped_transposed(%x: tensor<352x200xbf16>) -> tensor<200x11xf8E8M0FNU, #columns> {
  %ends = arith.constant dense<[160, 320]> : tensor<2xi32>
  %q, %s = blockscale.quantize %x block [32, 1] transposed offsets(%ends : tensor<2xi32>) : tensor<352x200xbf16> -> tensor<200x352xf8E4M3FN>, tensor<200x11xf8E8M0FNU>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 32 : tensor<200x11xf8E8M0FNU> -> tensor<200x11xf8E8M0FNU, #columns>
  return %t : tensor<200x11xf8E8M0FNU, #columns>
}
// One layout for all groups.
func.func @groups_in_one_layout(%x: tensor<300x64xbf16>) -> (tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #swizzled>) {
  %ends = arith.constant dense<[130, 130, 290]> : tensor<3xi32>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<3xi32>) : tensor<300x64xbf16> -> tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<300x4xf8E4M3FN> -> tensor<300x4xf8E4M3FN, #swizzled>
  return %q, %t : tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #swizzled>
}
// Ends that only the run tells.
func.func @grouped_dynamic(%x: tensor<200x352xbf16>, %one: tensor<f32>) -> tensor<200x11xf8E8M0FNU, #columns> {
  %f = tensor.extract %one[] : tensor<f32>
  %i = arith.fptosi %f : f32 to i32
  %c32 = arith.constant 32 : i32
  %c5 = arith.constant 5 : i32
  %a = arith.muli %i, %c32 : i32
  %b = arith.muli %a, %c5 : i32
  %ends = tensor.from_elements %a, %b : tensor<2xi32>
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<200x352xbf16> -> tensor<200x352xf8E4M3FN>, tensor<200x11xf8E8M0FNU>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 32 : tensor<200x11xf8E8M0FNU> -> tensor<200x11xf8E8M0FNU, #columns>
  return %t : tensor<200x11xf8E8M0FNU, #columns>
}
func.func @grouped_dynamic_rows(%x: tensor<?x64xf32>, %one: tensor<f32>) -> tensor<?x4xf8E4M3FN, #rows> {
  %f = tensor.extract %one[] : tensor<f32>
  %i = arith.fptosi %f : f32 to i32
  %c2 = arith.constant 2 : i32
  %a = arith.addi %i, %c2 : i32
  %ends = tensor.from_elements %i, %a, %a : tensor<3xi32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te offsets(%ends : tensor<3xi32>) : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #rows>
  return %t : tensor<?x4xf8E4M3FN, #rows>
}
// Back to linear scales: rows beyond the groups are zero in both.
func.func @grouped_unswizzle(%x: tensor<300x64xbf16>) -> tensor<300x4xf8E4M3FN> {
  %ends = arith.constant dense<[130, 130, 290]> : tensor<3xi32>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<3xi32>) : tensor<300x64xbf16> -> tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #rows>
  %t = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) : tensor<300x4xf8E4M3FN, #rows> -> tensor<300x4xf8E4M3FN>
  return %t : tensor<300x4xf8E4M3FN>
}

// A global scale of 1.0 a row and a group is none.
func.func @unit_rows.given(%x: tensor<40x64xf32>) -> (tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>) {
  %one = arith.constant dense<1.0> : tensor<40xf32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_scale(%one : tensor<40xf32>) : tensor<40x64xf32> -> tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
  return %q, %s : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
}
func.func @unit_rows.same_absent(%x: tensor<40x64xf32>) -> (tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te : tensor<40x64xf32> -> tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
  return %q, %s : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
}
func.func @unit_groups(%x: tensor<40x64xf32>) -> (tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>) {
  %one = arith.constant dense<1.0> : tensor<2xf32>
  %ends = arith.constant dense<[7, 33]> : tensor<2xi32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe mslk global_scale(%one : tensor<2xf32>) offsets(%ends : tensor<2xi32>) : tensor<40x64xf32> -> tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
  return %q, %s : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>
}
