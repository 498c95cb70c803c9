// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#cols = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

// Two f4 codes a byte, an odd one alone; other types stay.
// CHECK: func.func private @packed(tensor<4x16xi8>, tensor<2x4x3xi8>, tensor<?x?xi8>, tensor<3xi8>, tensor<0x8xi8>)
func.func private @packed(tensor<4x32xf4E2M1FN>, tensor<2x4x5xf4E2M1FN>, tensor<?x?xf4E2M1FN>, tensor<6xf4E2M1FN>, tensor<0x16xf4E2M1FN>)

// Each batch element has its own tiles.
// CHECK: func.func private @swizzled(tensor<2x2x32x4x4xf8E4M3FN>, tensor<7x1x1x32x4x4xf8E8M0FNU>, tensor<?x1x32x4x4xf8E4M3FN>, tensor<?x0x?x32x4x4xf8E4M3FN>)
func.func private @swizzled(tensor<200x5xf8E4M3FN, #swizzled>, tensor<7x1x4xf8E8M0FNU, #swizzled>, tensor<?x4xf8E4M3FN, #swizzled>, tensor<?x0x?xf8E4M3FN, #swizzled>)

// Room for the groups' tiles, however the offsets fall:
// ((70 + 127 * 3) / 128) * 1 and 1 * ((5 + 3 * 3) / 4).
// CHECK: func.func private @grouped(tensor<3x32x4x4xf8E8M0FNU>, tensor<3x32x4x4xf8E8M0FNU>, tensor<?x32x4x4xf8E8M0FNU>)
func.func private @grouped(tensor<70x3xf8E8M0FNU, #rows>, tensor<70x5xf8E8M0FNU, #cols>, tensor<?x3xf8E8M0FNU, #rows>)

// The type does not tell the tiles of a dynamic number of groups.
// CHECK: func.func private @any_groups(tensor<?x32x4x4xf8E8M0FNU>)
func.func private @any_groups(tensor<70x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>)

// CHECK: func.func private @unchanged(tensor<4x32xf8E4M3FN>, tensor<4x32xbf16>, tensor<4x4xf32, "other">, f32) -> tensor<*xf32>
func.func private @unchanged(tensor<4x32xf8E4M3FN>, tensor<4x32xbf16>, tensor<4x4xf32, "other">, f32) -> tensor<*xf32>

// Calls, returns and argument attributes go along.
// CHECK-LABEL: func.func @caller
// CHECK-SAME: %[[Q:.+]]: tensor<?x40xi8> {bufferization.writable = true}) -> (tensor<?x40xi8>, tensor<?x2x32x4x4xf8E4M3FN>)
func.func @caller(%q: tensor<?x80xf4E2M1FN> {bufferization.writable = true}) -> (tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>) {
  // CHECK: %[[R:.+]]:2 = call @callee(%[[Q]]) : (tensor<?x40xi8>) -> (tensor<?x40xi8>, tensor<?x2x32x4x4xf8E4M3FN>)
  %0:2 = call @callee(%q) : (tensor<?x80xf4E2M1FN>) -> (tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>)
  // CHECK: return %[[R]]#0, %[[R]]#1 : tensor<?x40xi8>, tensor<?x2x32x4x4xf8E4M3FN>
  return %0#0, %0#1 : tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>
}
func.func private @callee(tensor<?x80xf4E2M1FN>) -> (tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>)

// CHECK-LABEL: func.func @casts
// CHECK-SAME: %[[Q:.+]]: tensor<?x40xi8>, %[[S:.+]]: tensor<2x2x32x4x4xf8E4M3FN>, %[[G:.+]]: tensor<?x32x4x4xf8E8M0FNU>
func.func @casts(%q: tensor<?x80xf4E2M1FN>, %s: tensor<200x5xf8E4M3FN, #swizzled>, %g: tensor<?x3xf8E8M0FNU, #rows>)
    -> (tensor<200x80xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>, tensor<70x3xf8E8M0FNU, #rows>) {
  // CHECK: tensor.cast %[[Q]] : tensor<?x40xi8> to tensor<200x40xi8>
  %0 = tensor.cast %q : tensor<?x80xf4E2M1FN> to tensor<200x80xf4E2M1FN>
  // CHECK: tensor.cast %[[S]] : tensor<2x2x32x4x4xf8E4M3FN> to tensor<?x?x32x4x4xf8E4M3FN>
  %1 = tensor.cast %s : tensor<200x5xf8E4M3FN, #swizzled> to tensor<?x?xf8E4M3FN, #swizzled>
  // CHECK: tensor.cast %[[G]] : tensor<?x32x4x4xf8E8M0FNU> to tensor<3x32x4x4xf8E8M0FNU>
  %2 = tensor.cast %g : tensor<?x3xf8E8M0FNU, #rows> to tensor<70x3xf8E8M0FNU, #rows>
  return %0, %1, %2 : tensor<200x80xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>, tensor<70x3xf8E8M0FNU, #rows>
}

// A kernel's operands and results are storage; its body is not.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<200x80xbf16>, %qi: tensor<200x80xf4E2M1FN>, %si: tensor<200x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled> {
  // CHECK: %[[R:.+]]:2 = blockscale.kernel ins(%{{.+}} : tensor<200x80xbf16>) outs(%{{.+}}, %{{.+}} : tensor<200x40xi8>, tensor<2x2x32x4x4xf8E4M3FN>) attributes {tile = 1 : i64} {
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<200x80xbf16>, %{{.+}}: tensor<200x80xf4E2M1FN>, %{{.+}}: tensor<200x5xf8E4M3FN, #swizzled>):
  // CHECK-NEXT: blockscale.quantize {{.+}} : tensor<200x80xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK: } -> tensor<200x40xi8>, tensor<2x2x32x4x4xf8E4M3FN>
  %q, %s = blockscale.kernel ins(%x : tensor<200x80xbf16>) outs(%qi, %si : tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>) attributes {tile = 1} {
  ^bb0(%lx: tensor<200x80xbf16>, %lq: tensor<200x80xf4E2M1FN>, %ls: tensor<200x5xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<200x80xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  } -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK: return %[[R]]#1
  return %s : tensor<200x5xf8E4M3FN, #swizzled>
}
